package spec

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	differencesFile = "../docs/differences-by-test.md"
	beginMark       = "<!-- made by spec/differences_test.go from the cases: begin -->\n"
	endMark         = "<!-- end -->\n"
)

// TestDifferences compares the list in docs/differences-by-test.md with the reasons of the cases. SPEC_RECORD=all
// writes the list.
func TestDifferences(t *testing.T) {
	raw, err := os.ReadFile(differencesFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(raw), beginMark)
	have, after, ok2 := strings.Cut(rest, endMark)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the list: %q … %q", differencesFile, beginMark, endMark)
	}
	want := differences(load(t, "cases"))
	if have == want {
		return
	}
	if os.Getenv("SPEC_RECORD") != "all" {
		t.Fatalf("the list in %s is not that of the cases (SPEC_RECORD=all writes it; -have +want):\n%s", differencesFile, cmp.Diff(have, want))
	}
	if err := os.WriteFile(differencesFile, []byte(before+beginMark+want+endMark+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// differences returns a table of the reasons why Lethe differs from the peer, with the cases of each, as Markdown.
func differences(all []*kase) string {
	cases := map[string][]string{}
	for _, k := range all {
		if k.set.differs != "" {
			cases[k.set.differs] = append(cases[k.set.differs], "`"+k.name+"`")
		}
	}
	var b strings.Builder
	b.WriteString("| why Lethe differs | shown by |\n|---|---|\n")
	for _, reason := range slices.Sorted(maps.Keys(cases)) {
		fmt.Fprintf(&b, "| %s | %s |\n", reason, strings.Join(cases[reason], ", "))
	}
	return b.String()
}

// TestReasons checks the settings: a case that differs has both results and a reason, and any other case has one
// result.
func TestReasons(t *testing.T) {
	for _, k := range load(t, "cases") {
		switch {
		case k.set.differs != "" && k.set.absent != "":
			t.Errorf("%s: what the peer has not cannot differ from it", k.name)
		case k.set.differs != "" && k.want == k.peer:
			t.Errorf("%s says that the peer differs, and it does not", k.name)
		case k.set.differs == "" && k.peer != "":
			t.Errorf("%s has a peer file and no reason why it differs", k.name)
		}
	}
}
