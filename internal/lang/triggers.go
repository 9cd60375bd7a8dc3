package lang

import (
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
