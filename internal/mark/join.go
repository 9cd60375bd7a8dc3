package mark

import (
	"github.com/zclconf/go-cty/cty"
)

// Join returns the value as a marked cty value. Unlike the function of cty, it permits several marks at one place. Its
// work is linear in the size of value and marks: it rebuilds only the containers on the paths. If the value has nothing
// at the path of a mark, the mark rises to the innermost value on the path that exists. A mark inside a set rises to
// the set.
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

// marksAt is a node in a tree of the paths that have marks.
type marksAt struct {
	here  []At
	names map[string]*marksAt // attributes, and elements of maps
	items map[int]*marksAt    // elements of lists and tuples
}

func (t *marksAt) add(path cty.Path, m At) {
	for _, step := range path {
		next := t.next(step)
		if next == nil {
			break // the step is unknown, or leads to an element of a set, so its container gets the mark
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

// apply returns v with the marks of the tree. If v has nothing at a marked path, the mark rises to the innermost value
// on the path that exists. Inside null and unknown values, sets and capsules no path exists.
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

// rise adds the marks of the node and of all nodes below it to v itself.
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
	var dropped []*marksAt
	for name, sub := range t.names {
		if e, ok := vals[name]; ok {
			vals[name] = sub.apply(e)
		} else {
			dropped = append(dropped, sub)
		}
	}
	switch {
	case v.Type().IsObjectType():
		v = cty.ObjectVal(vals)
	case len(vals) > 0:
		v = cty.MapVal(vals)
	}
	for _, sub := range t.items {
		dropped = append(dropped, sub)
	}
	return riseAll(v, dropped)
}

func (t *marksAt) sequence(v cty.Value) cty.Value {
	vals := v.AsValueSlice()
	var dropped []*marksAt
	for i, sub := range t.items {
		if i < len(vals) {
			vals[i] = sub.apply(vals[i])
		} else {
			dropped = append(dropped, sub)
		}
	}
	switch {
	case v.Type().IsTupleType():
		v = cty.TupleVal(vals)
	case len(vals) > 0:
		v = cty.ListVal(vals)
	}
	for _, sub := range t.names {
		dropped = append(dropped, sub)
	}
	return riseAll(v, dropped)
}

// riseAll adds to v itself the marks of the dropped nodes and of all nodes below them. v has nothing at the places of
// these nodes.
func riseAll(v cty.Value, dropped []*marksAt) cty.Value {
	for _, sub := range dropped {
		v = sub.rise(v)
	}
	return v
}
