package view

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// This file builds its plans from single values.

var testBlock = &schema.Block{
	Attrs: []*schema.Attr{
		{Name: "any", Type: cty.DynamicPseudoType, Optional: true},
		{Name: "id", Type: cty.String, Computed: true},
		{Name: "items", Type: cty.List(cty.String), Optional: true},
		{Name: "key", Type: cty.String, Optional: true, Sensitive: true},
		{Name: "name", Type: cty.String, Required: true},
		{Name: "secret_wo", Type: cty.String, Optional: true, WriteOnly: true},
		{Name: "secret_wo_version", Type: cty.Number, Optional: true},
		{Name: "size", Type: cty.Number, Optional: true},
		{Name: "tags", Type: cty.Map(cty.String), Optional: true},
	},
	Blocks: []*schema.Nested{{Name: "disk", Nesting: schema.List, Block: &schema.Block{
		Attrs: []*schema.Attr{{Name: "label", Type: cty.String, Optional: true}, {Name: "pin_wo", Type: cty.String, Optional: true, WriteOnly: true}},
	}}},
}

var testProvider = addr.Provider{Host: addr.DefaultHost, Namespace: "test", Type: "test"}

// newTestSchemas returns a lookup of schemas with one managed and one data type.
func newTestSchemas() provider.Lookup {
	s := provider.NewSchemas(&schema.Schema{Block: &schema.Block{}})
	for _, m := range []addr.Mode{addr.Managed, addr.Data} {
		s.Add(m, "test_thing", func() (*schema.Schema, error) { return &schema.Schema{Version: 3, Block: testBlock}, nil })
	}
	return func(p addr.Provider) *provider.Schemas {
		if p == testProvider {
			return s
		}
		return nil
	}
}

type attrs map[string]cty.Value

var unknownString = cty.UnknownVal(cty.String)

// testObject returns an object of type test_thing with some attributes. If a has no name, the name is "n". All other
// attributes are null, and there are no blocks.
func testObject(a attrs) mark.Value {
	out := map[string]cty.Value{}
	for name, ty := range testBlock.Type().AttributeTypes() {
		out[name] = cty.NullVal(ty)
		if ty.IsListType() && name == "disk" {
			out[name] = cty.ListValEmpty(ty.ElementType())
		}
		if v, ok := a[name]; ok {
			out[name] = v
		}
	}
	if _, ok := a["name"]; !ok {
		out["name"] = cty.StringVal("n")
	}
	return mark.Plain(cty.ObjectVal(out))
}

// nothing is the value of an object before its creation and after its removal.
var nothing = mark.Plain(cty.NullVal(testBlock.Type()))

func str(s string) cty.Value { return cty.StringVal(s) }
func num(n int64) cty.Value  { return cty.NumberIntVal(n) }

// changeOf returns a change of an object of the test provider, after it has called the functions in more.
func changeOf(t testing.TB, address string, a plan.Action, before, after mark.Value, more ...func(*plan.Change)) *plan.Change {
	o := object(t, address)
	c := &plan.Change{Object: o, Was: o, Action: a, Before: before, After: after}
	c.Provider.Provider = testProvider
	for _, f := range more {
		f(c)
	}
	return c
}

func why(r plan.Reason) func(*plan.Change) { return func(c *plan.Change) { c.Why = r } }

func deposedAs(key string) func(*plan.Change) {
	return func(c *plan.Change) { c.Object.Deposed, c.Was.Deposed = key, key }
}

// from returns a function that sets the address from which an object moves.
func from(t testing.TB, address string) func(*plan.Change) {
	return func(c *plan.Change) { c.Was = object(t, address) }
}

// plans returns the plans of the golden files, by name.
func plans(t testing.TB) map[string]*plan.Plan {
	old, made := testObject(attrs{"id": str("i-1"), "size": num(1)}), testObject(attrs{"id": unknownString, "size": num(2)})
	removal := func(address string, r plan.Reason, more ...func(*plan.Change)) *plan.Change {
		return changeOf(t, address, plan.Delete, old, nothing, append(more, why(r))...)
	}
	replaced := func(address string, a plan.Action, r plan.Reason, more ...func(*plan.Change)) *plan.Change {
		return changeOf(t, address, a, old, made, append(more, why(r))...)
	}
	read := func(address string, r plan.Reason) *plan.Change {
		return changeOf(t, address, plan.Read, nothing, testObject(attrs{"id": unknownString}), why(r))
	}
	importing := func(i plan.Importing) func(*plan.Change) { return func(c *plan.Change) { c.Importing = &i } }
	unchanged := func(address string, more ...func(*plan.Change)) *plan.Change {
		e := &state.Entry{Schema: 3, Attrs: []byte(`{"id":"i-1","name":"n","size":1,"tags":{"a":"b"}}`)}
		e.Provider.Provider = testProvider
		return changeOf(t, address, plan.NoOp, mark.Value{}, mark.Value{}, append(more, func(c *plan.Change) { c.Unchanged, c.Entry = true, e })...)
	}
	secret := func(v mark.Value, name string) mark.Value {
		v.Marks = append(v.Marks, mark.At{Path: cty.GetAttrPath(name), Tag: mark.Sensitive})
		return v
	}
	keepsObject := func(c *plan.Change) { c.SkipDestroy = true }
	return map[string]*plan.Plan{
		"delete-reasons": {Changes: []*plan.Change{
			removal("module.m[0].test_thing.a", plan.DeleteNoModule), removal(`test_thing.b["k"]`, plan.DeleteNoResource), removal("test_thing.c[7]", plan.DeleteCountIndex),
			removal(`test_thing.d["k"]`, plan.DeleteEachKey), removal("test_thing.e", plan.DeleteWrongRepetition), removal("test_thing.f[1]", plan.DeleteWrongRepetition),
			removal(`test_thing.g["x"]`, plan.DeleteWrongRepetition), removal("test_thing.h", plan.DeleteDisabled), removal("test_thing.i", plan.DeleteNoMoveTarget, from(t, "test_thing.before")),
			removal("test_thing.j", "", deposedAs("0a1b2c3d")), removal("data.test_thing.silent", ""), removal("test_thing.plain", ""),
		}},
		"replace-reasons": {Changes: []*plan.Change{
			replaced("test_thing.a", plan.DeleteCreate, plan.ReplaceCannotUpdate, func(c *plan.Change) { c.Replace = []cty.Path{cty.GetAttrPath("size")} }),
			replaced("test_thing.b", plan.CreateDelete, plan.ReplaceByRequest), replaced("test_thing.c", plan.DeleteCreate, plan.ReplaceTainted),
			replaced("test_thing.d", plan.CreateDelete, plan.ReplaceByTriggers, func(c *plan.Change) { c.CreateFirst, c.FirstFor = true, "test_thing.a" }),
			replaced("test_thing.e", plan.ForgetCreate, ""),
			replaced("test_thing.f", plan.DeleteCreate, "", importing(plan.Importing{ID: "i-1"}), from(t, "test_thing.e2")),
		}},
		"read-reasons": {Changes: []*plan.Change{
			read("data.test_thing.a", plan.ReadConfigUnknown), read("data.test_thing.b", plan.ReadDependencyPending), read("data.test_thing.c", plan.ReadCheckNested), read("module.a.data.test_thing.d", ""),
		}},
		"moves-and-imports": {Changes: []*plan.Change{
			unchanged("test_thing.a", from(t, "test_thing.a0")), unchanged("test_thing.same"),
			unchanged("test_thing.b", importing(plan.Importing{ID: `i "1"`})),
			unchanged("test_thing.c", importing(plan.Importing{Identity: cty.ObjectVal(map[string]cty.Value{"id": str("x"), "realm": cty.NullVal(cty.String), "n": num(3)})}), func(c *plan.Change) { c.Generated = "resource {}" }),
			changeOf(t, "test_thing.d", plan.Update, old, testObject(attrs{"id": str("i-1"), "size": num(2)}), importing(plan.Importing{Identity: cty.ObjectVal(map[string]cty.Value{"id": str("x")})})),
			changeOf(t, "test_thing.e", plan.Create, nothing, made, importing(plan.Importing{Unknown: true})),
			changeOf(t, "test_thing.f", plan.Update, old, made, from(t, "module.x.test_thing.f")),
		}},
		"forgotten": {Changes: []*plan.Change{
			changeOf(t, "test_thing.a", plan.Forget, old, nothing, keepsObject), changeOf(t, "test_thing.b", plan.Forget, old, nothing, keepsObject, deposedAs("01234567")),
			changeOf(t, "test_thing.c", plan.Forget, old, nothing),
		}},
		"write-only": {Changes: []*plan.Change{
			changeOf(t, "test_thing.created", plan.Create, nothing, testObject(attrs{"id": unknownString, "secret_wo_version": num(1)}), sends("secret_wo")),
			changeOf(t, "test_thing.created_without", plan.Create, nothing, testObject(attrs{"id": unknownString})),
			changeOf(t, "test_thing.deleted", plan.Delete, testObject(attrs{"id": str("i"), "secret_wo_version": num(1)}), nothing),
			changeOf(t, "test_thing.first", plan.Update, testObject(attrs{"id": str("i")}), testObject(attrs{"id": str("i"), "secret_wo_version": num(1)}), sends("secret_wo")),
			changeOf(t, "test_thing.forced", plan.DeleteCreate, testObject(attrs{"id": str("i"), "secret_wo_version": num(1)}), testObject(attrs{"id": unknownString, "secret_wo_version": num(2)}),
				sends("secret_wo"), func(c *plan.Change) { c.Replace = []cty.Path{cty.GetAttrPath("secret_wo")} }),
			changeOf(t, "test_thing.raised", plan.Update, testObject(attrs{"id": str("i"), "secret_wo_version": num(1)}), testObject(attrs{"id": str("i"), "secret_wo_version": num(2)}), sends("secret_wo")),
			changeOf(t, "test_thing.replaced", plan.DeleteCreate, testObject(attrs{"id": str("i"), "secret_wo_version": num(1), "size": num(1)}), testObject(attrs{"id": unknownString, "secret_wo_version": num(1), "size": num(2)}), sends("secret_wo")),
			changeOf(t, "test_thing.unrelated", plan.Update, testObject(attrs{"id": str("i"), "secret_wo_version": num(1)}), testObject(attrs{"id": str("i"), "secret_wo_version": num(1), "size": num(2)})),
		}},
		"sensitive": {Changes: []*plan.Change{
			changeOf(t, "test_thing.a", plan.Update, secret(old, "size"), secret(made, "size")),
			changeOf(t, "test_thing.b", plan.Update, testObject(attrs{"id": str("i"), "key": str("hush")}), testObject(attrs{"id": str("i"), "key": str("hush2"), "size": num(1)})),
			changeOf(t, "test_thing.c", plan.Update, old, secret(old, "size")),
			changeOf(t, "test_thing.d", plan.Create, nothing, secret(testObject(attrs{"id": unknownString, "any": cty.ObjectVal(map[string]cty.Value{"p": str("hush")})}), "any")),
		}, Outputs: []*plan.OutputChange{
			{Name: "o", Action: plan.Update, Before: mark.Plain(str("hush")), After: mark.Plain(str("hush2")), Sensitive: true},
			{Name: "partly", Action: plan.Create, Before: nothing, After: mark.Value{Raw: cty.ObjectVal(map[string]cty.Value{"a": str("hush"), "b": str("x")}), Marks: []mark.At{{Path: cty.GetAttrPath("a"), Tag: mark.Ephemeral}}}},
		}},
		"drift": {Changes: []*plan.Change{changeOf(t, "test_thing.u", plan.Create, nothing, made)}, Drift: []*plan.Change{
			changeOf(t, "test_thing.a", plan.Update, old, testObject(attrs{"id": str("i-1"), "size": num(5), "tags": cty.MapVal(map[string]cty.Value{"a": str("b")})})),
			changeOf(t, "test_thing.b[0]", plan.Delete, old, nothing),
			changeOf(t, "test_thing.c", plan.Update, old, testObject(attrs{"id": str("i-1"), "size": num(5)}), from(t, "test_thing.c0")),
			changeOf(t, "test_thing.d", plan.Update, old, testObject(attrs{"id": str("i-1"), "size": num(5)})),
		}, Relevant: []plan.Relevant{
			{Resource: object(t, "test_thing.a").Abs(), Path: cty.GetAttrPath("size")}, {Resource: object(t, "test_thing.b").Abs()},
			{Resource: object(t, "test_thing.c").Abs(), Path: cty.GetAttrPath("size")}, {Resource: object(t, "test_thing.d").Abs(), Path: cty.GetAttrPath("tags")},
		}},
		"deferred":        {Changes: []*plan.Change{changeOf(t, "test_thing.a", plan.Create, nothing, made)}, Deferred: deferredChanges(changeOf(t, "test_thing.later", plan.Create, nothing, made))},
		"errored":         {Errored: true, Changes: []*plan.Change{changeOf(t, "test_thing.a", plan.Create, nothing, made)}, Outputs: []*plan.OutputChange{{Name: "o", Action: plan.Create, Before: nothing, After: mark.Plain(str("x"))}}},
		"failed":          {Errored: true},
		"nothing":         {},
		"nothing-destroy": {Mode: plan.Destroy}, "nothing-refresh": {Mode: plan.RefreshOnly},
		"no-schema": {Changes: []*plan.Change{
			changeOf(t, "other_thing.a", plan.Update, old, made, func(c *plan.Change) { c.Provider.Provider = addr.Default("other") }),
		}},
		"terminal": {Changes: []*plan.Change{
			changeOf(t, `test_thing.a["\u001b[2J"]`, plan.Create, nothing, testObject(attrs{
				"id": unknownString, "name": str("\x1b]0;x\x07\u202e"), "size": num(1),
				"tags": cty.MapVal(map[string]cty.Value{"k\x1b[31m": str("line\x1b[1m\nline\u009b2J\r\n"), "json": str("{\"a\\u001b\":\"\\u202e\"}")}),
				"any":  cty.ObjectVal(map[string]cty.Value{"\x1b": str("x")}),
			})),
			removal(`test_thing.b["\u202e"]`, plan.DeleteEachKey),
		}},
		"collapsed": {Changes: []*plan.Change{
			changeOf(t, "test_thing.a", plan.Update,
				testObject(attrs{"id": str("i"), "items": cty.ListVal(many(0, 3000)), "any": cty.TupleVal(many(0, 50))}),
				testObject(attrs{"id": str("i"), "items": cty.ListVal(append(many(1, 2500), many(2506, 3004)...)), "any": cty.TupleVal(append(many(0, 25), many(26, 50)...))})),
		}},
	}
}

// sends returns a function that adds a write-only attribute to the attributes that the configuration sets.
func sends(name string) func(*plan.Change) {
	return func(c *plan.Change) { c.Sent = append(c.Sent, cty.GetAttrPath(name)) }
}

// many returns the strings "item N" for the numbers N with from ≤ N < to.
func many(from, to int) []cty.Value {
	var out []cty.Value
	for i := from; i < to; i++ {
		out = append(out, str("item "+strconv.Itoa(i)))
	}
	return out
}

func TestPlanText(t *testing.T) {
	for name, p := range plans(t) {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			PlanText(&b, p, newTestSchemas(), Options{})
			checkGolden(t, "plans/"+name+".txt", b.String())
			checkSafe(t, b.String())

			var c strings.Builder
			PlanText(&c, p, newTestSchemas(), Options{Color: true})
			if plain := regexp.MustCompile("\x1b\\[[0-9]+m").ReplaceAllString(c.String(), ""); plain != b.String() {
				t.Errorf("with colours, the text is another:\n%s", lineDiff(b.String(), plain))
			}
			if name == "replace-reasons" {
				checkGolden(t, "plans/"+name+".color.txt", strings.ReplaceAll(c.String(), "\x1b", "␛"))
			}
		})
	}
}

func TestPlanTextShowsSensitive(t *testing.T) {
	p := plans(t)["sensitive"]
	var b strings.Builder
	PlanText(&b, p, newTestSchemas(), Options{})
	if strings.Contains(b.String(), "hush") {
		t.Error(b.String())
	}
	b.Reset()
	PlanText(&b, p, newTestSchemas(), Options{ShowSensitive: true})
	if strings.Contains(b.String(), "sensitive value)") {
		t.Error(b.String())
	}
}

func TestPlanJSON(t *testing.T) {
	for name, p := range plans(t) {
		t.Run(name, func(t *testing.T) {
			p.Timestamp, p.Complete = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), true
			var b bytes.Buffer
			if err := WritePlanJSON(&b, p, nil, newTestSchemas(), nil, "1.12.0"); err != nil {
				t.Fatal(err)
			}
			if !json.Valid(b.Bytes()) {
				t.Fatal(b.String())
			}
			checkSafe(t, b.String())
			var again bytes.Buffer
			_ = WritePlanJSON(&again, p, nil, newTestSchemas(), nil, "1.12.0")
			if !bytes.Equal(b.Bytes(), again.Bytes()) {
				t.Error("the same plan is written differently")
			}
			if name == "collapsed" {
				return
			}
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, b.Bytes(), "", "  "); err != nil {
				t.Fatal(err)
			}
			checkGolden(t, "plans/"+name+".json", pretty.String())
		})
	}
}

// TestScrubbedPlan checks that secrets known to the guard are removed from the text of a plan.
func TestScrubbedPlan(t *testing.T) {
	scrub := func(s string) string { return strings.ReplaceAll(s, "canary\nsong", "(scrubbed)") }
	p := &plan.Plan{Changes: []*plan.Change{
		changeOf(t, "test_thing.a", plan.Create, nothing, testObject(attrs{"id": unknownString, "tags": cty.MapVal(map[string]cty.Value{"a": str("the canary\nsong")})})),
	}, Outputs: []*plan.OutputChange{{Name: "o", Action: plan.Create, Before: nothing, After: mark.Plain(str("canary\nsong"))}}}
	var b strings.Builder
	PlanText(&b, p, newTestSchemas(), Options{Scrub: scrub})
	if strings.Contains(b.String(), "canary") {
		t.Error(b.String())
	}
}

// TestNarrow checks that sentences are wrapped on a narrow terminal and unchanged on a wide one.
func TestNarrow(t *testing.T) {
	const text = "\nThis is a sentence that somebody has broken after\neighty columns. And another one ends the line.\nThis begins one.\n  - and this is a list that is wider than all of it, as addresses are\n"
	for width, want := range map[int]string{
		0: text, 70: text,
		30: "\nThis is a sentence that\nsomebody has broken after\neighty columns. And another\none ends the line.\nThis begins one.\n  - and this is a list that is wider than all of it, as addresses are\n",
	} {
		if got := (Options{Width: width}).fit(text); got != want {
			t.Errorf("%d columns:\n%s", width, got)
		}
	}
	for name, p := range plans(t) {
		var wide, narrow strings.Builder
		PlanText(&wide, p, newTestSchemas(), Options{})
		PlanText(&narrow, p, newTestSchemas(), Options{Width: 40})
		words := func(s string) string { return strings.Join(strings.Fields(strings.ReplaceAll(s, "─", "")), " ") }
		if words(wide.String()) != words(narrow.String()) {
			t.Errorf("%s says something else at 40 columns:\n%s", name, lineDiff(wide.String(), narrow.String()))
		}
	}
}

// deferredChanges returns a change as each kind of deferral.
func deferredChanges(c *plan.Change) (out []*plan.Change) {
	for _, d := range []plan.Deferral{
		{Reason: plan.InstanceCountUnknown, Pattern: "test_thing.later[*]", After: []string{"test_thing.a"}},
		{Reason: plan.InstanceCountUnknown},
		{Reason: plan.DeferredPrereq, After: []string{"a.a", "b.b"}},
		{Reason: plan.ProviderConfigUnknown, After: []string{"a.a", "b.b", "c.c", "d.d", "e.e"}},
		{Reason: plan.AbsentPrereq},
	} {
		deferred := *c
		deferred.Deferral = &d
		out = append(out, &deferred)
	}
	return out
}
