package cli_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// peerDiffers is the line of a script that says why Terraform, which has the feature too, does not
// pass it. docs/differences.md lists them.
const peerDiffers = "# Terraform differs: "

const (
	beginScripts = "<!-- made by internal/cli/differences_test.go from the scripts: begin -->\n"
	endScripts   = "<!-- made by internal/cli/differences_test.go from the scripts: end -->\n"
)

// TestDifferences holds the list in docs/differences.md against the scripts. UPDATE_SCRIPTS writes
// it anew.
func TestDifferences(t *testing.T) {
	const name = "../../docs/differences.md"
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

// scriptDifferences is a table of reasons with the scripts that show each.
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
