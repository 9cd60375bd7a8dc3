package frame

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/program/programtest"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/zclconf/go-cty/cty"
)

// none returns empty schemas, for modules without resources.
type none struct{}

func (none) Of(addr.Provider) *provider.Schemas { return provider.NewSchemas(nil) }

// compile compiles a module and binds it without schemas. If called is not empty, it is the text of a module in the
// directory m.
func compile(t *testing.T, root, called string) *program.Program {
	t.Helper()
	p := programtest.Compile(t, root, called)
	p.Bind(none{}.Of, false, &diag.Bag{})
	return p
}

func frameOf(t *testing.T, p *program.Program, o Options) *Frame {
	t.Helper()
	var bag diag.Bag
	f, ok := New(p, o, &bag)
	if !ok {
		t.Fatal(bag.List())
	}
	return f
}

// TestSteady checks that a declaration whose values on the faces Before and After are equal (Options.Steady) has one
// cell (a memorized value) for both.
func TestSteady(t *testing.T) {
	f := frameOf(t, compile(t, `locals { a = path.root }`, ""), Options{Steady: func(program.Decl) bool { return true }})
	f.Named(program.Local, "a", After, &diag.Bag{})
	if f.vals[Before].got.Load() == nil || f.vals[After].got.Load() != nil {
		t.Error("not shared")
	}
}

// TestConstantsAreComputedOnce checks that a constant has one value in all walks, in all instances of a module, and on
// both faces. If the shortcut for constants is disabled, each frame (a module instance in a walk) computes a separate
// value.
func TestConstantsAreComputedOnce(t *testing.T) {
	p := compile(t, "module \"m\" {\n source = \"./m\"\n count = 2\n}", "locals {\n constant = [for x in [\"a\", \"b\"] : upper(x)]\n}\noutput \"out\" { value = local.constant }")
	m := addr.Module{}.Child("m")
	i, _ := p.Node(m).Unit.Index(program.Local, "constant")
	d := p.Node(m).Unit.Defs[i]
	var first *result
	for _, closed := range []shortcut.Set{0, 0, shortcut.Constants} {
		var bag diag.Bag
		frames, _ := frameOf(t, p, Options{Closed: closed}).Expand(m, After, &bag)
		if len(frames) != 2 {
			t.Fatal(len(frames))
		}
		for _, f := range frames {
			for _, face := range []Face{Before, After} {
				v, o := f.Named(program.Output, "out", face, &bag)
				if o != OK || !v.Raw.RawEquals(cty.TupleVal([]cty.Value{cty.StringVal("A"), cty.StringVal("B")})) {
					t.Errorf("%#v %v", v.Raw, o)
				}
				got := f.value(d, face, nil)
				if first == nil {
					first = got
				}
				if (got == first) == (closed != 0) {
					t.Errorf("closed %q: the first value: %v", closed, got == first)
				}
			}
		}
	}
}

// TestRepetitionIsRemembered checks that a repetition is evaluated once.
func TestRepetitionIsRemembered(t *testing.T) {
	f := frameOf(t, compile(t, "module \"m\" {\n source = \"./m\"\n for_each = { a = 1 }\n}", ""), Options{})
	i, _ := f.u.Index(program.Call, "m")
	d := f.u.Defs[i]
	first := f.repeat(d, After, nil)
	if len(first.List) != 1 || f.repeat(d, After, nil) != first {
		t.Errorf("%v", first.Keys)
	}
}

// TestSetKeys checks that SetKeys replaces the keys of the configuration, or extends them if More is set.
func TestSetKeys(t *testing.T) {
	p := compile(t, "module \"m\" {\n source = \"./m\"\n for_each = { a = 1 }\n}", "")
	call, _ := p.Lookup(addr.Module{}, program.Call, "m")
	for more, want := range map[bool]int{false: 1, true: 2} {
		f := frameOf(t, p, Options{})
		f.SetKeys(call.ID, After, Keys{Repeat: program.ForEach, List: []addr.Key{addr.StringKey("b")}, More: more})
		if k := f.Keys(call.ID, After, &diag.Bag{}); len(k.List) != want {
			t.Errorf("more %v: %v", more, k.List)
		}
	}
}

// TestBrokenCell checks that each reader of a declaration whose evaluation failed gets its diagnostics and fails, too.
func TestBrokenCell(t *testing.T) {
	f := frameOf(t, compile(t, "locals {\n a = tonumber(\"x\")\n b = local.a\n}", ""), Options{})
	for _, name := range []string{"a", "b", "a"} {
		var bag diag.Bag
		if _, o := f.Named(program.Local, name, After, &bag); o != Broken || bag.Len() != 1 {
			t.Error(name, o, bag.List())
		}
	}
}

// TestGuardIsAsked checks that the run's secret guard gets the values of ephemeral variables unchanged.
func TestGuardIsAsked(t *testing.T) {
	p := compile(t, "variable \"e\" {\n ephemeral = true\n type = string\n}\nlocals { a = upper(var.e) }", "")
	seen := &guard{}
	f := frameOf(t, p, Options{Run: seen, Variables: map[string]Given{"e": {Value: cty.StringVal("canary")}}})
	v, o := f.Named(program.Local, "a", After, &diag.Bag{})
	if o != OK || !v.Has(mark.Ephemeral) || len(seen.values) != 1 || seen.values[0].RawEquals(cty.StringVal("CANARY")) {
		t.Error(o, v, seen.values)
	}
}

type guard struct {
	NoRun
	values []cty.Value
}

func (g *guard) Guard(_ addr.ModuleInstance, _ string, v cty.Value) { g.values = append(g.values, v) }
