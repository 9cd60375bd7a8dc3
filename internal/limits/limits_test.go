package limits

import (
	"os"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	var l Limits
	if err := l.Parse("tokens=5, bytes=2M,time=7"); err != nil || l.Tokens != 5 || l.Bytes != 2<<20 || l.Time != 7 {
		t.Errorf("%+v, %v", l, err)
	}
	for list, want := range map[string]string{
		"tokns=5": `no limit "tokns"; there are: bytes, tokens`, "tokens": "whole number", "tokens=0": "whole number",
		"tokens=-1": "whole number", "tokens=x": "whole number", "tokens=99999999999999999999": "whole number", "bytes=9999999999G": "whole number",
	} {
		if err := new(Limits).Parse(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", list, err, want)
		}
	}
}

// TestLimitsAreDescribed holds docs/limits.md against the limits that there are.
func TestLimitsAreDescribed(t *testing.T) {
	page, err := os.ReadFile("../../docs/limits.md")
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
