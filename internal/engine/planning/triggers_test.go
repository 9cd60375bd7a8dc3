package planning

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/zclconf/go-cty/cty"
)

// A part of an object in replace_triggered_by that is absent before and after a change does not trigger, even if other
// parts of the object change.
func TestTriggeredByParts(t *testing.T) {
	str := cty.StringVal
	object := func(part cty.Value) cty.Value { return cty.ObjectVal(map[string]cty.Value{"p": part}) }
	list := func(elems ...string) cty.Value {
		out := []cty.Value{}
		for _, e := range elems {
			out = append(out, str(e))
		}
		return cty.ListVal(out)
	}
	m := func(k, v string) cty.Value { return cty.MapVal(map[string]cty.Value{k: str(v)}) }
	text := cty.GetAttrPath("p")
	for name, c := range map[string]struct {
		before, after cty.Value
		path          cty.Path
		want          bool
	}{
		"the same":                           {str("a"), str("a"), text, false},
		"another":                            {str("a"), str("b"), text, true},
		"unknown":                            {str("a"), cty.UnknownVal(cty.String), text, true},
		"list, beyond both ends":             {list("a"), list("b"), text.IndexInt(3), false},
		"list, grows to it":                  {list("a"), list("a", "b"), text.IndexInt(1), true},
		"list, unknown":                      {list("a"), cty.UnknownVal(cty.List(cty.String)), text.IndexInt(0), true},
		"map, key in neither":                {m("a", "1"), m("a", "2"), text.IndexString("x"), false},
		"map, key added":                     {m("a", "1"), m("x", "1"), text.IndexString("x"), true},
		"map, key removed":                   {m("x", "1"), m("a", "1"), text.IndexString("x"), true},
		"map, null in both":                  {cty.NullVal(cty.Map(cty.String)), cty.NullVal(cty.Map(cty.String)), text.IndexString("x"), false},
		"map, null before, without the key":  {cty.NullVal(cty.Map(cty.String)), m("a", "1"), text.IndexString("x"), false},
		"map, null before, with the key":     {cty.NullVal(cty.Map(cty.String)), m("x", "1"), text.IndexString("x"), true},
		"set, no index":                      {cty.SetVal([]cty.Value{str("a")}), cty.SetVal([]cty.Value{str("b")}), text.IndexInt(0), false},
		"object, null in both":               {cty.NullVal(object(str("a")).Type()), cty.NullVal(object(str("a")).Type()), text.GetAttr("p"), false},
		"object, null before":                {cty.NullVal(object(str("a")).Type()), object(str("a")), text.GetAttr("p"), true},
		"dynamic, attribute in neither type": {object(str("a")), object(str("b")), text.GetAttr("x"), false},
		"dynamic, attribute in one type":     {cty.EmptyObjectVal, object(str("b")), text.GetAttr("p"), true},
		"dynamic, another kind of value":     {str("a"), object(str("b")), text.GetAttr("p"), true},
		"dynamic, unknown":                   {object(str("a")), cty.DynamicVal, text.GetAttr("p"), true},
	} {
		change := &plan.Change{Action: plan.Update, Before: mark.Plain(object(c.before)), After: mark.Plain(object(c.after))}
		if got := changesAt(change, c.path); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
