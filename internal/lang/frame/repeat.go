package frame

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// repeat evaluates count, for_each or enabled of d.
func (s *scope) repeat(d *program.Def) *repeated {
	r := &repeated{}
	rp := &repeater{s: s, d: d, out: r, e: d.Repetition}
	switch {
	case d.Repeat.Count != nil:
		r.Repeat = program.Count
		rp.title = "Invalid count argument"
		rp.count()
	case d.Repeat.ForEach != nil:
		r.Repeat = program.ForEach
		rp.title = "Invalid for_each argument"
		rp.forEach()
	default:
		r.Repeat = program.Enabled
		rp.title = "Invalid enabled argument"
		rp.enabled()
	}
	if r.Hidden {
		r.List = slices.Clone(r.List) // some lists are shared
		for i, k := range r.List {
			r.List[i] = k.Hide()
		}
	}
	if s.outcome() == OK && !s.f.w.budget.all(d, len(r.List)) {
		rp.error("With the instances that this would make there would be more than %d in all, which is more than can be handled safely. An instance of a module counts as %d.", s.f.w.budget.instances(), moduleWeight)
	}
	if s.outcome() != OK {
		r.List = nil
		if r.Status != Unknown {
			r.Status = Failed
		}
	}
	if s.f.w.o.Validate && r.Status <= Unknown {
		if r.Status == Known && len(r.List) <= fewKeys {
			r.plain = append([]addr.Key{}, r.List...)
		}
		r.Status, r.List = Known, onlyOne
	}
	return r
}

// fewKeys is how many instances are kept apart while validating.
const fewKeys = 100

// repeater evaluates one repetition argument and checks it.
type repeater struct {
	s     *scope
	d     *program.Def
	e     hclsyntax.Expression
	out   *repeated
	title string
}

func (r *repeater) error(format string, a ...any) { r.errorAbout(expr.AboutValue, format, a...) }

func (r *repeater) errorAbout(what expr.About, format string, a ...any) {
	d := diag.Errorf(r.title, format, a...).At(r.e.Range())
	r.s.Error(r.s.WithValuesAbout(d, r.e, r.s.Ctx, what))
}

// value evaluates the argument and takes its own marks off.
func (r *repeater) value(what string) (cty.Value, bool) {
	v := r.s.Eval(r.e)
	if r.s.outcome() != OK {
		return v, false
	}
	if !r.mayBeMarked(v, what) {
		return v, false
	}
	v, _ = mark.Bare(v)
	return v, true
}

// mayBeMarked refuses sensitive values, and ephemeral ones except for ephemeral blocks.
func (r *repeater) mayBeMarked(v cty.Value, what string) bool {
	if mark.Is(v, mark.Ephemeral) {
		if r.d.Kind == program.Resource && r.d.Res.Mode == addr.Ephemeral {
			r.out.Hidden = true
			return true
		}
		r.errorAbout(expr.AboutMarks, "The given %q value is derived from an ephemeral value, which means that the set of instances, which is kept from one run to the next, would depend on a value that is not kept.%s\n\nUse a value here that is not ephemeral. Only \"ephemeral\" blocks may be repeated by ephemeral values.", what, cameFrom(v))
		return false
	}
	if mark.Is(v, mark.Sensitive) && r.out.Repeat != program.Count { // a number of instances tells little
		r.errorAbout(expr.AboutMarks, "Sensitive values, or values derived from sensitive values, cannot be used as %s arguments. If used, the sensitive value could be exposed as a resource instance key.", what)
		return false
	}
	return true
}

const unknownCount = `The "count" value depends on resource attributes that cannot be determined until apply, so it is not possible to predict how many instances will be created. To work around this, use the -target argument to first apply only the resources that the count depends on.

Alternatively, use the -exclude argument to leave out this block and what depends on it in a first run.`

const unknownForEach = `The "for_each" %s includes %s derived from resource attributes that cannot be determined until apply, and so it is not possible to determine the full set of keys that will identify the instances of this resource.

When working with unknown values in for_each, it's better to use a map value where the keys are defined statically in your configuration and where only the values contain apply-time results.

Alternatively, you could use the -target planning option to first apply only the resources that the for_each value depends on, and then apply a second time to fully converge, or the -exclude option to leave this block out at first.`

func (r *repeater) count() {
	v, ok := r.value("count")
	if !ok {
		return
	}
	if v.IsNull() {
		r.error(`The given "count" argument value is null. An integer is required.`)
		return
	}
	num, err := convert.To(v, cty.Number)
	if err != nil {
		r.error(`The given "count" argument value is unsuitable: %s.`, err)
		return
	}
	if !num.IsKnown() {
		r.unknown(unknownCount)
		return
	}
	n, acc := num.AsBigFloat().Int64()
	switch {
	case acc != 0:
		r.error(`The given "count" argument value is unsuitable: must be a whole number.`)
	case n < 0:
		r.error(`The given "count" argument value is unsuitable: must be greater than or equal to zero.`)
	case !r.fits(n):
	default:
		r.out.List = make([]addr.Key, n)
		for i := range r.out.List {
			r.out.List[i] = addr.IntKey(i)
		}
	}
}

// unknown says that the keys cannot be decided, which is an error except while validating.
func (r *repeater) unknown(format string, a ...any) {
	r.out.Status = Unknown
	if r.s.f.w.o.Validate || r.d.Kind == program.Resource && r.d.Res.Mode == addr.Ephemeral {
		return // of an ephemeral block nothing is kept: it is put off as a whole
	}
	if r.s.face == Before && r.s.f.faceOf(r.d, After) != Before {
		return // what was there is known from the state
	}
	r.errorAbout(expr.AboutUnknown, format, a...)
}

func (r *repeater) enabled() {
	v, ok := r.value("enabled")
	if !ok {
		return
	}
	if v.IsNull() {
		r.error(`The given "enabled" argument value is null. A boolean is required.`)
		return
	}
	b, err := convert.To(v, cty.Bool)
	switch {
	case err != nil:
		r.error(`The given "enabled" argument value is unsuitable: %s.`, err)
	case !b.IsKnown():
		r.unknown(`The given "enabled" argument value depends on resource attributes that cannot be determined until apply, so it is not possible to decide whether this block exists. Use the -target option to first apply only what the value depends on, or -exclude to leave this block out at first.`)
	case b.True():
		r.out.List = onlyOne
	}
}

func (r *repeater) forEach() {
	v := r.s.Eval(r.e)
	if r.s.outcome() != OK || !r.mayBeMarked(v, "for_each") {
		return
	}
	v, remark := mark.Bare(v)
	ty := v.Type()
	isSet, isMap := ty.IsSetType(), ty.IsMapType() || ty.IsObjectType()
	switch {
	case v.IsNull():
		r.error(`The given "for_each" argument value is unsuitable: the given "for_each" argument value is null. A map, or set of strings is allowed.`)
	case ty == cty.DynamicPseudoType:
		r.unknown(unknownForEach, "value", "values")
	case !isSet && !isMap:
		hint := ""
		if ty.IsListType() || ty.IsTupleType() {
			hint = " Convert a list of strings with toset(), or make a map of it with a for expression."
		}
		r.error(`The given "for_each" argument value is unsuitable: the "for_each" argument must be a map, or set of strings, and you have provided a value of type %s.%s`, ty.FriendlyName(), hint)
	case isSet && !r.setOfStrings(v):
	case !v.IsKnown():
		if isSet {
			r.unknown(unknownForEach, "set", "values")
		} else {
			r.unknown(unknownForEach, "map", "keys")
		}
	default:
		r.elements(v, remark)
	}
}

// badSet is the title where a set has elements that cannot be keys.
const badSet = "Invalid for_each set argument"

// setOfStrings checks the element type of a set.
func (r *repeater) setOfStrings(v cty.Value) bool {
	ety := v.Type().ElementType()
	if ety == cty.String || ety == cty.DynamicPseudoType || v.IsKnown() && v.LengthInt() == 0 {
		return true
	}
	r.title = badSet
	r.error(`The given "for_each" argument value is unsuitable: "for_each" supports maps and sets of strings, but you have provided a set containing type %s.`, ety.FriendlyName())
	return false
}

// elements makes an instance of each.
func (r *repeater) elements(v cty.Value, remark func(cty.Value) cty.Value) {
	if v.Type().IsSetType() && !v.IsWhollyKnown() {
		r.unknown(unknownForEach, "set", "values")
		return
	}
	n := v.LengthInt()
	if !r.fits(int64(n)) {
		return
	}
	r.out.each = make(map[string]cty.Value, n)
	r.out.List = make([]addr.Key, 0, n)
	for k, e := range expr.Entries(v) {
		if k.IsNull() {
			r.title = badSet
			r.error(`The given "for_each" argument value is unsuitable: "for_each" sets must not contain null values.`)
			return
		}
		r.out.each[k.AsString()] = remark(e)
		r.out.List = append(r.out.List, addr.StringKey(k.AsString()))
	}
	slices.SortFunc(r.out.List, addr.Key.Compare)
}

// fits reports whether there may be so many instances.
func (r *repeater) fits(n int64) bool {
	limit := r.s.f.w.budget.instances()
	if n <= limit {
		return true
	}
	argument := map[program.RepeatKind]string{program.Count: "count", program.ForEach: "for_each"}[r.out.Repeat]
	if r.out.Hidden {
		r.error(`The given %q argument value is unsuitable: it makes more instances than the limit of %d.`, argument, limit)
	} else {
		r.error(`The given %q argument value is unsuitable: %d instances are more than the limit of %d.`, argument, n, limit)
	}
	return false
}
