package lang

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Trigger is an object, or a part of one, whose change replaces the resource that names it in
// replace_triggered_by.
type Trigger struct {
	Resource addr.AbsResource
	Key      addr.Key
	All      bool     // every instance
	Path     cty.Path // the attribute; empty: any
	Range    diag.Range
}

// trigger is a compiled entry of replace_triggered_by.
type trigger struct {
	target *ref
	key    hclsyntax.Expression // nil: none, or constant in target
	rest   hcl.Traversal
	at     diag.Range
}

// triggers compiles replace_triggered_by.
func (c *compiler) triggers(d *decl, pl place) {
	for _, e := range d.res.Lifecycle.Triggers {
		if t := c.in(ByTrigger, pl).trigger(native(e)); t != nil {
			d.triggers = append(d.triggers, t)
		}
	}
}

const triggerTitle = "Invalid replace_triggered_by expression"

// trigger compiles one entry: a resource, one of its instances, or an attribute of that.
func (r *rewriter) trigger(e hclsyntax.Expression) *trigger {
	out := &trigger{at: e.Range()}
	if wrapped, ok := e.(*hclsyntax.TemplateWrapExpr); ok { // JSON: "${…}"
		return r.trigger(wrapped.Wrapped)
	}
	if lit, ok := e.(*hclsyntax.TemplateExpr); ok && lit.IsStringLiteral() { // JSON: a bare address
		return r.jsonTrigger(lit)
	}
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		return r.triggerOf(out, e, nil, nil)
	case *hclsyntax.IndexExpr:
		return r.triggerOf(out, e.Collection, e.Key, nil)
	case *hclsyntax.RelativeTraversalExpr:
		if ix, ok := e.Source.(*hclsyntax.IndexExpr); ok {
			return r.triggerOf(out, ix.Collection, ix.Key, e.Traversal)
		}
	}
	r.c.error(triggerTitle, "Missing resource reference in replace_triggered_by expression.", e.Range())
	return nil
}

func (r *rewriter) jsonTrigger(lit *hclsyntax.TemplateExpr) *trigger {
	v, _ := constant(lit.Parts[0])
	e, diags := hclsyntax.ParseExpression([]byte(v.AsString()), lit.SrcRange.Filename, lit.SrcRange.Start)
	if diags.HasErrors() {
		r.c.hcl(diags)
		return nil
	}
	return r.trigger(e)
}

func (r *rewriter) triggerOf(out *trigger, e hclsyntax.Expression, key hclsyntax.Expression, rest hcl.Traversal) *trigger {
	t, ok := e.(*hclsyntax.ScopeTraversalExpr)
	if !ok {
		r.c.error(triggerTitle, "Missing resource reference in replace_triggered_by expression.", out.at)
		return nil
	}
	target, ok := r.resolve(t)
	if !ok {
		return nil
	}
	if target.root != rootResource || r.c.u.decls[target.local].res.Mode != addr.Managed {
		r.c.error("Invalid reference in replace_triggered_by expression", "Only managed resources and their attributes can be named here; count.index and each.key may select an instance.", out.at)
		return nil
	}
	r.selects(target, target.rest)
	r.selects(target, rest)
	out.target, out.rest = target, append(target.rest[:len(target.rest):len(target.rest)], rest...)
	if key != nil {
		out.key = r.node(key)
		if !r.noteIndexed(target, out.key, out.at) {
			return nil
		}
		return out
	}
	u := use{hint: AllKeys}
	switch {
	case !target.repeated:
		u.hint = Single
	case target.hasKey:
		u.hint, u.fixed = Fixed, target.key
	}
	if !r.keyed(target) {
		return nil
	}
	r.note(target, u)
	return out
}

// Triggers evaluates replace_triggered_by of one instance.
func (f *Frame) Triggers(d Decl, k addr.Key, bag *diag.Bag) ([]Trigger, Outcome) {
	ld := f.local(d)
	var out []Trigger
	s := f.scope(After, bag).of(ld, k)
	defer s.release()
	for _, t := range ld.triggers {
		if got, ok := s.trigger(t); ok {
			out = append(out, got)
		}
	}
	return out, s.outcome()
}

func (s *scope) trigger(t *trigger) (Trigger, bool) {
	d := s.f.u.decls[t.target.local]
	out := Trigger{Resource: d.res.In(s.f.n.cfg.Path).In(s.f.addr), Key: t.target.key, Range: t.at, Path: Path(t.rest)}
	out.All = !t.target.hasKey && t.key == nil && t.target.repeated
	if t.key == nil {
		return out, true
	}
	v := s.Eval(t.key)
	if mark.Anywhere(v, mark.Sensitive) || mark.Anywhere(v, mark.Ephemeral) {
		s.Error(diag.Errorf(triggerTitle, "The instance key must be neither sensitive nor ephemeral.%s", cameFrom(v)).At(t.key.Range()))
		return out, false
	}
	if d.repeat.ForEach != nil {
		if c, err := convert.Convert(v, cty.String); err == nil {
			v = c
		}
	}
	key, ok := addr.KeyOf(v)
	if !ok && s.f.w.o.Validate && !v.IsKnown() {
		return out, false
	}
	if !ok {
		s.Error(diag.Errorf(triggerTitle, "The instance key must be a known string or whole number.").At(t.key.Range()))
	}
	out.Key = key
	return out, ok
}

// Path is a relative traversal as a path, as far as its steps are constant: what follows a
// resource in a reference, an entry of ignore_changes.
func Path(t hcl.Traversal) cty.Path {
	var out cty.Path
	for _, step := range t {
		switch step := step.(type) {
		case hcl.TraverseRoot: // the relative traversals of ignore_changes may begin with a name
			out = out.GetAttr(step.Name)
		case hcl.TraverseAttr:
			out = out.GetAttr(step.Name)
		case hcl.TraverseIndex:
			out = out.Index(step.Key)
		default:
			return out
		}
	}
	return out
}

// PreventDestroy evaluates lifecycle.prevent_destroy, once for all instances in a module instance.
func (f *Frame) PreventDestroy(d Decl, face Face, bag *diag.Bag) (bool, Outcome) {
	ld := f.local(d)
	return f.flag(ld.prevent, face, "prevent_destroy", bag)
}

// Forget evaluates lifecycle.destroy: true if objects are to be forgotten instead of destroyed.
func (f *Frame) Forget(d Decl, face Face, bag *diag.Bag) (bool, Outcome) {
	ld := f.local(d)
	if ld.destroy == nil {
		return false, OK
	}
	destroy, o := f.flag(ld.destroy, face, "destroy", bag)
	return !destroy && o == OK, o
}

// flag evaluates a boolean lifecycle argument.
func (f *Frame) flag(e hclsyntax.Expression, face Face, name string, bag *diag.Bag) (bool, Outcome) {
	if e == nil {
		return false, OK
	}
	s := f.scope(face, bag)
	defer s.release()
	v := s.Eval(e)
	if s.outcome() != OK {
		return false, s.outcome()
	}
	title := "Invalid " + name + " argument"
	fail := func(detail string) (bool, Outcome) {
		s.Error(s.WithValues(diag.Errorf(title, "%s", detail).At(e.Range()), e, s.Ctx))
		return false, Broken
	}
	if mark.Is(v, mark.Ephemeral) {
		return fail("The value decides what happens to objects that are kept, so it cannot be ephemeral." + cameFrom(v))
	}
	v, _ = mark.Bare(v)
	b, err := convert.Convert(v, cty.Bool)
	switch {
	case err != nil:
		return fail("A boolean is required: " + conversionText(err) + ".")
	case b.IsNull():
		return false, OK
	case !b.IsKnown():
		if f.w.o.Validate {
			return false, OK
		}
		return fail("The value must be known while planning, and it depends on what is decided only by applying.")
	}
	return b.True(), OK
}
