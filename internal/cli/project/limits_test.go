package project

import (
	"os"
	"strings"
	"testing"
)

func TestLimits(t *testing.T) {
	var l Limits
	if err := l.parse("tokens=5, file-size=2M,template-depth=7"); err != nil || l.Config.Tokens != 5 || l.Config.FileSize != 2<<20 || l.Functions.TemplateDepth != 7 {
		t.Errorf("%+v, %v", l, err)
	}
	for list, want := range map[string]string{
		"tokns=5": `no limit "tokns"; there are: file-size, tokens`, "tokens": "whole number", "tokens=0": "whole number",
		"tokens=-1": "whole number", "tokens=x": "whole number", "tokens=99999999999999999999": "whole number", "file-size=9999999999G": "whole number",
	} {
		if err := new(Limits).parse(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", list, err, want)
		}
	}
}

// TestLimitsAreDescribed holds docs/limits.md against the limits that there are.
func TestLimitsAreDescribed(t *testing.T) {
	page, err := os.ReadFile("../../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.SplitSeq(string(page), "\n") {
		if strings.HasPrefix(line, "| `") {
			rows++
		}
	}
	all := new(Limits).all()
	for _, x := range all {
		if !strings.Contains(string(page), "| `"+x.name+"` |") {
			t.Errorf("docs/limits.md has no row for %s", x.name)
		}
	}
	if rows != len(all) {
		t.Errorf("docs/limits.md has %d rows for %d limits", rows, len(all))
	}
}
