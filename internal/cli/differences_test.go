package cli_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// peerDiffers begins a line of a script that explains why Terraform does not pass the script although Terraform has the
// feature. docs/differences-by-test.md lists these lines.
const peerDiffers = "# Terraform differs: "

const (
	beginScripts = "<!-- made by internal/cli/differences_test.go from the scripts: begin -->\n"
	endScripts   = "<!-- made by internal/cli/differences_test.go from the scripts: end -->\n"
)

// TestDifferences compares the list in docs/differences-by-test.md with the scripts. UPDATE_SCRIPTS writes the list.
func TestDifferences(t *testing.T) {
	const name = "../../docs/differences-by-test.md"
	doc, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(doc), beginScripts)
	have, after, ok2 := strings.Cut(rest, endScripts)
	if !ok1 || !ok2 {
		t.Fatal("there is no place for the list")
	}
	want := scriptDifferences(t)
	if have == want {
		return
	}
	if os.Getenv("UPDATE_SCRIPTS") == "" {
		t.Fatalf("the list is not that of the scripts (UPDATE_SCRIPTS=1 writes it):\n%s\nwant:\n%s", have, want)
	}
	if err := os.WriteFile(name, []byte(before+beginScripts+want+endScripts+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// scriptDifferences returns a table in Markdown of the reasons in lines with peerDiffers, with the scripts that show
// each reason.
func scriptDifferences(t *testing.T) string {
	t.Helper()
	by := map[string][]string{}
	var reasons []string
	for _, script := range scripts(t) {
		_, rest, ok := strings.Cut(string(script.text), "\n"+peerDiffers)
		if !ok {
			continue
		}
		reason, _, _ := strings.Cut(rest, ".\n")
		if by[reason] == nil {
			reasons = append(reasons, reason)
		}
		by[reason] = append(by[reason], "`"+script.folder+"/"+script.name+"`")
	}
	slices.Sort(reasons)
	out := "| in Terraform | shown by |\n|---|---|\n"
	for _, r := range reasons {
		out += "| " + r + " | " + strings.Join(by[r], ", ") + " |\n"
	}
	return out
}

// TestDifferencesNameTests checks docs/differences.md: each row has four columns, and the last column names existing
// tests. The first chapter has at most 25 rows, because everybody reads it.
func TestDifferencesNameTests(t *testing.T) {
	text, err := os.ReadFile("../../docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	known := testNames(t)
	chapter, rows := "", map[string]int{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			chapter = heading
		}
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| you do |") {
			continue
		}
		rows[chapter]++
		rows[""]++
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		if len(cells) != 4 {
			t.Errorf("%d columns, not 4: %s", len(cells), line)
			continue
		}
		for name := range strings.SplitSeq(cells[3], ",") {
			if name = strings.Trim(strings.TrimSpace(name), "`"); !known[name] {
				t.Errorf("no test has the name %q: %s", name, line)
			}
		}
	}
	if n := rows["The differences that you will meet"]; n == 0 || n > 25 {
		t.Errorf("the first chapter has %d rows", n)
	}
	if rows[""] > 250 {
		t.Errorf("%d rows", rows[""])
	}
}

// testNames returns the names of tests in the form of the documents: "folder/script", "package TestName", and
// directories of test suites such as "test/sdk".
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{"test/combine": true, "test/sdk": true}
	for _, script := range scripts(t) {
		known[script.folder+"/"+script.name] = true
	}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	for _, dir := range []string{"../../internal", "../../test"} {
		err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, "_test.go") {
				return err
			}
			source, err := os.ReadFile(name)
			place := strings.TrimPrefix(strings.TrimPrefix(filepath.ToSlash(filepath.Dir(name)), "../../"), "internal/")
			for _, m := range function.FindAllSubmatch(source, -1) {
				known[place+" "+string(m[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return known
}

// scriptPattern matches the pattern of -run for one script. Names in capital letters are placeholders.
var scriptPattern = regexp.MustCompile(`Test(?:Scripts|Peer)/\^([a-z_]+)\$/\^([a-z0-9_]+)\$`)

// TestDocumentsNameScripts checks that each command in a document that runs one script names an existing script. "go
// test" succeeds if a pattern matches nothing, so a reader would not notice a wrong name.
func TestDocumentsNameScripts(t *testing.T) {
	known, found := testNames(t), 0
	for _, root := range []string{"../../CONTRIBUTING.md", "../../README.md", "../../docs", "../../test", "../../spec"} {
		err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(name) != ".md" {
				return err
			}
			text, err := os.ReadFile(name)
			for _, m := range scriptPattern.FindAllSubmatch(text, -1) {
				found++
				if script := string(m[1]) + "/" + string(m[2]); !known[script] {
					t.Errorf("%s runs the script %s, which does not exist", name, script)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found == 0 {
		t.Error("no document runs a script")
	}
}
