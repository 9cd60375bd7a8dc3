package experiment

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Set{"": 0, "state-store": StateStore, " state-store,,": StateStore} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if _, err := Parse("state-store,warp"); err == nil || !strings.Contains(err.Error(), `no experiment "warp"; there are: state-store`) {
		t.Error(err)
	}
	if advice := Advice(StateStore); !strings.Contains(advice, "-experiment=state-store") {
		t.Error(advice)
	}
}
