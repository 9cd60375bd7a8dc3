package lang

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

// flowConfig declares ephemeral and plain values.
const flowConfig = `
variable "s" {
  type      = string
  ephemeral = true
}
variable "n" {
  type      = number
  ephemeral = true
}
variable "b" {
  type      = bool
  ephemeral = true
}
variable "l" {
  type      = list(string)
  ephemeral = true
}
variable "m" {
  type      = map(string)
  ephemeral = true
}
locals {
  obj  = { a = "x", b = [1, 2], s = var.s }
  strs = ["a", "b", var.s]
  nums = [0, 1, 2]
  map  = tomap({ a = "x", zz = "y" })
  deep = { k = { inner = [var.s, "clean"] } }
}
`

// secrets returns one of two sets of values for the ephemeral variables. No value is in both sets.
func secrets(i int) map[string]frame.Given {
	if i == 0 {
		return map[string]frame.Given{
			"s": str("a"), "n": {Value: cty.NumberIntVal(0)}, "b": {Value: cty.True},
			"l": {Value: cty.ListVal([]cty.Value{cty.StringVal("a")})},
			"m": {Value: cty.MapVal(map[string]cty.Value{"a": cty.StringVal("1")})},
		}
	}
	return map[string]frame.Given{
		"s": str("zz"), "n": {Value: cty.NumberIntVal(1)}, "b": {Value: cty.False},
		"l": {Value: cty.ListVal([]cty.Value{cty.StringVal("zz"), cty.StringVal("b")})},
		"m": {Value: cty.MapVal(map[string]cty.Value{"zz": cty.StringVal("2"), "b": cty.StringVal("3")})},
	}
}

// exprGen generates expressions of any type.
func exprGen(depth int) *rapid.Generator[string] {
	leaf := rapid.SampledFrom([]string{
		`var.s`, `var.n`, `var.b`, `var.l`, `var.m`, `local.obj`, `local.strs`, `local.nums`, `local.map`, `local.deep`,
		`local.obj.a`, `local.obj.s`, `local.strs[0]`, `local.strs[2]`, `local.deep.k.inner[1]`,
		`"a"`, `"zz"`, `0`, `1`, `true`, `null`, `[]`, `{}`, `["a", "b"]`, `{ a = 1, zz = 2 }`,
	})
	if depth == 0 {
		return leaf
	}
	return rapid.Custom(func(t *rapid.T) string {
		sub := func() string { return exprGen(depth-1).Draw(t, "e") }
		shape := rapid.SampledFrom(shapes).Draw(t, "shape")
		for strings.Contains(shape, "E") {
			shape = strings.Replace(shape, "E", strings.ToLower(sub()), 1)
		}
		return shape
	})
}

// shapes lists ways to combine expressions. An E is replaced by a generated expression. The rest of a shape has no
// upper-case E.
var shapes = []string{
	`var.s`, `local.obj`, `E`,
	`(E ? E : E)`, `(E == E)`, `(E != E)`, `(E && E)`, `(E || E)`, `!E`, `(E + E)`, `(E > E)`,
	`(E == null ? E : E)`, `(E != null)`,
	`[E, E]`, `{ a = E, b = E }`, `{ (E) = E }`, `{ (E) = E, zz = E }`, `E[E]`, `[E, E][E]`, `{ a = E, zz = E }[E]`,
	`"x${E}y"`, `"${E}${E}"`, `"%{if E}x%{else}y%{endif}"`, `"%{for x in E}${x}%{endfor}"`, `"%{for x in E}-%{endfor}"`,
	`[for x in E : x]`, `[for x in E : E]`, `[for x in E : x if E]`, `[for x in E : x if x == E]`,
	`{ for k, v in E : k => v }`, `{ for k, v in E : v => k }`, `{ for x in E : E => x... }`, `{ for k, v in E : k => v if v == E }`,
	`E[*]`, `E[*].a`, `E.a`, `E[0]`, `E["a"]`, `tolist(E)[0]`,
	`upper(E)`, `length(E)`, `contains(E, E)`, `keys(E)`, `values(E)`, `merge(E, E)`, `concat(E, E)`, `lookup(E, E, E)`,
	`try(E, E)`, `can(E)`, `issensitive(E)`, `toset(E)`, `tolist(E)`, `tomap(E)`, `tostring(E)`, `tonumber(E)`,
	`jsonencode(E)`, `coalesce(E, E)`, `format("%v", E)`, `format("%s-%s", E, E)`, `element(E, E)`, `sort(E)`, `join(",", E)`,
	`split(E, E)`, `distinct(E)`, `flatten([E, E])`, `index(E, E)`, `one(E)`, `reverse(E)`, `slice(E, 0, E)`, `zipmap(E, E)`,
	`max(E, E)`, `compact(E)`, `coalescelist(E, E)`, `setunion(E, E)`, `setproduct(E, E)`, `matchkeys(E, E, E)`, `transpose(E)`,
	`alltrue(E)`, `anytrue(E)`, `sum(E)`, `range(E)`, `startswith(E, E)`, `strcontains(E, E)`, `regex(E, E)`, `replace(E, E, E)`,
	`substr(E, 0, E)`, `trimprefix(E, E)`, `title(E)`, `chunklist(E, E)`, `sensitive(E)`, `nonsensitive(E)`, `base64encode(E)`, `sha256(E)`,
	`ephemeralasnull(E)`, `try(E[E], E)`, `can(E[E])`, `[for x in E : can(x == E)]`, `length([for x in E : x if x == E])`,
	`length({ (E) = 1 })`, `[E...]`, `merge([E, E]...)`, `max(E...)`, `keys({ (E) = E })`,
	`can([E])`, `can({ k = E })`, `can("x${E}")`, `can([E][0].a)`, `can([for x in [E] : x.a])`, `can([for x in [E] : x[0]])`,
	`can("%{for x in E}${x}%{endfor}")`, `can(true ? [E] : [1])`,
}

// flows evaluates an expression with both sets of secrets.
type flows struct{ plain [2]*frame.Frame }

func newFlows(t testing.TB) (flows, *frame.Frame) {
	p := check(t, flowConfig)
	var out flows
	var bag diag.Bag
	for i := range out.plain {
		out.plain[i], _ = frame.New(p, frame.Options{Variables: secrets(i)}, &bag)
	}
	v, _ := frame.New(p, frame.Options{Validate: true}, &bag)
	return out, v
}

func value(f *frame.Frame, src string) (mark.Value, bool) {
	e, diags := hclsyntax.ParseExpression([]byte(src), "x.tf", diag.Pos{Line: 1, Column: 1})
	if diags.HasErrors() {
		return mark.Value{}, false
	}
	var bag diag.Bag
	v, o := f.Eval(e, frame.Scope{}, frame.After, &bag)
	return v, o == frame.OK
}

// TestNoExpressionLosesEphemeralMarks checks that the parts of a result that are not ephemeral are the same for other
// secrets.
func TestNoExpressionLosesEphemeralMarks(t *testing.T) {
	both, validate := newFlows(t)
	rapid.Check(t, func(t *rapid.T) {
		src := exprGen(3).Draw(t, "expr")
		a, ok := value(both.plain[0], src)
		if !ok {
			return
		}
		b, ok := value(both.plain[1], src)
		if !ok {
			return
		}
		if why := differ(a.Join(), b.Join(), nil); why != "" {
			t.Fatalf("%s\ndepends on what is ephemeral: %s\n%#v\n%#v", src, why, a, b)
		}
		if v, ok := value(validate, src); ok && a.Has(mark.Ephemeral) && !v.Has(mark.Ephemeral) && !clean(v.Raw) {
			t.Fatalf("%s\nis ephemeral, but not while validating: %#v", src, v)
		}
	})
}

// TestAttemptsKeepMarksOfTheirParts checks that the success of an expression with an ephemeral value inside stays
// ephemeral, because it is a fact about the value.
func TestAttemptsKeepMarksOfTheirParts(t *testing.T) {
	both, _ := newFlows(t)
	for _, src := range []string{
		`can([regex("^a", var.s)])`, `can({ k = regex("^a", var.s) })`, `can({ k = [regex("^a", var.s)] }.k)`,
		`try([regex("^a", var.s)], "none")`, `can(regex("^a", var.s) == null)`, `can("x${var.s == "a" ? null : "b"}")`,
		`can([for x in [{ (var.s) = 1 }] : x.a])`, `can([for x in [var.l] : x[1]])`,
		`can("%{for x in [var.s == "a" ? null : "b"]}${x}%{endfor}")`, `can(true ? [[var.s, {}][var.n]] : [1])`,
		`can([{ (var.s) = tobool(var.s), zz = var.s }])`,
	} {
		for i, f := range both.plain {
			if v, ok := value(f, src); !ok || !v.Has(mark.Ephemeral) {
				t.Errorf("%s is %#v, %t with the secrets %d", src, v, ok, i)
			}
		}
	}
}

// clean reports whether a value of the validation is wholly known. Such a value may lack the ephemeral mark of the
// plan's value, because a conditional may have taken the other branch.
func clean(v cty.Value) bool { return v.IsWhollyKnown() }

// differ describes the first difference between two values, with its path, or returns "". It ignores parts
// that are ephemeral in both values. A part that is ephemeral in only one value is a difference.
func differ(a, b cty.Value, path []string) string {
	at := strings.Join(path, ".")
	ae, be := mark.Is(a, mark.Ephemeral), mark.Is(b, mark.Ephemeral)
	if ae || be {
		if ae && be {
			return ""
		}
		return at + ": marked in one only"
	}
	a, _ = mark.Unmark(a)
	b, _ = mark.Unmark(b)
	if !a.IsKnown() || !b.IsKnown() || a.IsNull() || b.IsNull() || a.Type().IsPrimitiveType() || b.Type().IsPrimitiveType() {
		if a.IsKnown() == b.IsKnown() && (!a.IsKnown() || a.IsNull() == b.IsNull() && (a.IsNull() || a.RawEquals(b))) {
			return ""
		}
		return fmt.Sprintf("%s: %#v and %#v", at, a, b)
	}
	if a.LengthInt() != b.LengthInt() {
		return at + ": other lengths"
	}
	ai, bi := a.ElementIterator(), b.ElementIterator()
	for ai.Next() && bi.Next() {
		ak, av := ai.Element()
		bk, bv := bi.Element()
		if !ak.Type().Equals(bk.Type()) || !a.Type().IsSetType() && !ak.RawEquals(bk) {
			return at + ": other keys"
		}
		if why := differ(av, bv, append(path, fmt.Sprintf("%#v", ak))); why != "" {
			return why
		}
	}
	return ""
}
