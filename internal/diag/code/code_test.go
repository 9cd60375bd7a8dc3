package code_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/diag/code"
)

var update = flag.Bool("update", false, "add new codes to testdata/codes.txt, and to the list in docs/diagnostics.md")

// TestCodesAreStable compares titles and codes with testdata/codes.txt. Lines are added and never removed: a code keeps
// its meaning, and the code of a removed page is not used again.
func TestCodesAreStable(t *testing.T) {
	const name = "testdata/codes.txt"
	old, err := os.ReadFile(name)
	if err != nil && !*update {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(old)), "\n")
	was := map[string]string{}
	for _, l := range lines {
		c, title, _ := strings.Cut(l, " ")
		was[title] = c
	}
	for _, p := range code.All() {
		for _, title := range p.Titles {
			switch {
			case was[title] == "":
				if !*update {
					t.Errorf("%s %s is new: add it to %s with -update", p.Code, title, name)
				}
				lines = append(lines, p.Code+" "+title)
			case was[title] != p.Code:
				t.Errorf("%q had the code %s and has %s", title, was[title], p.Code)
			}
		}
	}
	if *update {
		slices.Sort(lines)
		if err := os.WriteFile(name, []byte(strings.TrimSpace(strings.Join(lines, "\n"))+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	beginCodes = "<!-- made by internal/diag/code/code_test.go from the pages: begin -->\n"
	endCodes   = "<!-- made by internal/diag/code/code_test.go from the pages: end -->\n"
)

// TestCodesAreListed compares the list of codes in docs/diagnostics.md with the pages.
func TestCodesAreListed(t *testing.T) {
	const name = "../../../docs/diagnostics.md"
	doc, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(doc), beginCodes)
	have, after, ok2 := strings.Cut(rest, endCodes)
	if !ok1 || !ok2 {
		t.Fatal("there is no place for the list")
	}
	want := "| code | problem |\n|---|---|\n"
	for _, p := range code.All() {
		want += fmt.Sprintf("| [%s](../internal/diag/code/pages/%s.md) | %s |\n", p.Code, p.Code, strings.ReplaceAll(p.Head, "|", "\\|"))
	}
	if have == want {
		return
	}
	if !*update {
		t.Fatalf("the list does not match the pages (-update writes it):\n%s\nwant:\n%s", have, want)
	}
	if err := os.WriteFile(name, []byte(before+beginCodes+want+endCodes+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestPagesAreWhole checks the required parts of every page.
func TestPagesAreWhole(t *testing.T) {
	seen := map[string]string{}
	for _, p := range code.All() {
		if !regexp.MustCompile(`^LE[0-9]{4}$`).MatchString(p.Code) || p.Head == "" || len(p.Titles) == 0 || strings.TrimSpace(p.Text) == "" {
			t.Errorf("%+v", p)
		}
		for _, title := range p.Titles {
			if other := seen[title]; other != "" {
				t.Errorf("%q has the codes %s and %s", title, other, p.Code)
			}
			seen[title] = p.Code
		}
		for title, why := range p.Unshown {
			if why == "" {
				t.Errorf("%s: no reason why %q is not shown", p.Code, title)
			}
		}
	}
}

func TestFind(t *testing.T) {
	for title, want := range map[string]string{
		"Reference to undeclared resource":     "LE0301",
		`Duplicate resource "a" configuration`: "LE0207",
		`Invalid target "x y"`:                 "LE1302",
		"Too many disk blocks":                 "LE0205",
		"Workspace \"x\" doesn't exist.":       "LE1402",
		"Workspace \"x\"":                      "",
		"Something a provider says":            "",
		"":                                     "",
	} {
		if got := code.Of(title); got != want {
			t.Errorf("%q has the code %q, not %q", title, got, want)
		}
	}
	if p := code.Find("le0301"); p == nil || !p.Has("Reference to undeclared resource") {
		t.Error(fmt.Sprint(p))
	}
	for _, none := range []string{"", "LE", "LE9999", "0301"} {
		if p := code.Find(none); p != nil {
			t.Errorf("%q finds %s", none, p.Code)
		}
	}
}
