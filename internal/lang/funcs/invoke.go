package funcs

import (
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/syntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// invoke executes a call of the function b for package cty, and returns an error in place of a panic.
func (b *builtin) invoke(s *scope, in []cty.Value) (result cty.Value, err error) {
	c := &call{builtin: b, scope: s}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case syntax.Spent:
			result, err = cty.NilVal, r.Err
		default:
			result, err = cty.NilVal, c.because(fmt.Errorf("internal error: %v; this is a bug in Lethe: please report it", r))
		}
	}()
	if err := c.accept(in); err != nil {
		return cty.NilVal, err
	}
	if !b.whole {
		if r, done, err := c.prepare(); done || err != nil {
			return r, err
		}
	}
	r, err := b.run(c)
	if err != nil {
		return cty.NilVal, err
	}
	return c.finish(r)
}

// shapeOf returns the description of b for package cty. In this description, most parameters are capsules, and the
// result has no fixed type (see arg.go). SignatureOf returns the types for users.
func shapeOf(b *builtin) shape {
	out := shape{builtin: b, core: "core::" + b.name, spec: function.Spec{Description: b.doc, Type: function.StaticReturnType(cty.DynamicPseudoType)}}
	for i := range b.params {
		out.spec.Params = append(out.spec.Params, b.params[i].parameter())
	}
	if b.rest != nil {
		p := b.rest.parameter()
		out.spec.VarParam = &p
	}
	return out
}

// function returns the cty function for the description. spec is a copy of the description, in which it sets the
// implementation.
func (of shape) function(s *scope, spec *function.Spec) function.Function {
	b := of.builtin
	spec.Impl = func(args []cty.Value, _ cty.Type) (cty.Value, error) { return b.invoke(s, args) }
	return function.New(spec)
}

func (p *param) parameter() function.Parameter {
	ty := argType
	if p.typ.IsCapsuleType() {
		ty = p.typ
	}
	// A capsule has no marks and is always known. With these two settings, cty does not search it for marks and unknown
	// values.
	return function.Parameter{Name: p.name, Description: p.doc, Type: ty, AllowMarked: true, AllowUnknown: true}
}

// accept takes the arguments out of their capsules, and converts them to the types of the parameters. It checks the
// size of each value before it converts the value.
func (c *call) accept(in []cty.Value) error {
	c.given = make([]cty.Value, len(in))
	for i, v := range in {
		c.given[i] = unwrap(v)
	}
	c.args = c.given
	for i, v := range c.given {
		p := c.param(i)
		if p.typ.IsCapsuleType() {
			continue
		}
		if !p.may(quick) && !v.Type().IsPrimitiveType() {
			if err := c.scan(i, v); err != nil {
				return err
			}
		}
		if p.typ == cty.DynamicPseudoType {
			continue
		}
		v, err := convert.To(v, p.typ)
		if err != nil {
			return c.badBecause(i, err)
		}
		c.given[i] = v
	}
	return nil
}

func (c *call) scan(i int, v cty.Value) error {
	s, all := c.look(v)
	if !all {
		return bad(i, "%s", c.problem(s))
	}
	c.unknown = c.unknown || s.Unknown
	if s.Marked {
		c.marked = append(c.marked, i)
	}
	return nil
}

// prepare handles null values, marks and unknown values. If done is true, result is the result of the call, and run
// must not be called. The result is unknown if an argument is unknown and its parameter does not permit this, or if the
// function is impure and Env.Pure is true, unless it is timed and Env.Now is set.
func (c *call) prepare() (result cty.Value, done bool, err error) {
	if err := c.nulls(); err != nil {
		return cty.NilVal, false, err
	}
	untyped, unsettled := false, c.impure && c.env.Pure && !(c.timed && !c.env.Now.IsZero())
	for i, v := range c.given {
		p := c.param(i)
		c.unmark(i, v)
		untyped = untyped || v.Type() == cty.DynamicPseudoType && !p.may(dynamic)
		unsettled = unsettled || !v.IsKnown() && !p.may(unknown)
	}
	switch {
	case untyped:
		return c.all(cty.DynamicVal), true, nil
	case unsettled:
		ty, err := c.resultType()
		if err != nil {
			return cty.NilVal, false, err
		}
		return c.all(c.unknownOf(ty)), true, nil
	}
	return cty.NilVal, false, nil
}

func (c *call) nulls() error {
	for i, v := range c.given {
		if !c.param(i).may(null) && v.IsNull() {
			return bad(i, "argument must not be null")
		}
	}
	return nil
}

// unmark removes the marks of v, the value of argument i, and records them for the result. If the parameter takes
// marked values, it keeps them.
func (c *call) unmark(i int, v cty.Value) {
	p := c.param(i)
	if p.may(marked) {
		return
	}
	ty := v.Type()
	shallow := ty.IsPrimitiveType() || ty.IsCapsuleType() || ty.IsSetType() // inside values of these types there are no marks
	switch {
	case shallow && !mark.Is(v, mark.Sensitive) && !mark.Is(v, mark.Ephemeral):
		return
	case shallow:
		v = c.marks.unmark(v)
	case !p.may(quick) && !slices.Contains(c.marked, i):
		return
	default:
		v = c.marks.deep(v)
	}
	if &c.args[0] == &c.given[0] {
		c.args = slices.Clone(c.given)
	}
	c.args[i] = v
}

func (c *call) resultType() (cty.Type, error) {
	if c.kind == nil {
		return c.returns, nil
	}
	return c.kind(c)
}

// unknownOf returns an unknown result of the type ty. If the function never returns null, the result is refined to be
// not null.
func (c *call) unknownOf(ty cty.Type) cty.Value {
	v := cty.UnknownVal(ty)
	if ty == cty.DynamicPseudoType || c.nullable {
		return v
	}
	return v.RefineNotNull()
}

// all adds the marks of all arguments to a result. It is needed if run is not called, and so cannot copy marks itself.
func (c *call) all(r cty.Value) cty.Value {
	for i, v := range c.given {
		if c.param(i).may(marked) {
			r = mark.Same(r, v)
		}
	}
	return c.marks.put(r)
}

// finish adds the removed marks to the result of run. It refines an unknown result of a known type to be not null,
// unless the function can return null or handles unknown values itself (whole). If the function is observed and the
// result is known, finish passes the result to Env.Observe, and returns its error.
func (c *call) finish(r cty.Value) (cty.Value, error) {
	if !c.nullable && !c.whole && !r.IsKnown() && r.Type() != cty.DynamicPseudoType {
		r = r.RefineNotNull()
	}
	r = c.marks.put(r)
	if c.observed && c.env.Observe != nil {
		if s, _ := c.look(r); !s.Unknown {
			if err := c.env.Observe(c.name, c.given, r); err != nil {
				return cty.NilVal, err
			}
		}
	}
	return r, nil
}

// shape is the description of a function for package cty, which is the same for every Env.
type shape struct {
	*builtin
	core string        // the name with "core::"
	spec function.Spec // the description without the implementation
}
