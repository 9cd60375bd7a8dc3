package frame

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Trigger is an object or an attribute that a replace_triggered_by argument names. If it changes, the resource with the
// argument is replaced.
type Trigger struct {
	Resource   addr.AbsResource
	Key        addr.Key
	All        bool     // all instances of the resource
	Path       cty.Path // the path of the attribute; empty means the whole object
	Undeclared bool     // the resource has no instance with Key
	At         diag.Range
}

// Triggers evaluates replace_triggered_by for one instance. It omits entries whose key is invalid, for which it adds an
// error, and during validation entries whose key is unknown.
func (f *Frame) Triggers(d program.Decl, k addr.Key, bag *diag.Bag) ([]Trigger, Status) {
	ld := f.local(d)
	var out []Trigger
	s := newScope(f, After, bag).of(ld, k)
	defer s.release()
	for _, t := range ld.Lifecycle.Triggers {
		if got, ok := s.trigger(t); ok {
			out = append(out, got)
		}
	}
	return out, s.outcome()
}

func (s *scope) trigger(t *program.Trigger) (Trigger, bool) {
	d := s.f.u.Defs[t.Target.Local]
	out := Trigger{Resource: d.Src.Res.In(s.f.n.Config.Path).In(s.f.addr), Key: t.Target.Key, Path: expr.Path(t.Rest), At: t.At}
	out.All = !t.Target.HasKey && t.Key == nil && t.Target.Repeated
	if t.Key == nil {
		out.Undeclared = t.Target.HasKey && s.f.keys(d, After, s.Bag).Lacks(out.Key)
		return out, true
	}
	v := s.Eval(t.Key)
	if mark.Anywhere(v, mark.Sensitive) || mark.Anywhere(v, mark.Ephemeral) {
		s.Error(diag.Errorf(program.TriggerTitle, "The instance key must be neither sensitive nor ephemeral.%s", cameFrom(v)).At(t.Key.Range()))
		return out, false
	}
	if d.Repeat.ForEach != nil {
		if c, err := convert.To(v, cty.String); err == nil {
			v = c
		}
	}
	key, ok := addr.KeyOf(v)
	if !ok && s.f.w.o.Validate && !v.IsKnown() {
		return out, false
	}
	if !ok {
		s.Error(diag.Errorf(program.TriggerTitle, "The instance key must be a known string or whole number.").At(t.Key.Range()))
	}
	out.Key = key
	out.Undeclared = ok && s.f.keys(d, After, s.Bag).Lacks(key)
	return out, ok
}

// PreventDestroy evaluates lifecycle.prevent_destroy for an instance. k may be a key from the state that the
// configuration no longer declares. If prevent_destroy is missing or null, the result is false and OK. After an error,
// the result is false and a status other than OK. face selects the prior values (Before) or the planned values (After).
func (f *Frame) PreventDestroy(d program.Decl, k addr.Key, face Face, bag *diag.Bag) (bool, Status) {
	ld := f.local(d)
	return lifecycleFlag(newScope(f, face, bag).of(ld, fitting(ld, k)), ld.Lifecycle.PreventDestroy, "prevent_destroy", false)
}

// Fits reports whether a key has the right type for the instances of a declaration: a number if it has count, or a
// string if it has for_each.
func (f *Frame) Fits(d program.Decl, k addr.Key) bool { return fitting(f.local(d), k) == k }

// fitting returns the key k for the evaluation of an instance, or NoKey if k has the wrong type for count.index or
// each.key.
func fitting(d *program.Def, k addr.Key) addr.Key {
	if _, number := k.Int(); d.Repeat.Count != nil && !number || d.Repeat.ForEach != nil && number {
		return addr.NoKey
	}
	return k
}

// Forget evaluates lifecycle.destroy for an instance. It returns true if destroy is false or null, so that the object
// must be forgotten instead of destroyed. It returns false if destroy is not set, or is true. An unknown value, where
// lifecycleFlag accepts one, counts as true, so that no object is forgotten by mistake. After an error, Forget returns
// false and a status other than OK.
func (f *Frame) Forget(d program.Decl, k addr.Key, face Face, bag *diag.Bag) (bool, Status) {
	ld := f.local(d)
	if ld.Lifecycle.Destroy == nil {
		return false, OK
	}
	destroy, o := lifecycleFlag(newScope(f, face, bag).of(ld, fitting(ld, k)), ld.Lifecycle.Destroy, "destroy", true)
	return !destroy && o == OK, o
}

// lifecycleFlag evaluates a boolean lifecycle argument in s, and releases s. A missing or null argument is false.
// During validation, and for a repeated declaration if s has no instance, an unknown value counts as the parameter
// unknown. Otherwise an unknown value is an error. An ephemeral value, or a value that is not a boolean, is always an
// error.
func lifecycleFlag(s *scope, e hclsyntax.Expression, name string, unknown bool) (bool, Status) {
	if e == nil {
		s.release()
		return false, OK
	}
	defer s.release()
	v := s.Eval(e)
	if s.outcome() != OK {
		return false, s.outcome()
	}
	title := "Invalid " + name + " argument"
	fail := func(detail string) (bool, Status) {
		s.Error(s.WithValues(diag.Errorf(title, "%s", detail).At(e.Range()), e, s.Ctx))
		return false, Broken
	}
	if mark.Is(v, mark.Ephemeral) {
		return fail("The value cannot be ephemeral, because it decides about objects in the state." + cameFrom(v))
	}
	v, _ = mark.Unmark(v)
	b, err := convert.To(v, cty.Bool)
	switch {
	case err != nil:
		return fail("A boolean is required: " + expr.ConversionText(err) + ".")
	case b.IsNull():
		return false, OK
	case !b.IsKnown():
		if s.f.w.o.Validate || s.key.IsNone() && s.d.Repetition != nil {
			return unknown, OK
		}
		return fail("The value must be known during plan, but it depends on values that are known only after apply.")
	}
	return b.True(), OK
}
