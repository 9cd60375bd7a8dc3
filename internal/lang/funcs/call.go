package funcs

import (
	"math/big"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/syntax"
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

// render is the state of a template and of all that it calls.
type render struct {
	depth  int
	budget *syntax.Budget
	parsed map[string]*template // by name and text
}

// template is a parsed template. Its nodes draw on the budget of the call it was parsed for.
type template struct {
	expr hclsyntax.Expression
	refs []hcl.Traversal
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

// fixed is a function with a result of one type, which is not null.
func fixed(name, doc string, returns cty.Type, run func(*call) (cty.Value, error), params ...param) *builtin {
	return &builtin{name: name, doc: doc, params: params, returns: returns, run: run}
}

// varying is a function whose result has the type that kind gives for its arguments.
func varying(name, doc string, kind func(*call) (cty.Type, error), run func(*call) (cty.Value, error), params ...param) *builtin {
	return &builtin{name: name, doc: doc, params: params, returns: cty.DynamicPseudoType, kind: kind, run: run}
}

func text(name, doc string) param { return param{name: name, typ: cty.String, doc: doc} }

func number(name, doc string) param { return param{name: name, typ: cty.Number, doc: doc} }

func stringKind(*call) (cty.Type, error) { return cty.String, nil }

func stringsKind(*call) (cty.Type, error) { return cty.List(cty.String), nil }

// contents are for a walk within limits. Numbers that cannot be written down end it: cty compares what is written.
func contents(l *limits.Limits) ctyvalue.Contents {
	return ctyvalue.Contents{
		MostElements: l.Elements, MostBytes: l.Bytes, Number: func(f *big.Float) bool { return convert.Digits(f) == nil },
	}
}

// look walks through a value; all is false if the limits kept it from seeing all of it.
func (c *call) look(v cty.Value) (s ctyvalue.Contents, all bool) {
	s = contents(&c.limits)
	all = mark.Look(&s, v)
	return s, all
}

// Env is what functions see of the world. It is read at each call, from many goroutines, and must
// not be changed while calls run.
type Env struct {
	// BaseDir is the directory that relative paths of file functions start from; "" is the
	// working directory of the process.
	BaseDir string
	// Named is BaseDir as abspath calls it; "": by the same name.
	Named string
	// PlanTime is what plantimestamp returns; zero makes it unknown, as while validating.
	PlanTime time.Time
	// Pure is set while validating and planning: uuid, timestamp and bcrypt give unknown results.
	Pure bool
	// Observe gets what file functions and templatefile found, so that plan and apply can be
	// compared. Arguments and result carry their marks. It is called only with known results, from any
	// goroutine; nil: nothing is observed. The call fails with the error.
	Observe func(name string, args []cty.Value, result cty.Value) error
	// Limits are the budgets of one call, as they are when Table is called.
	Limits limits.Limits
	// Console adds the function type.
	Console bool
}
