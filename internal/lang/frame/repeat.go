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

// repeat evaluates count, for_each or enabled of d. If the evaluation fails, the result has no keys, and the status is
// Failed or Unknown. During validation, if it did not fail, the result has one instance without a key, which represents
// all instances, and plain has the known keys.
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
		r.List = slices.Clone(r.List) // a copy, because lists such as onlyOne are shared
		for i, k := range r.List {
			r.List[i] = k.Hide()
		}
	}
	if s.outcome() == OK && !s.f.w.budget.all(d, len(r.List)) {
		rp.error("With these instances there would be more than %d in total. An instance of a module counts as %d. Reduce them, or raise the limit with LETHE_LIMITS=instances=NUMBER.", s.f.w.budget.instances(), moduleWeight)
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

// fewKeys is the largest number of instances of a declaration that validation evaluates separately.
const fewKeys = 100

// repeater evaluates one count, for_each or enabled argument and checks its value.
type repeater struct {
	s     *scope
	d     *program.Def
	e     hclsyntax.Expression
	out   *repeated
	title string // the title of its errors
	hides bool   // the value is sensitive, so its errors must not show it
	early bool   // an unknown value is an error even if Options.Defers is set, because the argument belongs to an import block
}

func (r *repeater) error(format string, a ...any) { r.errorAbout(expr.AboutValue, format, a...) }

func (r *repeater) errorAbout(what expr.About, format string, a ...any) {
	d := diag.Errorf(r.title, format, a...).At(r.e.Range())
	r.s.Error(r.s.WithValuesAbout(d, r.e, r.s.Ctx, what))
}

// value evaluates an argument, and removes the marks of the value itself. It returns false if the evaluation failed, or
// if the marks are not permitted.
func (r *repeater) value(what string) (cty.Value, bool) {
	v := r.s.Eval(r.e)
	if r.s.outcome() != OK {
		return v, false
	}
	if !r.mayBeMarked(v, what) {
		return v, false
	}
	r.hides = mark.Is(v, mark.Sensitive)
	v, _ = mark.Unmark(v)
	return v, true
}

// mayBeMarked reports whether the marks of v are permitted in the named argument. Ephemeral values are permitted only
// in ephemeral blocks, and sensitive values only in count. If the marks are not permitted, mayBeMarked adds an error.
func (r *repeater) mayBeMarked(v cty.Value, what string) bool {
	if mark.Is(v, mark.Ephemeral) {
		if r.d.Kind == program.Resource && r.d.Src.Res.Mode == addr.Ephemeral {
			r.out.Hidden = true
			return true
		}
		r.errorAbout(expr.AboutMarks, "The given %q value is derived from an ephemeral value, so the instances could not be stored in the state.%s\n\nUse a value that is not ephemeral. Only \"ephemeral\" blocks can be repeated by ephemeral values.", what, cameFrom(v))
		return false
	}
	if mark.Is(v, mark.Sensitive) && r.out.Repeat != program.Count { // count may be sensitive, because a number of instances reveals little
		r.errorAbout(expr.AboutMarks, "Sensitive values, or values derived from sensitive values, cannot be used as %s arguments, because instance keys are shown. Use a value that is not sensitive, or nonsensitive() if the keys are not secret.", what)
		return false
	}
	return true
}

const unknownCount = `The "count" value depends on resource attributes that are known only after apply, so the number of instances is unknown.

First apply the resources that the count depends on with -target, or leave this block out with -exclude.`

const unknownForEach = `The "for_each" %s includes %s derived from resource attributes that are known only after apply, so the keys of the instances are unknown.

Use a map whose keys are constant and whose values may be unknown.

Alternatively, first apply the resources that the for_each value depends on with -target, or leave this block out with -exclude.`

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

// unknown sets the status Unknown and adds an error. It adds no error during validation, for ephemeral blocks, and on
// the Before face, whose keys come from the state. If Options.Defers is set, it stores the error in Keys.Waits instead,
// unless the declaration is a provider configuration or an import block.
func (r *repeater) unknown(format string, a ...any) {
	r.out.Status = Unknown
	if r.s.f.w.o.Validate || r.d.Kind == program.Resource && r.d.Src.Res.Mode == addr.Ephemeral {
		return // for an ephemeral block, unknown keys are no error: the plan does not store its instances, and apply evaluates the block again
	}
	if r.s.face == Before && r.s.f.faceOf(r.d, After) != Before {
		return // the keys of the Before face are in the state
	}
	if r.s.f.w.o.Defers && r.s.face == After && r.d.Kind != program.Provider && !r.early {
		d := r.s.WithValuesAbout(diag.Errorf(r.title, format, a...).At(r.e.Range()), r.e, r.s.Ctx, expr.AboutUnknown)
		r.out.Waits = &d
		return
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
		r.unknown(`The given "enabled" argument value depends on resource attributes that are known only after apply. First apply the resources that it depends on with -target, or leave this block out with -exclude.`)
	case b.True():
		r.out.List = onlyOne
	}
}

func (r *repeater) forEach() {
	v := r.s.Eval(r.e)
	if r.s.outcome() != OK || !r.mayBeMarked(v, "for_each") {
		return
	}
	v, remark := mark.Unmark(v)
	ty := v.Type()
	isSet, isMap := ty.IsSetType(), ty.IsMapType() || ty.IsObjectType()
	switch {
	case v.IsNull():
		r.error(`The given "for_each" argument value is unsuitable: it is null. Use a map, a set of strings, or an empty collection.`)
	case ty == cty.DynamicPseudoType:
		r.unknown(unknownForEach, "value", "values")
	case !isSet && !isMap:
		hint := ""
		if ty.IsListType() || ty.IsTupleType() {
			hint = " Convert a list of strings with toset(), or convert it to a map with a for expression."
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

// badSet is the title of errors about sets whose elements cannot be instance keys.
const badSet = "Invalid for_each set argument"

// setOfStrings reports whether the elements of a set are strings. It also returns true if the set is empty, or if the
// type of its elements is not known yet. Otherwise it adds an error.
func (r *repeater) setOfStrings(v cty.Value) bool {
	ety := v.Type().ElementType()
	if ety == cty.String || ety == cty.DynamicPseudoType || v.IsKnown() && v.LengthInt() == 0 {
		return true
	}
	r.title = badSet
	r.error(`The given "for_each" argument value is unsuitable: "for_each" supports maps and sets of strings, but you have provided a set containing type %s.`, ety.FriendlyName())
	return false
}

// elements adds an instance key for each element of v. remark adds the marks of the collection to each.value. If v is a
// set that is not wholly known, elements sets the status Unknown instead. It adds an error for a null element of a set,
// and for too many elements.
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

// fits reports whether n instances are within the limit. If not, it adds an error.
func (r *repeater) fits(n int64) bool {
	limit := r.s.f.w.budget.instances()
	if n <= limit {
		return true
	}
	argument := map[program.RepeatKind]string{program.Count: "count", program.ForEach: "for_each"}[r.out.Repeat]
	if r.out.Hidden || r.hides {
		r.error(`The given %q argument value is unsuitable: it exceeds the limit of %d instances.`, argument, limit)
	} else {
		r.error(`The given %q argument value is unsuitable: %d instances are more than the limit of %d.`, argument, n, limit)
	}
	return false
}
