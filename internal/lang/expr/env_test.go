package expr

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// names is a Scope in which the value of a reference is the element with the index Local of the reference. The instance
// with a key is the element of this value with the key.
type names []cty.Value

func (n names) Value(e *Ref) (cty.Value, hcl.Diagnostics) { return n[e.Local], nil }

func (n names) Instance(e *Ref, key cty.Value, at hcl.Range) (cty.Value, hcl.Diagnostics) {
	unmarked, _ := mark.Unmark(key)
	return hcl.Index(n[e.Local], unmarked, &at)
}

func (names) Sample(*Ref) (cty.Value, bool) { return cty.NilVal, false }

func (names) Call(e *ProviderCall, _ *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	return cty.StringVal(e.Name), nil
}

// few is a Meter with a limit of elements and of bytes of text.
type few struct{ elements, text int }

func (f *few) Element(hcl.Range) bool              { f.elements--; return f.elements >= 0 }
func (f *few) Work(int, cty.Value, hcl.Range) bool { return true }
func (f *few) Keep(*int, cty.Value, hcl.Range) bool {
	return true
}
func (f *few) TextLimit() int { return f.text }
func (f *few) Exceeded() bool { return false }

// in returns an evaluation and its bag of diagnostics. In the evaluation, a reference with the Local index i has the
// value values[i]. The limits are 1000 elements, and texts of 1000 bytes.
func in(values ...cty.Value) (*Env, *diag.Bag) {
	bag := &diag.Bag{}
	v := NewEnv(bag)
	v.Scope, v.Meter = names(values), &few{1000, 1000}
	return v, bag
}

func reference(n int32) *Ref {
	return &Ref{ScopeTraversalExpr: &hclsyntax.ScopeTraversalExpr{Traversal: hcl.Traversal{hcl.TraverseRoot{Name: "local"}, hcl.TraverseAttr{Name: "x"}}}, Root: RootLocal, Local: n}
}

func literal(v cty.Value) hclsyntax.Expression { return &hclsyntax.LiteralValueExpr{Val: v} }

var (
	why    = &mark.Origin{What: "var.e"}
	secret = mark.With(cty.StringVal("s"), mark.Ephemeral, why)
)

// TestConditionalKeepsMarks checks that the result has the marks of the condition and of both arms.
func TestConditionalKeepsMarks(t *testing.T) {
	for name, cond := range map[string]cty.Value{"known": cty.True, "unknown": cty.UnknownVal(cty.Bool)} {
		v, bag := in(cond, secret)
		got := v.Eval(&Conditional{ConditionalExpr: &hclsyntax.ConditionalExpr{Condition: reference(0), TrueResult: literal(cty.StringVal("a")), FalseResult: reference(1)}})
		if bag.Len() > 0 || !mark.Is(got, mark.Ephemeral) {
			t.Errorf("%s: %#v %v", name, got, bag.List())
		}
	}
}

// TestIndexKeepsMarks checks that an ephemeral index makes the result ephemeral, which the library does not do.
func TestIndexKeepsMarks(t *testing.T) {
	v, bag := in(cty.ObjectVal(map[string]cty.Value{"s": cty.StringVal("x")}), secret)
	got := v.Eval(&Index{IndexExpr: &hclsyntax.IndexExpr{Collection: reference(0), Key: reference(1)}})
	if bag.Len() > 0 || !mark.Is(got, mark.Ephemeral) {
		t.Errorf("%#v %v", got, bag.List())
	}
}

// TestNullTestDropsInnerMarks checks that a comparison with null ignores marks inside the value.
func TestNullTestDropsInnerMarks(t *testing.T) {
	v, _ := in(cty.ObjectVal(map[string]cty.Value{"s": secret}))
	got := v.Eval(&NullTest{BinaryOpExpr: &hclsyntax.BinaryOpExpr{LHS: reference(0), RHS: literal(cty.NullVal(cty.DynamicPseudoType)), Op: hclsyntax.OpNotEqual}})
	if got.IsMarked() || got.False() {
		t.Errorf("%#v", got)
	}
}

// TestObjectRemembersNames checks that attribute names made from ephemeral text are recorded, because types have no
// marks.
func TestObjectRemembersNames(t *testing.T) {
	v, _ := in(secret)
	got := v.Eval(NewObject(&hclsyntax.ObjectConsExpr{Items: []hclsyntax.ObjectConsItem{{KeyExpr: reference(0), ValueExpr: literal(cty.True)}}}))
	if !mark.Is(got, mark.Ephemeral) || !v.Names.Has("s") || v.Names.Has("x") {
		t.Errorf("%#v", got)
	}
}

// TestMeter checks that a meter stops loops and templates.
func TestMeter(t *testing.T) {
	v, bag := in(cty.TupleVal([]cty.Value{cty.StringVal("aa"), cty.StringVal("bb"), cty.StringVal("cc")}))
	v.Meter = &few{2, 3}
	loop := &For{ForExpr: &hclsyntax.ForExpr{ValVar: "x", CollExpr: reference(0), ValExpr: literal(cty.True)}}
	if got := v.Eval(loop); got.IsKnown() {
		t.Errorf("%#v", got)
	}
	if bag.Len() > 0 {
		t.Error("the meter reports, not the node")
	}
	v.Eval(&Template{TemplateExpr: &hclsyntax.TemplateExpr{Parts: []hclsyntax.Expression{literal(cty.StringVal("ab")), literal(cty.StringVal("cd"))}}})
	if l := bag.List(); len(l) != 1 || l[0].Summary != "Template result too long" {
		t.Error(l)
	}
}

// TestSuggestion checks that a misspelt name gets a suggestion, unless the names are marked.
func TestSuggestion(t *testing.T) {
	for hidden, want := range map[bool]string{false: " Did you mean \"length\"?", true: ""} {
		object := cty.ObjectVal(map[string]cty.Value{"length": cty.True})
		if hidden {
			object = mark.With(object, mark.Sensitive, why)
		}
		v, bag := in(object)
		e := reference(0)
		e.Rest = hcl.Traversal{hcl.TraverseAttr{Name: "lenght"}}
		v.Eval(e)
		l := bag.List()
		if len(l) != 1 || !v.Broken {
			t.Fatal(l)
		}
		if got := l[0].Detail[len(l[0].Detail)-len(want):]; got != want || hidden && len(l[0].Detail) > 70 {
			t.Error(l[0].Detail)
		}
	}
}
