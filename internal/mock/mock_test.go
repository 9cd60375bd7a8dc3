package mock

import (
	"context"
	"slices"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/providertest"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

var testObject = &schema.Schema{Block: &schema.Block{
	Attrs: []*schema.Attr{
		{Name: "id", Type: cty.String, Computed: true},
		{Name: "limits", Type: cty.Object(map[string]cty.Type{"cpu": cty.Number, "host": cty.String}), Computed: true, Object: &schema.Object{
			Nesting: schema.Single, Attrs: []*schema.Attr{{Name: "cpu", Type: cty.Number, Computed: true}, {Name: "host", Type: cty.String, Computed: true}},
		}},
		{Name: "name", Type: cty.String, Required: true},
		{Name: "note", Type: cty.String, Optional: true},
		{Name: "secret", Type: cty.String, Optional: true, WriteOnly: true},
		{Name: "size", Type: cty.Number, Optional: true, Computed: true},
		{Name: "tags", Type: cty.List(cty.String), Computed: true},
	},
}}

// plain is the schema testObject without write-only attributes, which only managed resources may have.
var plain = &schema.Schema{Block: &schema.Block{Attrs: slices.DeleteFunc(slices.Clone(testObject.Attrs), func(a *schema.Attr) bool { return a.WriteOnly })}}

func object(t *testing.T, a Answer) *Object {
	t.Helper()
	schemas := provider.NewSchemas(&schema.Schema{Block: &schema.Block{}})
	for mode, s := range map[addr.Mode]*schema.Schema{addr.Managed: testObject, addr.Data: plain, addr.Ephemeral: plain} {
		schemas.Add(mode, "x_thing", func() (*schema.Schema, error) { return s, nil })
	}
	real := &providertest.Fake{Describe: func() (*provider.Schemas, provider.Diags) { return schemas, nil }}
	i, err := addr.ParseInstance(`x_thing.t["a"]`)
	if err != nil {
		t.Fatal(err)
	}
	return &Object{Provider: &Provider{real}, Of: i, Answer: a}
}

func wire(t *testing.T, v cty.Value) provider.Dynamic {
	t.Helper()
	s := testObject
	if !v.Type().HasAttribute("secret") {
		s = plain
	}
	d, ds := encoded(s, v)
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	return d
}

func configured() cty.Value {
	all := question().AsValueMap()
	all["secret"] = cty.StringVal("hidden")
	return cty.ObjectVal(all)
}

// question returns the configuration that is sent to a data source or to an ephemeral resource.
func question() cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"id": cty.NullVal(cty.String), "limits": cty.NullVal(testObject.Attr("limits").Type), "name": cty.StringVal("n"), "note": cty.NullVal(cty.String),
		"size": cty.NullVal(cty.Number), "tags": cty.NullVal(cty.List(cty.String)),
	})
}

// create plans and applies an object.
func create(t *testing.T, o *Object) (planned, made cty.Value) {
	t.Helper()
	config, null := configured(), testObject.Null()
	proposed := testObject.Propose(null, config)
	p, ds := o.Plan(context.Background(), provider.PlanRequest{Type: "x_thing", Prior: wire(t, null), Proposed: wire(t, proposed), Config: wire(t, config)})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	a, ds := o.Apply(context.Background(), provider.ApplyRequest{Type: "x_thing", Prior: wire(t, null), Planned: p.Planned, Config: wire(t, config)})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	planned, err1 := p.Planned.Decode(testObject)
	made, err2 := a.State.Decode(testObject)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if !planned.GetAttr("secret").IsNull() || !made.GetAttr("secret").IsNull() {
		t.Error("a write-only value was kept")
	}
	return planned, made
}

// TestMadeUp checks that the values that a provider decides are unknown in the plan and invented by apply, with the
// same result each time.
func TestMadeUp(t *testing.T) {
	planned, made := create(t, object(t, Answer{}))
	for _, name := range []string{"id", "limits", "size", "tags"} {
		if planned.GetAttr(name).IsKnown() || !made.GetAttr(name).IsWhollyKnown() || made.GetAttr(name).IsNull() {
			t.Errorf("%s: %#v, then %#v", name, planned.GetAttr(name), made.GetAttr(name))
		}
	}
	if id := made.GetAttr("id").AsString(); len(id) != 8 || id == made.GetAttr("limits").GetAttr("host").AsString() {
		t.Errorf("id is %q", id)
	}
	if !made.GetAttr("note").IsNull() || made.GetAttr("name").AsString() != "n" || made.GetAttr("tags").LengthInt() != 0 {
		t.Errorf("made: %#v", made)
	}
	if _, again := create(t, object(t, Answer{})); !again.RawEquals(made) {
		t.Errorf("%#v, then %#v", made, again)
	}
}

// TestGiven checks that given values are used, during plan too if Known is set, that they do not replace configured
// values, and that a value of the wrong type is an error.
func TestGiven(t *testing.T) {
	given := cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("i"), "name": cty.StringVal("not taken"), "limits": cty.ObjectVal(map[string]cty.Value{"cpu": cty.StringVal("4")})})
	planned, made := create(t, object(t, Answer{Given: given, Known: true}))
	if !planned.RawEquals(made) || made.GetAttr("id").AsString() != "i" || made.GetAttr("name").AsString() != "n" {
		t.Errorf("%#v, then %#v", planned, made)
	}
	if cpu := made.GetAttr("limits").GetAttr("cpu"); !cpu.RawEquals(cty.NumberIntVal(4)) {
		t.Errorf("cpu is %#v", cpu)
	}
	o := object(t, Answer{Given: cty.ObjectVal(map[string]cty.Value{"size": cty.StringVal("many")})})
	if _, ds := o.ReadData(context.Background(), provider.DataRequest{Type: "x_thing", Config: wire(t, question())}); !ds.HasErrors() || ds[0].Summary != "Invalid mocked values" {
		t.Errorf("an unfit value: %v", ds)
	}
}

// TestResults checks that results of data sources and leases are known at once, and that Read does not change an
// object.
func TestResults(t *testing.T) {
	o, ctx := object(t, Answer{}), context.Background()
	read, ds := o.ReadData(ctx, provider.DataRequest{Type: "x_thing", Config: wire(t, question())})
	opened, more := o.Open(ctx, provider.OpenRequest{Type: "x_thing", Config: wire(t, question())})
	if ds.HasErrors() || more.HasErrors() || string(read.State.Msgpack) != string(opened.Result.Msgpack) || !opened.RenewAt.IsZero() {
		t.Errorf("%v %v", ds, more)
	}
	found, ds := o.Import(ctx, provider.ImportRequest{Type: "x_thing", ID: "known"})
	if ds.HasErrors() || len(found.Objects) != 1 {
		t.Fatal(ds)
	}
	if v, err := found.Objects[0].State.Decode(testObject); err != nil || v.GetAttr("id").AsString() != "known" {
		t.Errorf("%#v %v", v, err)
	}
	same, _ := o.Read(ctx, provider.ReadRequest{Type: "x_thing", State: found.Objects[0].State})
	if string(same.State.Msgpack) != string(found.Objects[0].State.Msgpack) {
		t.Error("reading changed an object")
	}
}
