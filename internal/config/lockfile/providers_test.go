package lockfile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/addr"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
)

// TestErrorsInProvidersHaveTheirLine checks that an error in the lock of a provider has its line, for invalid strings
// and invalid lists.
func TestErrorsInProvidersHaveTheirLine(t *testing.T) {
	for text, want := range map[string]string{
		"version = \"1.0.0\"\nhashes = \"h1:x\"":              "3: The hashes must be a list",
		"version = \"1.0.0\"\nhashes = null":                  "3: The hashes must be a list",
		"version = \"1.0.0\"\nhashes = 5":                     "3: The hashes must be a list",
		"version = \"1.0.0\"\nhashes = { a = \"h1:x\" }":      "3: The hashes must be a list",
		"version = \"1.0.0\"\nhashes = [null]":                "3: Each hash must be a string",
		"version = \"1.0.0\"\nhashes = [\"x\"]":               "3: Each hash must be a string",
		"version = \"x.y\"":                                   "2: \"x.y\" is not a version",
		"version = \"\"":                                      "2: \"\" is not a version",
		"version = null":                                      "2: The argument \"version\" must be a string",
		"version = \"1.0\"":                                   "2: A locked version must be written out in full: \"1.0.0\"",
		"version = \"1.0.0\"\nconstraints = \"x\"":            "3: \"x\" is not a version constraint",
		"foo = 1\nversion = 1\nhashes = 1\nconstraints = []":  "2: An argument named \"foo\" | 3: The argument \"version\" | 4: The hashes | 5: The argument \"constraints\"",
		"version = \"1.0.0\"\n}\nprovider \"a/b\" {\nfoo = 1": "4: The argument \"version\" is required | 5: An argument named \"foo\"",
	} {
		var bag diag.Bag
		_, ok := ParseProviders([]byte("provider \"a/b\" {\n"+text+"\n}\n"), "lock", limits.Limits{}, &bag)
		var got []string
		for _, d := range bag.List() {
			got = append(got, fmt.Sprintf("%d: %s", d.Subject.Start.Line, d.Detail))
		}
		for i, begin := range strings.Split(want, " | ") {
			if ok || i >= len(got) || !strings.HasPrefix(got[i], begin) {
				t.Errorf("%q: %q, want %q", text, got, want)
			}
		}
	}
}

// TestProvidersAreWrittenSortedAndReadUnchanged checks that the text of a lock file does not depend on the order of
// entries and hashes, and that ParseProviders returns the entries from which the text was made.
func TestProvidersAreWrittenSortedAndReadUnchanged(t *testing.T) {
	a := Provider{Provider: addr.Provider{Host: addr.DefaultHost, Namespace: "a", Type: "x"}, Version: "1.0.0", Constraints: "~> 1.0", Hashes: []string{"h1:a=", "zh:b"}}
	b := Provider{Provider: addr.Provider{Host: addr.DefaultHost, Namespace: "b", Type: "x"}, Version: "2.0.0", Others: []string{"h2:c"}} // of a newer program
	unsorted := a
	unsorted.Hashes = []string{"zh:b", "h1:a=", "zh:b"}
	text := FormatProviders([]Provider{a, b})
	if got := FormatProviders([]Provider{b, unsorted}); string(got) != string(text) {
		t.Errorf("%s\n%s", got, text)
	}
	var bag diag.Bag
	if got, ok := ParseProviders(text, "lock", limits.Limits{}, &bag); !ok || !cmp.Equal(got, []Provider{a, b}) {
		t.Errorf("%v %v", got, bag.List())
	}
}
