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

// builtin describes one function of the language.
type builtin struct {
	name    string
	doc     string
	params  []param
	rest    *param   // describes further arguments; nil if the function takes a fixed number
	returns cty.Type // cty.DynamicPseudoType if the type depends on the arguments

	// run computes the result. The arguments are converted to the parameters' types. They are neither null nor unknown
	// nor marked, unless the mode of the parameter allows it. Nested values may be null or unknown.
	run func(*call) (cty.Value, error)
	// kind returns the type of the result if an argument is unknown. If kind is nil, the type is returns.
	kind func(*call) (cty.Type, error)
	// nullable is true if the result can be null.
	nullable bool
	// impure is true if the function returns another result in each run. The result is then unknown during plan.
	impure bool
	// timed is true if an impure function has a known result whenever Env.Now is set.
	timed bool
	// whole is true if run handles null values, unknown values and marks itself. invoke then only converts the
	// arguments.
	whole bool
	// observed is true if the results are reported to Env.Observe.
	observed bool
	// world is true if the result depends on more than the arguments, and the function is neither impure nor observed.
	world bool
}

// param describes a parameter.
type param struct {
	name  string
	typ   cty.Type
	doc   string
	mode  mode
	shown cty.Type // the type in the signature, if it differs from typ
}

// mode is a set of special arguments that a parameter accepts. Every parameter accepts known values without marks.
type mode uint8

const (
	null    mode = 1 << iota // a null
	unknown                  // an unknown value
	dynamic                  // a value whose type is unknown, too
	marked                   // marks at any depth, which run copies to the result
	quick                    // a value that is not searched, because the time of the call must not depend on its size
)

func (p *param) may(m mode) bool { return p.mode&m != 0 }

// call is one call of a builtin.
type call struct {
	*builtin
	*scope
	given   []cty.Value // the arguments, converted to the types of the parameters
	args    []cty.Value // given, without the marks that finish adds to the result
	unknown bool        // an argument that was searched contains an unknown value
	marked  []int       // the indices of the searched arguments that contain marks
	marks   marks       // the marks that were removed from args
}

// marks holds functions. Each adds marks, which were removed from an argument, to a value. finish applies them to the
// result of the call.
type marks []func(cty.Value) cty.Value

// unmark returns v without the marks on v itself, and adds a function that restores them to m.
func (m *marks) unmark(v cty.Value) cty.Value {
	if !mark.Is(v, mark.Sensitive) && !mark.Is(v, mark.Ephemeral) {
		return v
	}
	v, put := mark.Unmark(v)
	*m = append(*m, put)
	return v
}

// deep returns v without marks at any depth, and adds a function that restores all of them on one value to m.
func (m *marks) deep(v cty.Value) cty.Value {
	v, put := mark.UnmarkDeep(v)
	*m = append(*m, put)
	return v
}

func (m marks) put(v cty.Value) cty.Value {
	for _, put := range m {
		v = put(v)
	}
	return v
}

// render is the state of a template and of all templates that it calls.
type render struct {
	depth  int // number of templates around each other, including this one
	budget *syntax.Budget
	parsed map[string]*template // keyed by name and text
}

// template is a parsed template. The evaluation of its nodes takes from the budget of the call that parsed it.
type template struct {
	expr hclsyntax.Expression
	refs []hcl.Traversal // the references to variables
}

// scope is the state that the functions of one table share.
type scope struct {
	env    *Env
	limits limits.Limits
	table  map[string]function.Function
	own    []*builtin // the functions with another implementation inside a template
	render *render    // the template being rendered; nil outside of templates
}

// param returns the parameter for argument i.
func (b *builtin) param(i int) *param {
	if i < len(b.params) {
		return &b.params[i]
	}
	return b.rest
}

// fixed returns a function whose result has the constant type returns and is never null. run computes the result. doc
// is the description of the function.
func fixed(name, doc string, returns cty.Type, run func(*call) (cty.Value, error), params ...param) *builtin {
	return &builtin{name: name, doc: doc, params: params, returns: returns, run: run}
}

// varying returns a function whose result type depends on the arguments: kind computes the type, and run the result.
// doc is the description of the function.
func varying(name, doc string, kind func(*call) (cty.Type, error), run func(*call) (cty.Value, error), params ...param) *builtin {
	return &builtin{name: name, doc: doc, params: params, returns: cty.DynamicPseudoType, kind: kind, run: run}
}

func text(name, doc string) param { return param{name: name, typ: cty.String, doc: doc} }

func number(name, doc string) param { return param{name: name, typ: cty.Number, doc: doc} }

func stringKind(*call) (cty.Type, error) { return cty.String, nil }

func stringsKind(*call) (cty.Type, error) { return cty.List(cty.String), nil }

// contents returns an empty ctyvalue.Contents with the given limits. A walk ends at a number with too many digits to be
// written, because cty compares numbers by their text.
func contents(l *limits.Limits) ctyvalue.Contents {
	return ctyvalue.Contents{
		MostElements: l.Elements, MostBytes: l.Bytes, Number: func(f *big.Float) bool { return convert.Digits(f) == nil },
	}
}

// look walks through a value and counts its contents. all is false if a limit ended the walk early.
func (c *call) look(v cty.Value) (s ctyvalue.Contents, all bool) {
	s = contents(&c.limits)
	all = mark.Look(&s, v)
	return s, all
}

// Env holds the environment that functions can read. Each call reads it, from many goroutines, so it must not be
// changed while calls run.
type Env struct {
	// BaseDir is the directory to which the relative paths of file functions are relative. If BaseDir is "", this is
	// the working directory of the process.
	BaseDir string
	// Named is the name of BaseDir in results of abspath. If it is "", abspath uses BaseDir.
	Named string
	// PlanTime is the result of plantimestamp. If it is zero, as during validation, the result is unknown.
	PlanTime time.Time
	// Now is the result of timestamp in all plans and applies of a command. If it is zero, timestamp returns the time
	// of the call.
	Now time.Time
	// Pure is true during validation and planning: uuid, timestamp and bcrypt then return unknown values. The result of
	// timestamp is known nevertheless if Now is set.
	Pure bool
	// Observe receives each result of functions that read files, so that plan and apply can be compared. The
	// arguments and the result carry their marks. It is called only with known results, from any goroutine. If it
	// returns an error, the call fails with that error. If Observe is nil, no results are reported.
	Observe func(name string, args []cty.Value, result cty.Value) error
	// Limits are the budgets of one call. Table copies them.
	Limits limits.Limits
	// Console adds the function type.
	Console bool
}
