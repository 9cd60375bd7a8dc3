package expr

import (
	"sync"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// EphemeralNames are the names of attributes that were made of ephemeral text: keys of objects, and what a
// document that must not be kept was decoded into. A name is a part of a type, and types have no marks:
// where a value is gone, its type may have stayed, as that of a null, of nothing that is known yet, or of
// a list without elements. So these forget their type where they are going to be kept. Where there is an
// object with such a name, its marks have decided already.
type EphemeralNames struct {
	some  atomic.Bool
	mu    sync.RWMutex
	names map[string]struct{}
}

// Learn takes in the names that a type has and those of which it was made have not.
func (h *EphemeralNames) Learn(made cty.Type, of ...cty.Type) {
	if !structural(made) {
		return
	}
	known := map[string]struct{}{}
	for _, ty := range of {
		namesOf(ty, func(name string) bool { known[name] = struct{}{}; return true })
	}
	namesOf(made, func(name string) bool {
		if _, ok := known[name]; !ok {
			h.add(name)
		}
		return true
	})
}

func (h *EphemeralNames) add(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.names == nil {
		h.names = map[string]struct{}{}
	}
	h.names[name] = struct{}{}
	h.some.Store(true)
}

// Has reports whether a name was made of ephemeral text.
func (h *EphemeralNames) Has(name string) bool {
	if !h.some.Load() {
		return false
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	_, ok := h.names[name]
	return ok
}

// in reports whether a type has such a name.
func (h *EphemeralNames) in(ty cty.Type) bool {
	return structural(ty) && !namesOf(ty, func(name string) bool { return !h.Has(name) })
}

// Forget is v as it may be kept in a place of the given type, which decides wherever it says something.
func (h *EphemeralNames) Forget(v cty.Value, place cty.Type) cty.Value {
	if !h.some.Load() || !h.in(v.Type()) {
		return v
	}
	switch {
	case place == cty.DynamicPseudoType:
		return h.untyped(v)
	case place.IsObjectType() && v.Type().IsObjectType():
		bare, remark := mark.Bare(v)
		if bare.IsNull() || !bare.IsKnown() {
			return v
		}
		attrs := bare.AsValueMap()
		for name, a := range attrs {
			if place.HasAttribute(name) {
				attrs[name] = h.Forget(a, place.AttributeType(name))
			}
		}
		return remark(cty.ObjectVal(attrs))
	}
	return v
}

// untyped is v in which nothing that is not there has a type with such a name.
func (h *EphemeralNames) untyped(v cty.Value) cty.Value {
	ty := v.Type()
	if !h.in(ty) {
		return v
	}
	bare, remark := mark.Bare(v)
	switch {
	case bare.IsNull():
		return remark(cty.NullVal(cty.DynamicPseudoType))
	case !bare.IsKnown():
		return remark(cty.DynamicVal)
	case ty.IsObjectType() || ty.IsMapType(): // elements of one map may come to have several types
		attrs := bare.AsValueMap()
		for name, a := range attrs {
			attrs[name] = h.untyped(a)
		}
		return remark(cty.ObjectVal(attrs))
	}
	elems := make([]cty.Value, 0, bare.LengthInt())
	for _, e := range Entries(bare) {
		elems = append(elems, h.untyped(e))
	}
	return remark(cty.TupleVal(elems))
}

// structural reports whether a type can have names.
func structural(ty cty.Type) bool {
	for ty.IsCollectionType() {
		ty = ty.ElementType()
	}
	return ty.IsObjectType() || ty.IsTupleType()
}

// namesOf visits the names in a type until visit returns false, and reports whether it never did.
func namesOf(ty cty.Type, visit func(string) bool) bool {
	switch {
	case ty.IsCollectionType():
		return namesOf(ty.ElementType(), visit)
	case ty.IsTupleType():
		for _, e := range ty.TupleElementTypes() {
			if !namesOf(e, visit) {
				return false
			}
		}
	case ty.IsObjectType():
		for name, a := range ty.AttributeTypes() {
			if !visit(name) || !namesOf(a, visit) {
				return false
			}
		}
	}
	return true
}
