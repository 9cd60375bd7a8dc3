package diff

import (
	"slices"
	"testing"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// compare compares two values without a schema.
func compare(d Differ, before, after cty.Value) *Node {
	return d.Value(nil, NewUntypedValue(before, nil), NewUntypedValue(after, nil), nil, AllPaths)
}

func TestOperationFollowsFromMissingValues(t *testing.T) {
	x, y := cty.StringVal("x"), cty.StringVal("y")
	for _, c := range []struct {
		before, after cty.Value
		want          Op
	}{{x, x, Same}, {cty.NilVal, x, Add}, {x, cty.NilVal, Remove}, {x, y, Update}} {
		if got := compare(Differ{}, c.before, c.after); got.Op != c.want {
			t.Errorf("%#v to %#v: %v, want %v", c.before, c.after, got.Op, c.want)
		}
	}
}

func TestUnknownValuesAlwaysDiffer(t *testing.T) {
	u := cty.UnknownVal(cty.String)
	if n := compare(Differ{}, cty.StringVal("x"), u); n.Kind != UnknownNode || n.Op != Update || n.Old == nil {
		t.Errorf("%+v", n)
	}
	if NewUntypedValue(u, nil).equal(NewUntypedValue(u, nil)) {
		t.Error("two unknown values are equal")
	}
}

func TestSensitiveValuesAreNotComparedByParts(t *testing.T) {
	v := mark.Value{Raw: cty.ObjectVal(map[string]cty.Value{"password": cty.StringVal("canary")}), Marks: mark.SensitiveAt([]cty.Path{cty.GetAttrPath("password")})}
	b := NewUntypedValue(v.Raw, SensitivePaths(v))
	n := (&Differ{}).Value(nil, b, b, nil, AllPaths)
	if in := n.Children[0]; in.Kind != SensitiveNode || in.Before != nil || in.After != nil || in.Op != Same {
		t.Errorf("%+v", in)
	}
	if in := (&Differ{ShowSensitive: true}).Value(nil, b, b, nil, AllPaths).Children[0]; in.Kind != ScalarNode || in.After.Text != "canary" {
		t.Errorf("with ShowSensitive: %+v", in)
	}
}

func TestChangeOfSensitivityIsAnUpdate(t *testing.T) {
	public, secret := NewUntypedValue(cty.StringVal("x"), nil), NewUntypedValue(cty.StringVal("x"), AllPaths)
	n := (&Differ{}).Value(nil, public, secret, nil, AllPaths)
	if n.Op != Update || n.Sensitivity != BecomesSensitive || !n.SameValue {
		t.Errorf("becomes sensitive: %+v", n)
	}
	n = (&Differ{}).Value(nil, secret, public, nil, AllPaths)
	if n.Op != Update || n.Sensitivity != NoLongerSensitive || !n.SameValue {
		t.Errorf("is no longer sensitive: %+v", n)
	}
}

func TestJSONInStringsIsComparedByContent(t *testing.T) {
	n := compare(Differ{}, cty.StringVal(`{"a":1,"b":2}`), cty.StringVal(`{"b": 2, "a": 1}`))
	if n.Kind != JSONNode || n.Op != Update || !n.OnlySpaces || n.New.Op != Same {
		t.Errorf("equal content: %+v", n)
	}
	n = compare(Differ{}, cty.StringVal(`{"a":1}`), cty.StringVal(`{"a":2}`))
	if n.Kind != JSONNode || n.OnlySpaces || n.New.Children[0].Op != Update {
		t.Errorf("other content: %+v", n)
	}
	if n := compare(Differ{}, cty.StringVal(`{"a":1}`), cty.StringVal("text")); n.Kind != RetypedNode {
		t.Errorf("JSON to text: %+v", n)
	}
}

func TestSetsIgnoreTheOrder(t *testing.T) {
	f := TypeForm(cty.Set(cty.String), false)
	set := func(all ...string) *Value {
		v := &Value{Kind: SetValue}
		for _, s := range all {
			v.Elements = append(v.Elements, &Value{Kind: StringValue, Text: s})
		}
		return v
	}
	if n := (&Differ{}).Value(f, set("a", "b"), set("b", "a"), nil, AllPaths); n.Op != Same {
		t.Errorf("%+v", n)
	}
	n := (&Differ{}).Value(f, set("a", "b"), set("c", "a"), nil, AllPaths)
	var ops []Op
	for _, k := range n.Children {
		ops = append(ops, k.Op)
	}
	if !slices.Equal(ops, []Op{Same, Remove, Add}) {
		t.Error(ops)
	}
}

// compareBlock compares two objects with one attribute each.
func compareBlock(a *schema.Attr, before, after cty.Value, d Differ, forces *Paths) *Node {
	var forms Forms
	f := forms.Block(&schema.Block{Attrs: []*schema.Attr{a}})
	object := func(v cty.Value) *Value {
		return NewValue(cty.ObjectVal(map[string]cty.Value{a.Name: v}), &f.Form, nil)
	}
	return d.Block(f, object(before), object(after), forces, AllPaths)
}

func TestEmptyStringsOfOldSDKsAreHidden(t *testing.T) {
	n := compareBlock(&schema.Attr{Name: "name", Type: cty.String, Optional: true}, cty.NullVal(cty.String), cty.StringVal(""), Differ{}, nil)
	if n.Op != Same || len(n.Children) != 0 {
		t.Errorf("%+v", n)
	}
}

func TestAttributesThatForceReplacementAreMarked(t *testing.T) {
	forces := &Paths{}
	forces.Add(cty.GetAttrPath("name"))
	n := compareBlock(&schema.Attr{Name: "name", Type: cty.String, Optional: true}, cty.StringVal("a"), cty.StringVal("b"), Differ{}, forces)
	if n.Forces || !n.Children[0].Forces {
		t.Errorf("block %v, attribute %v", n.Forces, n.Children[0].Forces)
	}
	n = compareBlock(&schema.Attr{Name: "name", Type: cty.String, Optional: true}, cty.StringVal("a"), cty.StringVal("a"), Differ{}, forces)
	if n.Children[0].Forces {
		t.Error("an unchanged attribute is marked")
	}
}

func TestPartsOutsideRelevantCountAsUnchanged(t *testing.T) {
	var relevant *Paths
	b, a := NewUntypedValue(cty.StringVal("a"), nil), NewUntypedValue(cty.StringVal("b"), nil)
	if n := (&Differ{}).Value(nil, b, a, nil, relevant); n.Op != Same {
		t.Errorf("%+v", n)
	}
}

func TestWriteOnlyArgumentsAreShownIfTheyAreSent(t *testing.T) {
	attr := &schema.Attr{Name: "password", Type: cty.String, Optional: true, WriteOnly: true}
	null := cty.NullVal(cty.String)
	sent := &Paths{}
	sent.Place(cty.GetAttrPath("password")).Sent = true
	if n := compareBlock(attr, null, null, Differ{Replaced: true}, sent); len(n.Children) != 1 || n.Children[0].Kind != WriteOnlyNode {
		t.Errorf("replaced: %+v", n)
	}
	if n := compareBlock(attr, null, null, Differ{Replaced: true}, nil); len(n.Children) != 0 {
		t.Errorf("not set: %+v", n)
	}
	if n := compareBlock(attr, null, null, Differ{}, sent); len(n.Children) != 0 {
		t.Errorf("update without a version: %+v", n)
	}
	if n := compareBlock(attr, null, null, Differ{Stored: true}, nil); len(n.Children) != 1 {
		t.Errorf("stored: %+v", n)
	}
}

func TestAttributeNamesAreQuotedUnlessIdentifiers(t *testing.T) {
	for name, want := range map[string]string{"a_b-c": "a_b-c", "ärger": "ärger", "1a": `"1a"`, "a.b": `"a.b"`, "": `""`} {
		if got := AttributeName(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
