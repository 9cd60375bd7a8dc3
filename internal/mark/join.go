package mark

import (
	"github.com/zclconf/go-cty/cty"
)

// Join puts the marks back. Unlike the library's way it keeps all marks of one place, and its work is
// linear in value and marks together: only what lies on the way to a mark is rebuilt. A mark whose
// place the value does not have rises to what is around it.
func (v Value) Join() cty.Value {
	if len(v.Marks) == 0 {
		return v.Raw
	}
	var t marksAt
	for _, m := range v.Marks {
		t.add(m.Path, m)
	}
	return t.apply(v.Raw)
}

// marksAt is a tree of the places that have marks.
type marksAt struct {
	here  []At
	names map[string]*marksAt // attributes, and elements of maps
	items map[int]*marksAt    // elements of lists and tuples
}

func (t *marksAt) add(path cty.Path, m At) {
	for _, step := range path {
		next := t.next(step)
		if next == nil {
			break // a place that cannot be told: the mark stays on what is around it
		}
		t = next
	}
	t.here = append(t.here, m)
}

func (t *marksAt) next(step cty.PathStep) *marksAt {
	switch step := step.(type) {
	case cty.GetAttrStep:
		return child(&t.names, step.Name)
	case cty.IndexStep:
		k, ok := keyOf(step.Key)
		if !ok {
			return nil
		}
		if i, ok := k.Int(); ok {
			return child(&t.items, i)
		}
		name, _ := k.Str()
		return child(&t.names, name)
	}
	return nil
}

func child[K comparable](m *map[K]*marksAt, k K) *marksAt {
	if *m == nil {
		*m = map[K]*marksAt{}
	}
	if (*m)[k] == nil {
		(*m)[k] = &marksAt{}
	}
	return (*m)[k]
}

// apply marks a value. Where it is not as the paths say, the marks rise to what is there.
func (t *marksAt) apply(v cty.Value) cty.Value {
	switch ty := v.Type(); {
	case len(t.names) == 0 && len(t.items) == 0:
	case v.IsNull() || !v.IsKnown() || ty.IsPrimitiveType() || ty.IsSetType() || ty.IsCapsuleType():
		v = t.rise(v)
	case ty.IsObjectType() || ty.IsMapType():
		v = t.mapping(v)
	default:
		v = t.sequence(v)
	}
	for _, m := range t.here {
		v = m.on(v)
	}
	return v
}

// rise puts all marks below onto v.
func (t *marksAt) rise(v cty.Value) cty.Value {
	for _, sub := range t.names {
		v = sub.rise(v)
	}
	for _, sub := range t.items {
		v = sub.rise(v)
	}
	for _, m := range t.here {
		v = m.on(v)
	}
	return v
}

func (t *marksAt) mapping(v cty.Value) cty.Value {
	vals := v.AsValueMap()
	var lost []*marksAt
	for name, sub := range t.names {
		if e, ok := vals[name]; ok {
			vals[name] = sub.apply(e)
		} else {
			lost = append(lost, sub)
		}
	}
	switch {
	case v.Type().IsObjectType():
		v = cty.ObjectVal(vals)
	case len(vals) > 0:
		v = cty.MapVal(vals)
	}
	for _, sub := range t.items {
		lost = append(lost, sub)
	}
	return riseAll(v, lost)
}

func (t *marksAt) sequence(v cty.Value) cty.Value {
	vals := v.AsValueSlice()
	var lost []*marksAt
	for i, sub := range t.items {
		if i < len(vals) {
			vals[i] = sub.apply(vals[i])
		} else {
			lost = append(lost, sub)
		}
	}
	switch {
	case v.Type().IsTupleType():
		v = cty.TupleVal(vals)
	case len(vals) > 0:
		v = cty.ListVal(vals)
	}
	for _, sub := range t.names {
		lost = append(lost, sub)
	}
	return riseAll(v, lost)
}

// riseAll puts all marks at and below places that v does not have onto v.
func riseAll(v cty.Value, lost []*marksAt) cty.Value {
	for _, sub := range lost {
		v = sub.rise(v)
	}
	return v
}
