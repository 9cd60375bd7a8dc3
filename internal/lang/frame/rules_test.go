package frame

import (
	"context"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/program/programtest"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/builtin/terraform"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// withResources returns a frame of a module whose resources have the type terraform_data.
func withResources(t *testing.T, root, called string, o Options) *Frame {
	t.Helper()
	p := programtest.Compile(t, root, called)
	schemas, _ := terraform.New(nil, nil).Schemas(context.Background())
	p.Bind(func(addr.Provider) *provider.Schemas { return schemas }, false, &diag.Bag{})
	return frameOf(t, p, o)
}

// local evaluates a local value. It also returns the titles of the diagnostics.
func local(f *Frame, name string, face Face) (mark.Value, Status, string) {
	var bag diag.Bag
	v, o := f.Named(program.Local, name, face, &bag)
	var titles []string
	for _, d := range bag.List() {
		titles = append(titles, d.Summary)
	}
	return v, o, strings.Join(titles, ", ")
}

// the is a function that returns the declaration of the root module with this kind, and with this name or text. If no
// declaration matches, the test fails.
func the(t *testing.T, f *Frame, kind program.Kind, name string) program.Decl {
	t.Helper()
	for _, d := range f.Program().Decls() {
		if d.Kind == kind && (d.Name == name || d.String() == name) && d.Module == (addr.Module{}) {
			return d.ID
		}
	}
	t.Fatalf("no %s", name)
	return 0
}

func text(s string) map[string]Given { return map[string]Given{"v": {Value: cty.StringVal(s)}} }

// data returns an object of the type terraform_data whose input and output are the given text.
func data(output string) mark.Value {
	return mark.Plain(cty.ObjectVal(map[string]cty.Value{
		"id": cty.StringVal("i"), "input": cty.StringVal(output), "output": cty.StringVal(output), "triggers_replace": cty.NullVal(cty.DynamicPseudoType),
	}))
}

// with returns a copy of an object, without marks, with one attribute set to a value.
func with(v mark.Value, name string, to cty.Value) mark.Value {
	attrs := v.Raw.AsValueMap()
	attrs[name] = to
	return mark.Plain(cty.ObjectVal(attrs))
}

func TestSensitiveVariableMarksWhatIsMadeOfIt(t *testing.T) {
	f := frameOf(t, compile(t, "variable \"v\" {\n sensitive = true\n}\nlocals {\n a = \"x-${var.v}\"\n b = nonsensitive(local.a)\n c = length(var.v)\n}", ""), Options{Variables: text("abc")})
	for name, want := range map[string]bool{"a": true, "b": false, "c": true} {
		if v, o, _ := local(f, name, After); o != OK || v.Has(mark.Sensitive) != want {
			t.Errorf("%s: %v %v", name, o, v.Marks)
		}
	}
}

func TestVariableIsConvertedToItsType(t *testing.T) {
	const v = "variable \"v\" {\n type = number\n}\nlocals { a = var.v + 1 }"
	f := frameOf(t, compile(t, v, ""), Options{Variables: text("41")})
	if v, o, detail := local(f, "a", After); o != OK || !v.Raw.RawEquals(cty.NumberIntVal(42)) {
		t.Error(o, v.Raw, detail)
	}
	var bag diag.Bag
	if _, ok := New(compile(t, v, ""), Options{Variables: text("x")}, &bag); ok || bag.List()[0].Summary != "Invalid value for input variable" {
		t.Error(ok, bag.List())
	}
}

// TestNullIsTheDefaultOfAVariableThatIsNotNullable checks that null becomes the default.
func TestNullIsTheDefaultOfAVariableThatIsNotNullable(t *testing.T) {
	for nullable, want := range map[string]cty.Value{"true": cty.NullVal(cty.String), "false": cty.StringVal("d")} {
		p := compile(t, "module \"m\" {\n source = \"./m\"\n v = null\n}\nlocals { a = module.m.o }", "variable \"v\" {\n type = string\n default = \"d\"\n nullable = "+nullable+"\n}\noutput \"o\" { value = var.v }")
		if v, o, detail := local(frameOf(t, p, Options{}), "a", After); o != OK || !v.Raw.RawEquals(want) {
			t.Errorf("nullable %s: %v %#v %s", nullable, o, v.Raw, detail)
		}
	}
}

func TestValidationFailsForABadValue(t *testing.T) {
	const v = "variable \"v\" {\n validation {\n  condition = var.v == \"good\"\n  error_message = \"Not ${var.v}.\"\n }\n}"
	for given, want := range map[string]state.Status{"good": state.Pass, "bad": state.Fail} {
		f := frameOf(t, compile(t, v, ""), Options{Variables: text(given)})
		var bag diag.Bag
		got := f.Conditions(the(t, f, program.Variable, "v"), addr.NoKey, program.Validation, nil, &bag)
		if len(got) != 1 || got[0].Status != want || bag.HasErrors() != (want == state.Fail) {
			t.Errorf("%s: %+v %v", given, got, bag.List())
		}
		if want == state.Fail && got[0].Message != "Not bad." {
			t.Error(got[0].Message)
		}
	}
}

func TestMessageOfACheckHasNoSensitiveValues(t *testing.T) {
	f := frameOf(t, compile(t, "variable \"v\" {\n sensitive = true\n validation {\n  condition = var.v == \"good\"\n  error_message = \"Not ${var.v}.\"\n }\n}", ""), Options{Variables: text("canary")})
	var bag diag.Bag
	got := f.Conditions(the(t, f, program.Variable, "v"), addr.NoKey, program.Validation, nil, &bag)
	if len(got) != 1 || got[0].Status != state.Fail || strings.Contains(got[0].Message, "canary") {
		t.Errorf("%+v", got)
	}
	for _, d := range bag.List() {
		if strings.Contains(d.Summary+d.Detail, "canary") {
			t.Error(d)
		}
	}
}

// TestRepetitionIsChecked checks that unknown, sensitive and invalid values for a repetition are reported.
func TestRepetitionIsChecked(t *testing.T) {
	for repeat, want := range map[string]struct {
		status Status
		n      int
		want   string
	}{
		"count = 2":                             {Known, 2, ""},
		"count = 0":                             {Known, 0, ""},
		"count = -1":                            {Failed, 0, "Invalid count argument"},
		"count = null":                          {Failed, 0, "Invalid count argument"},
		"for_each = { a = 1, b = 2 }":           {Known, 2, ""},
		"for_each = toset([\"a\"])":             {Known, 1, ""},
		"for_each = [\"a\"]":                    {Failed, 0, "Invalid for_each argument"},
		"for_each = null":                       {Failed, 0, "Invalid for_each argument"},
		"for_each = sensitive({ a = 1 })":       {Failed, 0, "Invalid for_each argument"},
		"count = terraform_data.r.output":       {Unknown, 0, "Invalid count argument"},
		"for_each = { (uuid()) = 1, b = \"x\"}": {Unknown, 0, "Invalid for_each argument"},
	} {
		f := withResources(t, "resource \"terraform_data\" \"r\" {}\nmodule \"m\" {\n source = \"./m\"\n "+repeat+"\n}", "locals {}", Options{Pure: true})
		f.Put(the(t, f, program.Resource, "terraform_data.r"), addr.NoKey, After, with(data("x"), "output", cty.UnknownVal(cty.Number)))
		var bag diag.Bag
		k := f.Keys(the(t, f, program.Call, "m"), After, &bag)
		detail := ""
		if bag.Len() > 0 {
			detail = bag.List()[0].Summary
		}
		if k.Status != want.status || len(k.List) != want.n && k.Status == Known || detail != want.want {
			t.Errorf("%s: %+v %q", repeat, k, detail)
		}
	}
}

// TestFacesHaveTheirOwnValues checks that a reference on the Before face reads the prior value of an object, and on the
// After face the planned value.
func TestFacesHaveTheirOwnValues(t *testing.T) {
	f := withResources(t, "resource \"terraform_data\" \"r\" {}\nlocals { a = terraform_data.r.output }", "", Options{})
	r := the(t, f, program.Resource, "terraform_data.r")
	f.Put(r, addr.NoKey, Before, data("was"))
	f.Put(r, addr.NoKey, After, data("is"))
	for face, want := range map[Face]string{Before: "was", After: "is"} {
		if v, o, detail := local(f, "a", face); o != OK || !v.Raw.RawEquals(cty.StringVal(want)) {
			t.Errorf("%v %#v %s", o, v.Raw, detail)
		}
	}
}

// TestFailureIsReportedOnce checks that evaluations that depend on a failed object fail without a further error.
func TestFailureIsReportedOnce(t *testing.T) {
	f := withResources(t, "resource \"terraform_data\" \"r\" {}\nlocals { a = terraform_data.r.output }", "", Options{})
	f.Fail(the(t, f, program.Resource, "terraform_data.r"), addr.NoKey, After)
	if _, o, detail := local(f, "a", After); o != Failed || detail != "" {
		t.Error(o, detail)
	}
}

func TestReferenceToAnInstanceThatIsNotThereIsAnError(t *testing.T) {
	f := withResources(t, "resource \"terraform_data\" \"r\" {\n count = 1\n}\nlocals { a = terraform_data.r[1].id }", "", Options{})
	r := the(t, f, program.Resource, "terraform_data.r")
	f.SetKeys(r, After, Keys{Repeat: program.Count, List: []addr.Key{addr.IntKey(0)}})
	f.Put(r, addr.IntKey(0), After, data("x"))
	if _, o, detail := local(f, "a", After); o != Broken || detail != "Invalid index" {
		t.Error(o, detail)
	}
}

// TestImpureFunctionsAreUnknownWhilePlanning checks that functions whose result changes from call to call are unknown
// during plan, so that the plan is valid for apply.
func TestImpureFunctionsAreUnknownWhilePlanning(t *testing.T) {
	for _, pure := range []bool{true, false} {
		f := frameOf(t, compile(t, "locals {\n a = uuid()\n b = timestamp()\n}", ""), Options{Pure: pure})
		for _, name := range []string{"a", "b"} {
			if v, o, detail := local(f, name, After); o != OK || v.Raw.IsKnown() == pure {
				t.Errorf("pure %v: %#v %s", pure, v.Raw, detail)
			}
		}
	}
}

func TestPathOfAModuleIsRelativeToTheRoot(t *testing.T) {
	p := compile(t, "module \"m\" { source = \"./m\" }\nlocals {\n a = module.m.o\n}", "output \"o\" { value = path.module }")
	if v, o, detail := local(frameOf(t, p, Options{}), "a", After); o != OK || !v.Raw.RawEquals(cty.StringVal("m")) {
		t.Errorf("%v %#v %s", o, v.Raw, detail)
	}
}

func TestEphemeralValuesNeedEphemeralOutputs(t *testing.T) {
	const called = "variable \"v\" {\n ephemeral = true\n}\noutput \"o\" {\n value = var.v\n ephemeral = "
	for ephemeral, want := range map[string]string{"true": "", "false": "Output not marked as ephemeral"} {
		f := frameOf(t, compile(t, "module \"m\" {\n source = \"./m\"\n v = \"x\"\n}\nlocals { a = module.m.o }", called+ephemeral+"\n}"), Options{})
		v, o, detail := local(f, "a", After)
		if detail != want || (o == OK) != (want == "") || o == OK && !v.Has(mark.Ephemeral) {
			t.Errorf("ephemeral %s: %v %q %v", ephemeral, o, detail, v.Marks)
		}
	}
}

func TestTriggersNameObjectsAndAttributes(t *testing.T) {
	f := withResources(t, "resource \"terraform_data\" \"a\" {\n count = 1\n}\nresource \"terraform_data\" \"r\" {\n lifecycle {\n  replace_triggered_by = [terraform_data.a[0].output, terraform_data.a[1]]\n }\n}", "", Options{})
	var bag diag.Bag
	got, o := f.Triggers(the(t, f, program.Resource, "terraform_data.r"), addr.NoKey, &bag)
	if o != OK || len(got) != 2 || got[0].Undeclared || !got[1].Undeclared || got[0].Key != addr.IntKey(0) {
		t.Errorf("%v %+v %v", o, got, bag.List())
	}
}

func TestPreventDestroyIsEvaluated(t *testing.T) {
	for given, want := range map[string]bool{"true": true, "false": false} {
		f := withResources(t, "variable \"v\" {\n type = bool\n}\nresource \"terraform_data\" \"r\" {\n lifecycle {\n  prevent_destroy = var.v\n }\n}", "", Options{Variables: text(given)})
		var bag diag.Bag
		if got, o := f.PreventDestroy(the(t, f, program.Resource, "terraform_data.r"), addr.NoKey, After, &bag); o != OK || got != want {
			t.Errorf("%s: %v %v %v", given, got, o, bag.List())
		}
	}
}
