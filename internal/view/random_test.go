package view

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

// The tests in this file check random plans: their text is safe for a terminal, their JSON is valid, colours change
// nothing else, and sensitive values are not shown.

const canary = "canary-of-the-guard"

func nastyText(t *rapid.T) string {
	switch rapid.IntRange(0, 7).Draw(t, "text") {
	case 0:
		return rapid.SampledFrom([]string{"\x1b[2J", "\x1b]0;x\x07", "\u009b31m", "\u202eabc", "a\r\nb\x00", "\xff\xfe", "{\"a\":\"\\u001b\"}", "[1,{\"k\":\"x\\ny\"}]", "EOT\nEOT", "\n", "  \n  x\n", "", "{", "[]", "{}"}).Draw(t, "nasty")
	case 1:
		return rapid.String().Draw(t, "any")
	case 2:
		return string(rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "bytes"))
	case 3:
		return rapid.StringMatching(`[a-c]{0,3}(\n[a-c ]{0,4}){1,5}`).Draw(t, "lines")
	}
	return rapid.StringMatching(`[a-d]{0,3}`).Draw(t, "plain")
}

func text(t *rapid.T) cty.Value { return cty.StringVal(nastyText(t)) }

// anyValue draws a value of any type, with at most depth levels of objects and tuples.
func anyValue(t *rapid.T, depth int) cty.Value {
	n := 9
	if depth <= 0 {
		n = 4
	}
	switch rapid.IntRange(0, n).Draw(t, "kind") {
	case 0:
		return cty.NullVal(cty.DynamicPseudoType)
	case 1:
		return cty.UnknownVal(cty.String)
	case 2:
		return cty.NumberFloatVal(rapid.Float64Range(-1e9, 1e9).Draw(t, "number"))
	case 3:
		return cty.BoolVal(rapid.Bool().Draw(t, "bool"))
	case 5, 6:
		vals := map[string]cty.Value{}
		for range rapid.IntRange(0, 4).Draw(t, "attrs") {
			vals[nastyText(t)] = anyValue(t, depth-1)
		}
		return cty.ObjectVal(vals)
	case 7, 8:
		var vals []cty.Value
		for range rapid.IntRange(0, 5).Draw(t, "elems") {
			vals = append(vals, anyValue(t, depth-1))
		}
		return cty.TupleVal(vals)
	}
	return text(t)
}

// typedValue draws a value of a type, which may be null or unknown. depth limits only the values of dynamic types.
func typedValue(t *rapid.T, ty cty.Type, depth int) cty.Value {
	switch rapid.IntRange(0, 9).Draw(t, "whole") {
	case 0:
		return cty.NullVal(ty)
	case 1:
		return cty.UnknownVal(ty)
	}
	elems := func() []cty.Value {
		var out []cty.Value
		for range rapid.IntRange(1, 5).Draw(t, "elems") {
			out = append(out, typedValue(t, ty.ElementType(), depth-1))
		}
		return out
	}
	switch {
	case ty == cty.String:
		return text(t)
	case ty == cty.Number:
		return cty.NumberIntVal(rapid.Int64Range(-3, 3).Draw(t, "number"))
	case ty == cty.Bool:
		return cty.BoolVal(rapid.Bool().Draw(t, "bool"))
	case ty == cty.DynamicPseudoType:
		return anyValue(t, depth)
	case ty.IsListType():
		if rapid.Bool().Draw(t, "empty") {
			return cty.ListValEmpty(ty.ElementType())
		}
		return cty.ListVal(elems())
	case ty.IsSetType():
		return cty.SetVal(elems())
	case ty.IsMapType():
		m := map[string]cty.Value{}
		for range rapid.IntRange(1, 4).Draw(t, "elems") {
			m[nastyText(t)] = typedValue(t, ty.ElementType(), depth-1)
		}
		return cty.MapVal(m)
	case ty.IsObjectType():
		m := map[string]cty.Value{}
		for name, aty := range ty.AttributeTypes() {
			m[name] = typedValue(t, aty, depth-1)
		}
		return cty.ObjectVal(m)
	}
	return cty.NullVal(ty)
}

var randomBlock = &schema.Block{
	Attrs: []*schema.Attr{
		{Name: "any", Type: cty.DynamicPseudoType, Optional: true},
		{Name: "id", Type: cty.String, Computed: true},
		{Name: "key", Type: cty.String, Optional: true, Sensitive: true},
		{Name: "list", Type: cty.List(cty.String), Optional: true},
		{Name: "map", Type: cty.Map(cty.List(cty.String)), Optional: true},
		{Name: "nested", Type: cty.List(cty.Object(map[string]cty.Type{"a": cty.String, "b_wo": cty.String})), Object: &schema.Object{
			Nesting: schema.List, Attrs: []*schema.Attr{{Name: "a", Type: cty.String}, {Name: "b_wo", Type: cty.String, WriteOnly: true}},
		}},
		{Name: "object", Type: cty.Object(map[string]cty.Type{"x": cty.String, "y": cty.Number}), Optional: true},
		{Name: "objects", Type: cty.Set(cty.Object(map[string]cty.Type{"x": cty.String})), Optional: true},
		{Name: "text", Type: cty.String, Optional: true},
	},
	Blocks: []*schema.Nested{
		{Name: "group", Nesting: schema.Group, Block: testBlock},
		{Name: "maps", Nesting: schema.Map, Block: &schema.Block{Attrs: []*schema.Attr{{Name: "a", Type: cty.String}}}},
		{Name: "lists", Nesting: schema.List, Block: &schema.Block{Attrs: []*schema.Attr{{Name: "a", Type: cty.String, Sensitive: true}}}},
		{Name: "sets", Nesting: schema.Set, Block: &schema.Block{Attrs: []*schema.Attr{{Name: "a", Type: cty.String}}}},
		{Name: "single", Nesting: schema.Single, Block: &schema.Block{Attrs: []*schema.Attr{{Name: "a", Type: cty.String}}}},
	},
}

// randomObject draws an object of randomBlock, or null. In some objects the attribute text is sensitive and has the
// value canary.
func randomObject(t *rapid.T) mark.Value {
	v := typedValue(t, randomBlock.Type(), 4)
	if !v.IsKnown() {
		v = cty.NullVal(randomBlock.Type())
	}
	out := mark.Plain(v)
	if !v.IsNull() && rapid.Bool().Draw(t, "sensitive") {
		m := v.AsValueMap()
		m["text"] = cty.StringVal(canary)
		out.Raw = cty.ObjectVal(m)
		out.Marks = append(out.Marks, mark.At{Path: cty.GetAttrPath("text"), Tag: mark.Sensitive})
	}
	return out
}

// randomPlan draws a plan with changes of type random_thing, and returns it with its schemas.
func randomPlan(t *rapid.T) (*plan.Plan, provider.Lookup) {
	s := newTestSchemas()
	s(testProvider).Add(addr.Managed, "random_thing", func() (*schema.Schema, error) { return &schema.Schema{Block: randomBlock}, nil })
	p := &plan.Plan{Mode: plan.Mode(rapid.IntRange(0, 2).Draw(t, "mode")), Errored: rapid.Bool().Draw(t, "errored")}
	change := func() *plan.Change {
		i := addr.Instance{Mode: addr.Managed, Type: "random_thing", Name: "x", Key: addr.StringKey(nastyText(t))}
		c := &plan.Change{Object: i.Current(), Action: plan.Action(rapid.IntRange(0, 8).Draw(t, "action")), Before: randomObject(t), After: randomObject(t), Lifecycle: plan.Lifecycle{FirstFor: nastyText(t)}}
		c.Was = c.Object
		c.Provider.Provider = testProvider
		if rapid.Bool().Draw(t, "moved") {
			c.Was.Key = addr.StringKey(nastyText(t))
		}
		if rapid.Bool().Draw(t, "importing") {
			c.Importing = &plan.Importing{ID: nastyText(t)}
		}
		for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"text", "list", "lists", "any", "nested"}), 0, 3).Draw(t, "replace") {
			c.Replace = append(c.Replace, cty.GetAttrPath(name))
		}
		return c
	}
	for range rapid.IntRange(0, 3).Draw(t, "changes") {
		p.Changes = append(p.Changes, change())
	}
	for range rapid.IntRange(0, 2).Draw(t, "drift") {
		c := change()
		p.Drift = append(p.Drift, c)
		p.Relevant = append(p.Relevant, plan.Relevant{Resource: c.Object.Abs(), Path: cty.GetAttrPath("any")})
	}
	for range rapid.IntRange(0, 2).Draw(t, "outputs") {
		o := &plan.OutputChange{Name: nastyText(t), Action: plan.Update, Before: mark.Plain(anyValue(t, 3)), After: mark.Plain(anyValue(t, 3)), Sensitive: rapid.Bool().Draw(t, "sensitive output")}
		p.Outputs = append(p.Outputs, o)
	}
	return p, s
}

var sgr = regexp.MustCompile("\x1b\\[[0-9]+m")

func TestRandomPlans(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p, s := randomPlan(r)
		var plain, colored strings.Builder
		PlanText(&plain, p, s, Options{})
		checkSafe(t, plain.String())
		if strings.Contains(plain.String(), canary) {
			r.Fatalf("a sensitive value is shown:\n%s", plain.String())
		}
		PlanText(&colored, p, s, Options{Color: true})
		if sgr.ReplaceAllString(colored.String(), "") != plain.String() {
			r.Fatalf("colours change the text")
		}
		var doc bytes.Buffer
		if err := WritePlanJSON(&doc, p, nil, s, nil, "1.12.0"); err != nil {
			r.Fatal(err)
		}
		checkSafe(t, doc.String())
		if !json.Valid(doc.Bytes()) {
			r.Fatalf("not JSON: %s", doc.String())
		}
		var stream bytes.Buffer
		j := NewJSON(&stream, "1.12.0", Options{})
		j.Plan(p, PlanOptions{})
		j.Finish()
		checkSafe(t, stream.String())
	})
}

func TestRandomStates(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		v := anyValue(r, 4)
		out := map[string]state.Output{nastyText(r): {Value: mark.Plain(v)}}
		var b strings.Builder
		if err := OutputsText(&b, out, Options{}); err != nil {
			r.Fatal(err)
		}
		StateText(&b, (&state.Snapshot{Outputs: out}), nil, Options{})
		if err := OutputsJSON(&b, out); err != nil {
			r.Fatal(err)
		}
		if err := WriteStateJSON(&b, &state.Snapshot{Outputs: out}, nil, "1.12.0"); err != nil {
			r.Fatal(err)
		}
		checkSafe(t, b.String())
	})
}

func TestRandomEvents(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		o := addr.Instance{Mode: addr.Managed, Type: "a_b", Name: "x", Key: addr.StringKey(nastyText(r))}.Current()
		ds := []diag.Diagnostic{{Severity: diag.Error, Summary: nastyText(r), Detail: nastyText(r), Address: nastyText(r), Values: []diag.Value{{Traversal: nastyText(r), Statement: nastyText(r)}}}}
		events := []event.Event{
			event.Started{Object: o, Op: event.Create, IDKey: "id", ID: nastyText(r)}, event.Done{Object: o, Op: event.Create, ID: nastyText(r)},
			event.ProvisionOutput{Object: o, Type: "local-exec", Line: nastyText(r)}, event.Note{Text: nastyText(r)}, event.Imported{Object: o, ID: nastyText(r)},
			event.Diagnosed{Diagnostic: ds[0]},
		}
		run := func(v View) {
			for _, e := range events {
				v.Send(e)
			}
			v.Diagnostics(ds)
			v.Finish()
		}
		var out bytes.Buffer
		run(NewHuman(&out, &out, Options{Width: rapid.SampledFrom([]int{0, 20, 80}).Draw(r, "width")}))
		run(NewJSON(&out, "1", Options{}))
		checkSafe(t, out.String())
	})
}
