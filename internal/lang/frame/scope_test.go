package frame

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// nowhere returns the scope of an expression that belongs to no instance.
func nowhere(t *testing.T, bag *diag.Bag) *scope {
	return newScope(frameOf(t, compile(t, "", ""), Options{}), After, bag)
}

func TestSymbolsOfNoInstanceAreUnknown(t *testing.T) {
	var bag diag.Bag
	y := symbols{nowhere(t, &bag)}
	for want, e := range map[cty.Type]*expr.Ref{
		cty.Number: {Root: expr.RootCount, Field: "index"}, cty.String: {Root: expr.RootEach, Field: "key"}, cty.DynamicPseudoType: {Root: expr.RootEach, Field: "value"},
	} {
		if v, ds := y.value(e); len(ds) > 0 || v.IsKnown() || v.Type() != want {
			t.Errorf("%v: %#v %v", want, v, ds)
		}
	}
	if v, _ := y.value(&expr.Ref{Root: expr.RootSelf}); v != cty.DynamicVal {
		t.Errorf("self is %#v", v)
	}
}

func TestSymbolsOfAnInstanceAreItsKey(t *testing.T) {
	var bag diag.Bag
	s := nowhere(t, &bag).of(nil, addr.IntKey(3))
	if v, _ := (symbols{s}).value(&expr.Ref{Root: expr.RootCount, Field: "index"}); !v.RawEquals(cty.NumberIntVal(3)) {
		t.Errorf("count.index is %#v", v)
	}
	s.pair = &eachPair{cty.Zero, cty.True} // the for_each of an import block accepts lists, whose keys are numbers
	if v, _ := (symbols{s}).value(&expr.Ref{Root: expr.RootEach, Field: "key"}); !v.RawEquals(cty.Zero) {
		t.Errorf("each.key is %#v", v)
	}
}

func TestAnIndexIsAKeyOfAnInstance(t *testing.T) {
	var bag diag.Bag
	f := frameOf(t, compile(t, "", ""), Options{})
	keys := Keys{Repeat: program.Count, List: []addr.Key{addr.IntKey(0), addr.IntKey(1)}}
	for _, c := range []struct {
		index cty.Value
		known bool
		want  string
	}{
		{cty.NumberIntVal(1), true, ""},
		{cty.StringVal("1"), true, ""},
		{cty.UnknownVal(cty.Number), false, ""},
		{cty.NumberIntVal(2), false, "greater than or equal to the length"},
		{cty.NumberIntVal(-1), false, "a negative number"},
		{cty.NumberFloatVal(0.5), false, "fractional part"},
		{cty.NullVal(cty.Number), false, "null value"},
		{cty.StringVal("x"), false, "a number is required"},
	} {
		_, known, ds := newScope(f, After, &bag).keyOf(nil, keys, c.index, hcl.Range{})
		if known != c.known || (len(ds) > 0) != (c.want != "") || len(ds) > 0 && !strings.Contains(ds[0].Detail, c.want) {
			t.Errorf("%#v: %v %v", c.index, known, ds)
		}
	}
}

// TestAMessageAboutHiddenKeysNamesNoKey checks that no similar key is suggested for an index into instances with secret
// keys.
func TestAMessageAboutHiddenKeysNamesNoKey(t *testing.T) {
	var bag diag.Bag
	for hidden, want := range map[bool]bool{false: true, true: false} {
		keys := Keys{Repeat: program.ForEach, List: []addr.Key{addr.StringKey("canary")}, Hidden: hidden}
		_, _, ds := newScope(frameOf(t, compile(t, "", ""), Options{}), After, &bag).keyOf(nil, keys, cty.StringVal("canery"), hcl.Range{})
		if len(ds) != 1 || strings.Contains(ds[0].Detail, "canary") != want {
			t.Errorf("hidden %v: %v", hidden, ds)
		}
	}
}

func TestOutputsOfADisabledModuleAreNull(t *testing.T) {
	f := frameOf(t, compile(t, "module \"m\" {\n source = \"./m\"\n lifecycle {\n  enabled = false\n }\n}\nlocals {\n whole = module.m\n one = module.m.o\n}", "output \"o\" { value = 1 }"), Options{})
	if v, o, detail := local(f, "whole", After); o != OK || !v.Raw.IsNull() {
		t.Error(v.Raw, o, detail)
	}
	if _, o, detail := local(f, "one", After); o != Broken || detail != "Attempt to get attribute from null value" {
		t.Error(o, detail)
	}
}

func TestAnOutputOfTheRootThatIsSensitiveSaysSo(t *testing.T) {
	for declared, want := range map[string]Status{"true": OK, "false": Broken} {
		f := frameOf(t, compile(t, "variable \"v\" {\n sensitive = true\n}\noutput \"o\" {\n value = var.v\n sensitive = "+declared+"\n}", ""), Options{Variables: text("x")})
		var bag diag.Bag
		if _, o := f.Named(program.Output, "o", After, &bag); o != want {
			t.Errorf("sensitive = %s: %v %v", declared, o, bag.List())
		}
	}
}

func TestAVariableThatIsNotEphemeralRefusesEphemeralValues(t *testing.T) {
	var bag diag.Bag
	p := compile(t, "variable \"v\" {}", "")
	f := frameOf(t, p, Options{Variables: text("x")})
	i, _ := p.Root().Unit.Index(program.Variable, "v")
	s := newScope(f, After, &bag)
	s.Marked = true
	given := mark.With(cty.StringVal("canary"), mark.Ephemeral, nil)
	e := program.Native(hcl.StaticExpr(cty.True, hcl.Range{}))
	inputVariable{s, p.Root().Unit.Defs[i]}.accept(p.Root(), given, e)
	if list := bag.List(); len(list) != 1 || list[0].Summary != "Invalid usage of ephemeral value" || strings.Contains(list[0].Detail, "canary") {
		t.Error(list)
	}
}

func TestAnEmptiedSlotIsReadAgain(t *testing.T) {
	o := &object{}
	o.put(addr.NoKey, &slot{})
	o.whole.Store(&whole{})
	o.put(addr.NoKey, nil)
	if o.slot(addr.NoKey) != nil || o.whole.Load() != nil || o.puts.Load() != 2 {
		t.Errorf("slot %v, whole %v, puts %d", o.slot(addr.NoKey), o.whole.Load(), o.puts.Load())
	}
}

func TestAConsoleListsNoNamesOfASecret(t *testing.T) {
	f := frameOf(t, compile(t, "locals {\n open = { a = 1, b = 2 }\n secret = sensitive(local.open)\n}", ""), Options{})
	c := NewConsole(f, After)
	if got := strings.Join(c.Members("local.open"), " "); got != "a b" {
		t.Errorf("%q", got)
	}
	if got := c.Members("local.secret"); got != nil {
		t.Errorf("%q", got)
	}
}

func TestAConsoleRefusesInputThatIsTooLong(t *testing.T) {
	var bag diag.Bag
	f := frameOf(t, compile(t, "", ""), Options{})
	if _, o := NewConsole(f, After).Eval([]byte(strings.Repeat(" ", LongestInput)+"1"), "x", &bag); o != Broken || bag.List()[0].Summary != "Expression too long" {
		t.Error(o, bag.List())
	}
}

// TestACheckerFindsAnArgumentThatBreaksARule checks that validation reports a constant argument that violates a rule.
func TestACheckerFindsAnArgumentThatBreaksARule(t *testing.T) {
	for given, want := range map[string]Status{"good": OK, "bad": Broken} {
		f := frameOf(t, compile(t, "module \"m\" {\n source = \"./m\"\n v = \""+given+"\"\n}", "variable \"v\" {\n validation {\n  condition = var.v == \"good\"\n  error_message = \"No.\"\n }\n}"), Options{Validate: true})
		var bag diag.Bag
		if o := NewChecker(f).Inputs(the(t, f, program.Call, "m"), &bag); o != want || bag.HasErrors() != (want == Broken) {
			t.Errorf("%s: %v %v", given, o, bag.List())
		}
	}
}
