package file

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// typeTable numbers types, as they occur.
type typeTable struct {
	number map[string]*typed // by description
	list   []*typed
	last   *typed // values of one type mostly come together
}

// typed is a type taken apart, once.
type typed struct {
	cty.Type
	kind   kind
	number uint64
	names  []string // of attributes, sorted
	parts  []*typed // attributes in that order, tuple elements, or the one of a collection
}

// maxDepth is how deep types may be nested, and with them values.
const maxDepth = 200

type kind uint8

const (
	dynamicKind kind = iota
	stringKind
	numberKind
	boolKind
	listKind
	setKind
	mapKind
	objectKind
	tupleKind
)

// typeRef is a type of the table: its number and, when it is new, its description.
func (c *coder) typeRef(ty cty.Type) *typed {
	if c.reading {
		return c.readType()
	}
	if last := c.types.last; last != nil && last.Equals(ty) {
		c.uint(&last.number)
		return last
	}
	d := coder{}
	d.describe(&ty, 0)
	if d.err != nil {
		c.fail(d.err)
		return nil
	}
	t, seen := c.types.number[string(d.out)]
	if !seen {
		t = c.types.add(ty)
		c.types.number[string(d.out)] = t
	}
	c.types.last = t
	c.uint(&t.number)
	if !seen {
		c.out = append(c.out, d.out...)
	}
	return t
}

func (t *typeTable) add(ty cty.Type) *typed {
	if t.number == nil {
		t.number = map[string]*typed{}
	}
	x := takeApart(ty)
	x.number = uint64(len(t.list))
	t.list = append(t.list, x)
	return x
}

func (c *coder) readType() *typed {
	var n uint64
	c.uint(&n)
	known := uint64(len(c.types.list))
	if n < known {
		return c.types.list[n]
	}
	if n > known {
		c.fail(errors.New("a type is missing"))
	}
	var ty cty.Type
	c.describe(&ty, 0)
	if c.err != nil {
		return nil
	}
	return c.types.add(ty)
}

func takeApart(ty cty.Type) *typed {
	k, _ := kindOf(ty)
	t := &typed{Type: ty, kind: k}
	switch k {
	case listKind, setKind, mapKind:
		t.parts = []*typed{takeApart(ty.ElementType())}
	case objectKind:
		t.names = slices.Sorted(maps.Keys(ty.AttributeTypes()))
		for _, name := range t.names {
			t.parts = append(t.parts, takeApart(ty.AttributeType(name)))
		}
	case tupleKind:
		for _, e := range ty.TupleElementTypes() {
			t.parts = append(t.parts, takeApart(e))
		}
	}
	return t
}

func kindOf(ty cty.Type) (kind, bool) {
	switch {
	case ty == cty.DynamicPseudoType:
		return dynamicKind, true
	case ty == cty.String:
		return stringKind, true
	case ty == cty.Number:
		return numberKind, true
	case ty == cty.Bool:
		return boolKind, true
	case ty.IsListType():
		return listKind, true
	case ty.IsSetType():
		return setKind, true
	case ty.IsMapType():
		return mapKind, true
	case ty.IsObjectType():
		return objectKind, true
	case ty.IsTupleType():
		return tupleKind, true
	}
	return dynamicKind, false
}

// describe is a type in full.
func (c *coder) describe(p *cty.Type, depth int) {
	var k kind
	if !c.reading {
		var ok bool
		if k, ok = kindOf(*p); !ok {
			c.fail(fmt.Errorf("values of type %s cannot be stored", p.FriendlyName()))
		}
	}
	if depth > maxDepth {
		c.fail(errors.New("a type is nested too deeply"))
	}
	enum(c, &k, tupleKind)
	if c.err != nil {
		*p = cty.DynamicPseudoType
		return
	}
	switch k {
	case dynamicKind:
		*p = cty.DynamicPseudoType
	case stringKind:
		*p = cty.String
	case numberKind:
		*p = cty.Number
	case boolKind:
		*p = cty.Bool
	case objectKind:
		c.describeObject(p, depth)
	case tupleKind:
		c.describeTuple(p, depth)
	default:
		c.describeCollection(p, k, depth)
	}
}

func (c *coder) describeCollection(p *cty.Type, k kind, depth int) {
	var e cty.Type
	if !c.reading {
		e = p.ElementType()
	}
	c.describe(&e, depth+1)
	switch k {
	case listKind:
		*p = cty.List(e)
	case setKind:
		*p = cty.Set(e)
	default:
		*p = cty.Map(e)
	}
}

func (c *coder) describeObject(p *cty.Type, depth int) {
	attrs := map[string]cty.Type{}
	if !c.reading {
		attrs = p.AttributeTypes()
	}
	texts(c, &attrs, func(t *cty.Type) { c.describe(t, depth+1) })
	*p = cty.Object(attrs)
}

func (c *coder) describeTuple(p *cty.Type, depth int) {
	var parts []cty.Type
	if !c.reading {
		parts = p.TupleElementTypes()
	}
	list(c, &parts, func(t *cty.Type) { c.describe(t, depth+1) })
	*p = cty.Tuple(parts)
}
