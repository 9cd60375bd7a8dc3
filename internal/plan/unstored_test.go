package plan

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// Plan.Omitted returns a plan for a file, which has no results and no sensitive arguments of the data sources that the
// function selects. The original plan does not change.
func TestOmitted(t *testing.T) {
	object := func(m addr.Mode) addr.Object {
		return addr.Resource{Mode: m, Type: "t", Name: "x"}.In(addr.ModuleInstance{}).Instance(addr.NoKey).Current()
	}
	data, managed := object(addr.Data), object(addr.Managed)
	entry := &state.Entry{Attrs: []byte(`{"a":"secret"}`), Sensitive: []cty.Path{cty.GetAttrPath("a")}}
	e := (&state.Snapshot{}).Edit()
	e.Put(data, entry)
	e.Put(managed, entry)
	prior := e.Done()
	value := mark.Value{
		Raw:   cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal("secret"), "b": cty.StringVal("plain")}),
		Marks: mark.SensitiveAt([]cty.Path{cty.GetAttrPath("a")}),
	}
	p := &Plan{Previous: prior, Refreshed: prior, Changes: []*Change{
		{Object: data, Action: Read, After: value, Entry: entry}, {Object: managed, Action: Update, After: value, Entry: entry},
	}}
	out := p.Omitted(func(o addr.Object, e *state.Entry) bool { return o.Mode == addr.Data && len(e.Sensitive) > 0 })
	if out.Previous.Get(data) != nil || out.Previous.Get(managed) == nil || len(out.Unstored.Lacking) != 1 {
		t.Errorf("prior state: %v, lacking %v", out.Previous, out.Unstored.Lacking)
	}
	read := out.Changes[0]
	if read.Entry != nil || read.After.Raw.GetAttr("a").IsKnown() || !read.After.Has(mark.Sensitive) || read.After.Raw.GetAttr("b").AsString() != "plain" {
		t.Errorf("reading: %#v", read)
	}
	if out.Changes[1] != p.Changes[1] || p.Changes[0].Entry == nil || p.Previous != prior || !p.Changes[0].After.Raw.GetAttr("a").IsKnown() {
		t.Error("the plan has changed")
	}
	out.AddLacking(prior)
	if out.Previous.Get(data) != entry {
		t.Error("the prior state is not complete again")
	}
}
