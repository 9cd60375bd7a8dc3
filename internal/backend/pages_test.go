package backend

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/cloudauth"
	"github.com/lethe-iac/lethe/internal/store/crypt"
	"github.com/lethe-iac/lethe/internal/store/remotestore"
)

var updatePages = flag.Bool("update", false, "write the tables of settings into docs/reference")

// variables matches the environment variables at the end of the description of a setting.
var variables = regexp.MustCompile(`^(.*\.) ((?:[A-Z][A-Z0-9]*_[A-Z0-9_]+(?:, )?)+)\.$`)

// TestSettingsAreListed compares the tables of settings in docs/reference with the schemas of the backends and of the
// key providers.
func TestSettingsAreListed(t *testing.T) {
	tables := map[string]string{}
	for _, d := range append(store.Drivers{remotestore.Cloud}, Drivers...) {
		tables["backend "+d.Name] = settingsTable(d.Schema)
	}
	delete(tables, "backend "+store.MemoryDriver.Name) // the memory backend exists for tests only
	for _, k := range crypt.ProviderKinds {
		tables["key_provider "+k.Name] = settingsTable(without(k.Schema, shared[k.Name]))
	}
	seen := map[string]bool{}
	for _, page := range []string{"backend-settings.md", "encryption.md"} {
		path := "../../docs/reference/" + page
		have, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := madeTable.ReplaceAllStringFunc(string(have), func(part string) string {
			name := madeTable.FindStringSubmatch(part)[1]
			seen[name] = true
			return "<!-- made from the schema: " + name + " -->\n" + tables[name] + "<!-- end -->\n"
		})
		switch {
		case want == string(have):
		case !*updatePages:
			t.Errorf("%s: the tables do not match the schemas (go test ./internal/backend -run TestSettingsAreListed -args -update writes them)", page)
		default:
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name := range tables {
		if !seen[name] {
			t.Errorf("no page has a table of %q: add the lines <!-- made from the schema: %s --> and <!-- end -->", name, name)
		}
	}
}

// shared are the lists of settings that a key provider shares with a backend. Its table omits them.
var shared = map[string][]*schema.Attr{"aws_kms": cloudauth.AWSAttrs(), "azure_vault": cloudauth.AzureAttrs(), "gcp_kms": cloudauth.GoogleAttrs()}

// without returns a schema without the given attributes.
func without(b *schema.Block, attrs []*schema.Attr) *schema.Block {
	return &schema.Block{Attrs: slices.DeleteFunc(slices.Clone(b.Attrs), func(a *schema.Attr) bool {
		return slices.ContainsFunc(attrs, func(s *schema.Attr) bool { return s.Name == a.Name })
	})}
}

var madeTable = regexp.MustCompile(`(?s)<!-- made from the schema: ([^>]*?) -->\n.*?<!-- end -->\n`)

// settingsTable returns the settings of a schema as a table of Markdown.
func settingsTable(b *schema.Block) string {
	rows := "| setting | meaning | environment variable |\n|---|---|---|\n"
	var add func(prefix string, b *schema.Block)
	add = func(prefix string, b *schema.Block) {
		for _, a := range b.Attrs {
			meaning, env := a.Description, ""
			if m := variables.FindStringSubmatch(meaning); m != nil {
				meaning, env = m[1], "`"+strings.ReplaceAll(m[2], ", ", "`, `")+"`"
			}
			if a.Required {
				meaning = "Required. " + meaning
			}
			if a.Sensitive {
				meaning += " Secret."
			}
			rows += "| `" + prefix + a.Name + "` | " + strings.ReplaceAll(meaning, "|", "\\|") + " | " + env + " |\n"
			if a.Object != nil {
				add(prefix+a.Name+".", &schema.Block{Attrs: a.Object.Attrs})
			}
		}
		for _, n := range b.Blocks {
			add(prefix+n.Name+".", n.Block)
		}
	}
	add("", b)
	return rows
}

// variableName matches a string literal that has the form of an environment variable.
var variableName = regexp.MustCompile(`"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)"`)

// TestVariablesAreListed checks that docs/reference has each environment variable that a store, a key provider or the
// installation of packages reads or sets.
func TestVariablesAreListed(t *testing.T) {
	var pages strings.Builder
	for _, page := range []string{"backend-settings.md", "encryption.md", "installing.md", "settings.md", "stores.md"} {
		text, err := os.ReadFile("../../docs/reference/" + page)
		if err != nil {
			t.Fatal(err)
		}
		pages.Write(text)
	}
	other := []string{"GIT_ALLOW_PROTOCOL", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_WORK_TREE"} // package fetch removes these variables from the environment of git; the pages name only GIT_DIR
	for _, dir := range []string{"../store", "../fetch", "../cliconfig", "../bucket"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "../store/storetest/") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range variableName.FindAllSubmatch(text, -1) {
				name := string(m[1])
				if !slices.Contains(other, name) && !regexp.MustCompile(`\b`+name+`\b`).MatchString(pages.String()) {
					t.Errorf("no page of docs/reference has the environment variable %s of %s. Add it to the end of the description of its setting", name, path)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
