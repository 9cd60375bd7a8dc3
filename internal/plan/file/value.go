package file

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Values are written by their type: first the type, then the parts without any names. Only what is
// unmarked can be written; marks are paths beside the value, and ephemeral ones are refused.

type form uint8

const (
	nullForm    form = iota
	unknownForm      // nothing is known but the type
	refinedForm      // unknown, within a range
	knownForm
)

// value is a value with its marks; NilVal is possible.
func (c *coder) value(p *mark.Value) {
	c.raw(&p.Raw)
	for _, m := range p.Marks {
		if m.Tag == mark.Ephemeral {
			c.refuse(m.Path)
		}
	}
	list(c, &p.Marks, c.mark)
}

func (c *coder) mark(m *mark.At) {
	c.path(&m.Path)
	enum(c, &m.Tag, mark.Sensitive)
	if m.Tag == 0 {
		c.fail(errors.New("a mark has no meaning"))
	}
}

// refuse is for what must never be stored. The message names the place, never the value.
func (c *coder) refuse(p cty.Path) {
	what := "a value of the plan"
	if c.about != nil {
		what = "a value of " + c.about.String()
	}
	if len(p) > 0 {
		what += ", at " + mark.PathString(p) + ","
	}
	c.fail(fmt.Errorf("%s is ephemeral, and must not be stored in a plan; this is a bug in Lethe", what))
}

// raw is a plain value of any type, or NilVal.
func (c *coder) raw(p *cty.Value) {
	there := *p != cty.NilVal
	c.flag(&there)
	if !there || c.err != nil {
		*p = cty.NilVal
		return
	}
	var ty cty.Type
	if !c.reading {
		ty = p.Type()
	}
	if t := c.typeRef(ty); t != nil {
		c.part(p, t)
	}
}

// part is a value whose type is known.
func (c *coder) part(p *cty.Value, ty *typed) {
	f := nullForm
	if !c.reading && p.IsMarked() {
		c.fail(errors.New("a value of the plan is marked; this is a bug in Lethe"))
	} else if !c.reading {
		f = formOf(*p)
	}
	enum(c, &f, knownForm)
	switch {
	case c.err != nil:
		*p = cty.DynamicVal
	case f == knownForm:
		c.known(p, ty)
	case f == refinedForm:
		c.refined(p, ty)
	case f == unknownForm:
		*p = cty.UnknownVal(ty.Type)
	default:
		*p = cty.NullVal(ty.Type)
	}
}

func formOf(v cty.Value) form {
	switch {
	case !v.IsKnown() && v.RawEquals(cty.UnknownVal(v.Type())):
		return unknownForm
	case !v.IsKnown():
		return refinedForm
	case v.IsNull():
		return nullForm
	}
	return knownForm
}

func (c *coder) known(p *cty.Value, ty *typed) {
	switch ty.kind {
	case dynamicKind:
		c.fail(errors.New("a value has no type"))
	case stringKind:
		s := ""
		if !c.reading {
			s = p.AsString()
		}
		text(c, &s)
		*p = cty.StringVal(s)
	case numberKind:
		c.number(p)
	case boolKind:
		b := !c.reading && p.True()
		c.flag(&b)
		*p = cty.BoolVal(b)
	case objectKind:
		c.objectValue(p, ty)
	case tupleKind:
		c.tuple(p, ty)
	case mapKind:
		c.mapping(p, ty.parts[0])
	default:
		c.sequence(p, ty)
	}
}

// number is a whole number where it fits, else its text in base 2. The precision is kept, because
// what is computed from a number depends on it.
func (c *coder) number(p *cty.Value) {
	f, n, prec, whole := new(big.Float), int64(0), uint64(0), false
	if !c.reading {
		f = p.AsBigFloat()
		prec = uint64(f.Prec())
		var acc big.Accuracy
		n, acc = f.Int64()
		whole = acc == big.Exact && !(n == 0 && f.Signbit())
	}
	c.uint(&prec)
	c.flag(&whole)
	if prec > math.MaxUint16 {
		c.fail(errors.New("a number is too precise"))
		return
	}
	if whole {
		c.int(&n)
		f = new(big.Float).SetPrec(uint(prec)).SetInt64(n)
	} else {
		c.fraction(&f, uint(prec))
	}
	*p = cty.NumberVal(f)
}

func (c *coder) fraction(p **big.Float, prec uint) {
	s := ""
	if !c.reading {
		s = (*p).Text('p', 0)
	}
	text(c, &s)
	if !c.reading || c.err != nil {
		return
	}
	// Only what Text writes: other ways to write a number can take very long to understand.
	digits := strings.TrimLeft(s, "+-")
	f, _, err := new(big.Float).SetPrec(prec).Parse(s, 0)
	if !(strings.HasPrefix(digits, "0x.") || digits == "Inf" || digits == "0") || err != nil {
		c.fail(fmt.Errorf("%.40q is not a number", s))
		return
	}
	*p = f
}

func (c *coder) objectValue(p *cty.Value, ty *typed) {
	var vals map[string]cty.Value
	if c.reading {
		vals = make(map[string]cty.Value, len(ty.names))
	}
	for i, name := range ty.names {
		var v cty.Value
		if !c.reading {
			v = p.GetAttr(name)
		}
		if c.part(&v, ty.parts[i]); c.err != nil {
			return
		}
		if c.reading {
			vals[name] = v
		}
	}
	c.assemble(p, func() cty.Value { return cty.ObjectVal(vals) })
}

func (c *coder) tuple(p *cty.Value, ty *typed) {
	vals := make([]cty.Value, len(ty.parts))
	if !c.reading {
		vals = p.AsValueSlice()
	}
	for i, t := range ty.parts {
		if c.part(&vals[i], t); c.err != nil {
			return
		}
	}
	c.assemble(p, func() cty.Value { return cty.TupleVal(vals) })
}

func (c *coder) mapping(p *cty.Value, elem *typed) {
	vals := map[string]cty.Value{}
	if !c.reading {
		vals = p.AsValueMap()
	}
	texts(c, &vals, func(v *cty.Value) { c.part(v, elem) })
	c.assemble(p, func() cty.Value {
		if len(vals) == 0 {
			return cty.MapValEmpty(elem.Type)
		}
		return cty.MapVal(vals)
	})
}

func (c *coder) sequence(p *cty.Value, ty *typed) {
	var vals []cty.Value
	if !c.reading {
		vals = p.AsValueSlice()
	}
	elem := ty.parts[0]
	list(c, &vals, func(v *cty.Value) { c.part(v, elem) })
	c.assemble(p, func() cty.Value {
		switch {
		case ty.kind == setKind && len(vals) == 0:
			return cty.SetValEmpty(elem.Type)
		case ty.kind == setKind:
			return cty.SetVal(vals)
		case len(vals) == 0:
			return cty.ListValEmpty(elem.Type)
		}
		return cty.ListVal(vals)
	})
}

// assemble makes a value of its parts when they were read.
func (c *coder) assemble(p *cty.Value, f func() cty.Value) {
	if c.reading && c.err == nil {
		*p = f()
	}
}

// refined is an unknown value of which something is known.
func (c *coder) refined(p *cty.Value, ty *typed) {
	var r cty.ValueRange
	if !c.reading {
		r = p.Range()
	}
	notNull := !c.reading && r.DefinitelyNotNull()
	c.flag(&notNull)
	b := cty.UnknownVal(ty.Type).Refine()
	if ty.kind == dynamicKind { // cty knows no such thing
		c.fail(errors.New("a value without a type is restricted"))
		return
	}
	if notNull {
		b = b.NotNull()
	}
	switch ty.kind {
	case stringKind:
		b = c.prefix(r, b)
	case numberKind:
		b = c.bounds(r, b)
	case listKind, setKind, mapKind:
		b = c.lengths(r, b)
	}
	c.assemble(p, b.NewValue)
}

func (c *coder) prefix(r cty.ValueRange, b *cty.RefinementBuilder) *cty.RefinementBuilder {
	s := ""
	if !c.reading {
		s = r.StringPrefix()
	}
	text(c, &s)
	if s == "" {
		return b
	}
	return b.StringPrefixFull(s)
}

func (c *coder) bounds(r cty.ValueRange, b *cty.RefinementBuilder) *cty.RefinementBuilder {
	low, high := cty.NegativeInfinity, cty.PositiveInfinity
	lowIn, highIn := true, true
	if !c.reading {
		low, lowIn = r.NumberLowerBound()
		high, highIn = r.NumberUpperBound()
	}
	c.number(&low)
	c.flag(&lowIn)
	c.number(&high)
	c.flag(&highIn)
	if c.err != nil {
		return b
	}
	if !low.RawEquals(cty.NegativeInfinity) {
		b = b.NumberRangeLowerBound(low, lowIn)
	}
	if !high.RawEquals(cty.PositiveInfinity) {
		b = b.NumberRangeUpperBound(high, highIn)
	}
	return b
}

func (c *coder) lengths(r cty.ValueRange, b *cty.RefinementBuilder) *cty.RefinementBuilder {
	low, high := uint64(0), uint64(math.MaxInt)
	if !c.reading {
		low, high = uint64(r.LengthLowerBound()), uint64(r.LengthUpperBound())
	}
	c.uint(&low)
	c.uint(&high)
	if c.err != nil || low > high || high > math.MaxInt {
		c.fail(errors.New("a length is less than nothing"))
		return b
	}
	if low > 0 {
		b = b.CollectionLengthLowerBound(int(low))
	}
	if high < math.MaxInt {
		b = b.CollectionLengthUpperBound(int(high))
	}
	return b
}

// path is a place inside a value.
func (c *coder) path(p *cty.Path) {
	steps := []cty.PathStep(*p)
	list(c, &steps, c.step)
	*p = steps
}

func (c *coder) step(p *cty.PathStep) {
	attr, isAttr := (*p).(cty.GetAttrStep)
	index, _ := (*p).(cty.IndexStep)
	if !c.reading && !isAttr && index.Key == cty.NilVal {
		c.fail(errors.New("a path has an unknown kind of step"))
	}
	c.flag(&isAttr)
	if isAttr {
		text(c, &attr.Name)
		*p = attr
		return
	}
	c.raw(&index.Key)
	*p = index
}
