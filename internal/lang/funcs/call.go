package funcs

import (
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/syntax"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// builtin is a function as this package writes it down.
type builtin struct {
	name    string
	doc     string
	params  []param
	rest    *param   // what further arguments are, if there may be any
	returns cty.Type // cty.DynamicPseudoType where it depends on the arguments

	// run does the work. What it gets is converted to the parameters' types and neither null nor
	// unknown nor marked, except as the parameters say. Nested values may be null or unknown.
	run func(*call) (cty.Value, error)
	// kind is the type of the result for the case that an argument is unknown; nil: returns.
	kind func(*call) (cty.Type, error)
	// nullable is set if the result can be null.
	nullable bool
	// impure results are unknown until apply.
	impure bool
	// whole leaves everything but conversion to run: nulls, unknown values and marks.
	whole bool
	// observed results are given to Env.Observe.
	observed bool
	// world is set if the result depends on more than the arguments, and that is neither impure nor observed.
	world bool
}

// param is a parameter.
type param struct {
	name  string
	typ   cty.Type
	doc   string
	mode  mode
	shown cty.Type // the type in the signature, where it is not typ
}

// mode is what a parameter accepts beyond a known value without marks.
type mode uint8

const (
	null    mode = 1 << iota // null
	unknown                  // an unknown value
	dynamic                  // a value of which not even the type is known
	marked                   // marks at any depth, which run has to carry over
	quick                    // a value that is not walked through: time must not depend on its size
)

func (p *param) may(m mode) bool { return p.mode&m != 0 }

// call is one call of a builtin.
type call struct {
	*builtin
	*scope
	given        []cty.Value // the arguments, converted to the types of the parameters
	args         []cty.Value // given, without the marks that the framework takes care of
	unknown      bool        // something in the arguments that were walked through is unknown
	marked       []int       // which arguments that were walked through have something marked in them
	taken        marks       // what was taken off args
	secretReason string      // what keeps the text of a template from being shown, if anything does
}

// marks are what was taken off some values, to be put onto what is made from them.
type marks []func(cty.Value) cty.Value

// bare is v without its own marks.
func (m *marks) bare(v cty.Value) cty.Value {
	if !mark.Is(v, mark.Sensitive) && !mark.Is(v, mark.Ephemeral) {
		return v
	}
	v, put := mark.Bare(v)
	*m = append(*m, put)
	return v
}

// deep is v without any marks.
func (m *marks) deep(v cty.Value) cty.Value {
	v, put := mark.BareDeep(v)
	*m = append(*m, put)
	return v
}

func (m marks) put(v cty.Value) cty.Value {
	for _, put := range m {
		v = put(v)
	}
	return v
}

// scope is what the functions of one table share.
type scope struct {
	env    *Env
	limits limits.Limits
	table  map[string]function.Function
	own    []*builtin // those that are different inside of a template
	render *render    // the template being rendered, nil outside of one
}

// param is the parameter for argument i.
func (b *builtin) param(i int) *param {
	if i < len(b.params) {
		return &b.params[i]
	}
	return b.rest
}

// invoke is what package cty calls.
func (b *builtin) invoke(s *scope, in []cty.Value) (result cty.Value, err error) {
	c := &call{builtin: b, scope: s}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case syntax.Spent:
			result, err = cty.NilVal, r.Err
		default:
			result, err = cty.NilVal, c.because(fmt.Errorf("internal error: %v; this is a bug in Lethe, please report it", r))
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

// accept takes the arguments out of their capsules and makes them what the parameters want. Nothing is
// done to a value before it is certain that it is not too large for that.
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

// prepare sees to nulls, marks and unknown values. done: the result is there without running.
func (c *call) prepare() (result cty.Value, done bool, err error) {
	if err := c.nulls(); err != nil {
		return cty.NilVal, false, err
	}
	untyped, unsettled := false, c.impure && c.env.Pure
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

// unmark takes the marks off an argument and remembers them for the result.
func (c *call) unmark(i int, v cty.Value) {
	p := c.param(i)
	if p.may(marked) {
		return
	}
	ty := v.Type()
	shallow := ty.IsPrimitiveType() || ty.IsCapsuleType() || ty.IsSetType() // nothing inside is marked
	switch {
	case shallow && !mark.Is(v, mark.Sensitive) && !mark.Is(v, mark.Ephemeral):
		return
	case shallow:
		v = c.taken.bare(v)
	case !p.may(quick) && !slices.Contains(c.marked, i):
		return
	default:
		v = c.taken.deep(v)
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

// unknownOf is an unknown result; more can be said of it than its type if the result is never null.
func (c *call) unknownOf(ty cty.Type) cty.Value {
	v := cty.UnknownVal(ty)
	if ty == cty.DynamicPseudoType || c.nullable {
		return v
	}
	return v.RefineNotNull()
}

// all puts the marks of all arguments onto a result that is there before the function could see to
// them itself.
func (c *call) all(r cty.Value) cty.Value {
	for i, v := range c.given {
		if c.param(i).may(marked) {
			r = mark.Same(r, v)
		}
	}
	return c.taken.put(r)
}

// finish puts back the marks that were taken off, and reports the result to Env.Observe where it is to be observed.
func (c *call) finish(r cty.Value) (cty.Value, error) {
	if !c.nullable && !c.whole && !r.IsKnown() && r.Type() != cty.DynamicPseudoType {
		r = r.RefineNotNull()
	}
	r = c.taken.put(r)
	if c.observed && c.env.Observe != nil {
		if s, _ := c.look(r); !s.Unknown {
			if err := c.env.Observe(c.name, c.given, r); err != nil {
				return cty.NilVal, err
			}
		}
	}
	return r, nil
}
