package funcs

import (
	"slices"
	"sync/atomic"

	"github.com/zclconf/go-cty/cty"
)

// Package cty makes a type for every object, out of two maps. Who makes many objects mostly makes them of one
// type, so the type of the last is tried first: an object then is a map of payloads (see payloads.go) under a
// type that is there already.

// Mould makes objects, most likely of the type of the one before. It may be used by many at once.
type Mould struct{ last atomic.Pointer[pattern] }

// Object is an object with these attributes; of a name that is there twice the last counts.
func (m *Mould) Object(names []string, vals []cty.Value) cty.Value {
	if p := m.last.Load(); p.fits(names, vals) {
		return p.object(vals)
	}
	v := objectVal(names, vals)
	if p := newPattern(names, vals, v); p != nil {
		m.last.Store(p)
	}
	return v
}

// moulds are those that a few kinds of objects in turns need.
type moulds struct {
	all  [8]Mould
	next int // the one to be given up for a new kind
}

// object is Mould.Object.
func (m *moulds) object(names []string, vals []cty.Value) cty.Value {
	for i := range m.all {
		if p := m.all[i].last.Load(); p.fits(names, vals) {
			return p.object(vals)
		}
	}
	m.next = (m.next + 1) % len(m.all)
	return m.all[m.next].Object(names, vals)
}

func objectVal(names []string, vals []cty.Value) cty.Value {
	attrs := make(map[string]cty.Value, len(names))
	for i, name := range names {
		attrs[cty.NormalizeString(name)] = vals[i]
	}
	return cty.ObjectVal(attrs)
}

// pattern is an object type with its attributes in the order in which they were given.
type pattern struct {
	names []string
	types []cty.Type
	some  cty.Value // of the type, to put payloads into
}

// newPattern is nil for objects that are not made again so easily: large ones, and those whose names are not
// as they were given.
func newPattern(names []string, vals []cty.Value, v cty.Value) *pattern {
	has := v.Type().AttributeTypes()
	if !layout.ok || len(names) != len(has) || len(names) == 0 || len(names) > partsAlike {
		return nil
	}
	p := &pattern{names: slices.Clone(names), some: cty.UnknownVal(v.Type())}
	for i, name := range names {
		if _, ok := has[name]; !ok {
			return nil
		}
		p.types = append(p.types, vals[i].Type())
	}
	return p
}

// fits reports whether an object with these attributes is of the type; none is of no pattern.
func (p *pattern) fits(names []string, vals []cty.Value) bool {
	if p == nil || !slices.Equal(names, p.names) {
		return false
	}
	fuel := partsAlike
	for i, v := range vals {
		if !sameType(v.Type(), p.types[i], &fuel) {
			return false
		}
	}
	return true
}

// object is the object with these attributes, which fit.
func (p *pattern) object(vals []cty.Value) cty.Value {
	attrs := make(map[string]any, len(vals))
	for i := range vals {
		attrs[p.names[i]] = payload(&vals[i])
	}
	return withPayload(p.some, attrs)
}
