package lockfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
)

// TestWrittenModulesAreReadUnchanged checks that written entries are read unchanged, together with entries of other
// programs.
func TestWrittenModulesAreReadUnchanged(t *testing.T) {
	want := []Module{
		{Source: "git::https://example.test/ü/a.git?ref=${x}%{y}\"\\", Revision: strings.Repeat("a", 40), Hash: "h1:x="},
		{Source: "registry.example.test/a/b/c", Constraints: "~> 1.0", Version: "1.2.3", Hash: "h1:y="},
	}
	text := "# by \"lethe init\", for ü.\n\nprovider \"a/b\" {\n  # module \"in a provider\" is only mentioned\n  version = \"1.0.0\"\n}\n" + string(FormatModules([]Module{want[1], want[0]})) + "# the end\n"
	for _, text := range []string{text, strings.ReplaceAll(text, "\n", "\r\n")} {
		var bag diag.Bag
		got, ok := ParseModules([]byte(text), "lock", limits.Limits{}, &bag)
		if !ok || bag.HasErrors() || !cmp.Equal(got, want) {
			t.Errorf("%s %s\n%s", bag.List(), cmp.Diff(got, want), text)
		}
		if locks, ok := ParseProviders([]byte(text), "lock", limits.Limits{}, &bag); !ok || len(locks) != 1 {
			t.Error(bag.List())
		}
	}
}

// TestErrorsInModulesHaveTheirLine checks that an error has the line of the mistake.
func TestErrorsInModulesHaveTheirLine(t *testing.T) {
	for text, line := range map[string]int{
		strings.Repeat("# module \"a\" {\n#   hash = \"h1:x\"\n# }\n", 2): 4,
		"\n# module \"a\" {\n#   hash = 1\n# }\n":                         3,
		"\n# module \"a\" {\n#   hash = \"h1:\"\n#   other = \"\"\n# }\n": 4,
		"\n# module \"a\" {\n# }\n":                                       2,
		"\n# module \"a\" {\n#   hash = \"\"\n":                           2,
	} {
		var bag diag.Bag
		_, ok := ParseModules([]byte(text), "lock", limits.Limits{}, &bag)
		if ok || len(bag.List()) == 0 || bag.List()[0].Subject == nil || bag.List()[0].Subject.Start.Line != line {
			t.Errorf("%q: %v", text, bag.List())
		}
	}
}

// FuzzModuleLocks checks that invalid entries cause a message, and that valid entries are the same after writing and
// reading.
func FuzzModuleLocks(f *testing.F) {
	f.Add([]byte("# module \"a\" {\n#   hash = \"h1:x\"\n# }\n"))
	f.Add([]byte("# module \"${a}\" {\r\n#\thash = \"\"\r\n# }\n# module \"b\" {"))
	f.Fuzz(func(t *testing.T, src []byte) {
		if blank := uncommented(src); len(blank) != len(src) {
			t.Errorf("%d bytes became %d", len(src), len(blank))
		}
		var bag diag.Bag
		locks, ok := ParseModules(src, "lock", limits.Limits{}, &bag)
		if ok == bag.HasErrors() {
			t.Fatalf("%v, %s", ok, bag.List())
		}
		if !ok {
			return
		}
		text := FormatModules(locks)
		again, ok := ParseModules(text, "lock", limits.Limits{}, &bag)
		if !ok || string(FormatModules(again)) != string(text) {
			t.Errorf("%s\n%s", bag.List(), text)
		}
	})
}
