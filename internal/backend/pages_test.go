package backend

import (
	"flag"
	"os"
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
	delete(tables, "backend "+store.MemoryDriver.Name) // for tests only
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
