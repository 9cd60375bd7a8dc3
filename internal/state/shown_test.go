package state

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// TestShownIDHidesASensitiveID checks that messages about objects show an id unless the id, or the whole object, is
// sensitive.
func TestShownIDHidesASensitiveID(t *testing.T) {
	for want, sensitive := range map[string][]cty.Path{
		"canary-id":         {cty.GetAttrPath("token"), cty.GetAttrPath("id").GetAttr("a")},
		"(sensitive value)": {cty.GetAttrPath("token"), cty.GetAttrPath("id")},
	} {
		e := &Entry{Attrs: []byte(`{"id": "canary-id"}`), Sensitive: sensitive}
		if got := e.ShownID(); got != want {
			t.Errorf("%v: %q", sensitive, got)
		}
	}
	if got := (&Entry{Attrs: []byte(`{"id": "canary-id"}`), Sensitive: []cty.Path{{}}}).ShownID(); got != "(sensitive value)" {
		t.Errorf("%q", got)
	}
	if got := (&Entry{Attrs: []byte(`{}`), Sensitive: []cty.Path{{}}}).ShownID(); got != "" {
		t.Errorf("%q", got)
	}
}
