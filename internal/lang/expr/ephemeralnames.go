package expr

import (
	"sync"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// EphemeralNames has the attribute names that were made from ephemeral text: keys of objects, and names in decoded
// ephemeral documents. A name is part of a type, and types have no marks. A null, an unknown value or an empty list
// keeps its type, and so the name, although it contains no marked value. Forget removes the types of such values before
// the values are stored. An object with such a name needs no treatment, because its marks prevent that it is stored.
type EphemeralNames struct {
	some  atomic.Bool
	mu    sync.RWMutex
	names map[string]struct{}
}

// Learn records the attribute names, at any depth, that occur in the type made, but in none of the other types.
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

// Has reports whether an attribute name was made from ephemeral text.
func (h *EphemeralNames) Has(name string) bool {
	if !h.some.Load() {
		return false
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	_, ok := h.names[name]
	return ok
}

// in reports whether a type contains an attribute name that was made from ephemeral text.
func (h *EphemeralNames) in(ty cty.Type) bool {
	return structural(ty) && !namesOf(ty, func(name string) bool { return !h.Has(name) })
}

// Forget returns v without the types that contain names made from ephemeral text. place is the type of the attribute
// that stores v. Where place requires a type, v keeps it.
func (h *EphemeralNames) Forget(v cty.Value, place cty.Type) cty.Value {
	if !h.some.Load() || !h.in(v.Type()) {
		return v
	}
	switch {
	case place == cty.DynamicPseudoType:
		return h.untyped(v)
	case place.IsObjectType() && v.Type().IsObjectType():
		unmarked, remark := mark.Unmark(v)
		if unmarked.IsNull() || !unmarked.IsKnown() {
			return v
		}
		attrs := unmarked.AsValueMap()
		for name, a := range attrs {
			if place.HasAttribute(name) {
				attrs[name] = h.Forget(a, place.AttributeType(name))
			}
		}
		return remark(cty.ObjectVal(attrs))
	}
	return v
}

// untyped returns v, with a value of unknown type in place of each null or unknown part whose type contains a name made
// from ephemeral text.
func (h *EphemeralNames) untyped(v cty.Value) cty.Value {
	ty := v.Type()
	if !h.in(ty) {
		return v
	}
	unmarked, remark := mark.Unmark(v)
	switch {
	case unmarked.IsNull():
		return remark(cty.NullVal(cty.DynamicPseudoType))
	case !unmarked.IsKnown():
		return remark(cty.DynamicVal)
	case ty.IsObjectType() || ty.IsMapType(): // becomes an object, because the elements of a map may now have different types
		attrs := unmarked.AsValueMap()
		for name, a := range attrs {
			attrs[name] = h.untyped(a)
		}
		return remark(cty.ObjectVal(attrs))
	}
	elems := make([]cty.Value, 0, unmarked.LengthInt())
	for _, e := range Entries(unmarked) {
		elems = append(elems, h.untyped(e))
	}
	return remark(cty.TupleVal(elems))
}

// structural reports whether a type can contain attribute names.
func structural(ty cty.Type) bool {
	for ty.IsCollectionType() {
		ty = ty.ElementType()
	}
	return ty.IsObjectType() || ty.IsTupleType()
}

// namesOf calls visit for each attribute name in a type, until visit returns false. Then namesOf returns false.
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
