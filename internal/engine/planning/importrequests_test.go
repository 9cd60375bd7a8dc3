package planning

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// An import names an object by its id or its identity. An identity may lack optional attributes, and may have the id.
func TestNamesOfImports(t *testing.T) {
	entry := &state.Entry{Attrs: []byte(`{"id":"i<1>","name":"n"}`), Identity: []byte(`{"zone":null, "arn":"a","number":5}`)}
	bare := &state.Entry{Attrs: []byte(`{"id":"i<1>","name":"n"}`)}
	text := func(names ...string) cty.Value {
		attrs := map[string]cty.Value{"zone": cty.NullVal(cty.String)}
		for i := 0; i < len(names); i += 2 {
			attrs[names[i]] = cty.StringVal(names[i+1])
		}
		return cty.ObjectVal(attrs)
	}
	for name, c := range map[string]struct {
		e        *state.Entry
		id       string
		identity cty.Value
		want     bool
	}{
		"id":                         {entry, "i<1>", cty.NilVal, true},
		"other id":                   {entry, "i", cty.NilVal, false},
		"no id":                      {&state.Entry{Attrs: []byte("{}")}, "", cty.NilVal, false},
		"identity":                   {entry, "", text("arn", "a"), true},
		"identity with a number":     {entry, "", cty.ObjectVal(map[string]cty.Value{"arn": cty.StringVal("a"), "number": cty.NumberIntVal(5)}), true},
		"other identity":             {entry, "", text("arn", "b"), false},
		"identity with the id":       {bare, "", text("key", "i<1>", "arn", "b"), true},
		"identity without an object": {bare, "", text("arn", "a"), false},
		"identity without values":    {entry, "", text(), false},
	} {
		got := false
		for _, n := range namesOf(c.e) {
			got = got || n.isIn(c.id, c.identity)
		}
		if got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
