package shortcut

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Set{
		"": 0, "all": All, "wire": Wire, "logs, settled": Logs | Settled, "packages,,calls,": Packages | Calls,
	} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
		if again, err := Parse(got.String()); err != nil || again != got {
			t.Errorf("%q does not survive the way through %q", text, got)
		}
	}
	if got := All.String(); got != strings.Join(names, ",") {
		t.Errorf("all: %s", got)
	}
	if _, err := Parse("wire,teleport"); err == nil || !strings.Contains(err.Error(), `"teleport"`) {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestHas(t *testing.T) {
	closed := Wire | Logs
	if !closed.Has(Wire) || !closed.Has(Logs) || closed.Has(Settled) || Set(0).Has(Wire) {
		t.Errorf("%s", closed)
	}
}
