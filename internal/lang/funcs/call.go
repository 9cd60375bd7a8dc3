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

// builtin describes one function of the language: a row in the tables of functions.
type builtin struct {
	name    string
	doc     string
	params  []param
	rest    *param   // the parameter for all further arguments; nil if the number of arguments is fixed
	returns cty.Type // the type of the result; cty.DynamicPseudoType if the type depends on the arguments

	// run computes the result. The arguments have been converted to the types of the parameters. They are neither null nor
	// unknown nor marked, unless the mode of the parameter permits it. Nested values may be null or unknown.
	run func(*call) (cty.Value, error)
	// kind returns the type of the result if an argument is unknown. A nil kind means that the type is returns.
	kind func(*call) (cty.Type, error)
	// nullable is true if the result can be null.
	nullable bool
	// impure is true if the function returns another result at each call, such as uuid. During plan, the result is
	// unknown.
	impure bool
	// timed is true if the result of an impure function is known whenever Env.Now is set, also during plan.
	timed bool
	// whole is true if run handles null values, unknown values and marks itself. The shared code of all calls then only
	// converts the arguments.
	whole bool
	// observed is true if the results are reported to Env.Observe, because they depend on files.
	observed bool
	// world is true if the result depends on more than the arguments, although the function is neither impure nor
	// observed.
	world bool
}

// param describes a parameter.
type param struct {
	name  string
	typ   cty.Type
	doc   string
	mode  mode
	shown cty.Type // the type in the signature that users see, if it differs from typ
}

// mode is a set of special arguments that a parameter accepts. Every parameter accepts known values without marks.
type mode uint8

const (
	null    mode = 1 << iota // the argument may be null
	unknown                  // the argument may be unknown
	dynamic                  // the type of the argument may be unknown
	marked                   // the argument may have marks at any depth, which run copies to the result
	quick                    // the argument is not searched for marks, because the time of the call must not depend on its size
)

func (p *param) may(m mode) bool { return p.mode&m != 0 }

// call is one call of a builtin.
type call struct {
	*builtin
	*scope
	given   []cty.Value // the arguments, converted to the types of the parameters
	args    []cty.Value // the arguments without the marks that finish adds to the result
	unknown bool        // at least one searched argument contains an unknown value
	marked  []int       // the indexes of the searched arguments that contain marks
	marks   marks       // functions that add the marks that were removed from args
}

// marks has functions that each add the marks which were removed from an argument to a value. finish calls them for the
// result of the call.
type marks []func(cty.Value) cty.Value

// unmark returns v without the marks on v itself, and adds a function to m that restores these marks.
func (m *marks) unmark(v cty.Value) cty.Value {
	if !mark.Is(v, mark.Sensitive) && !mark.Is(v, mark.Ephemeral) {
		return v
	}
	v, put := mark.Unmark(v)
	*m = append(*m, put)
	return v
}

// deep returns v without marks at any depth, and adds a function to m that puts all of them on one value.
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

// render has the state that a template and all templates that it calls share.
type render struct {
	depth  int // the number of templates around the present one, including it
	budget *syntax.Budget
	parsed map[string]*template // the parsed templates, by name and text
}

// template is a parsed template. The evaluation of its nodes uses the budget of the call that parsed it first.
type template struct {
	expr hclsyntax.Expression
	refs []hcl.Traversal // the references to variables in the template
}

// scope is the state that the functions of one table share.
type scope struct {
	env    *Env
	limits limits.Limits
	table  map[string]function.Function
	own    []*builtin // the functions that are replaced inside a template: templatefile and templatestring
	render *render    // the template that is being rendered; nil outside of templates
}

// param returns the parameter for argument i.
func (b *builtin) param(i int) *param {
	if i < len(b.params) {
		return &b.params[i]
	}
	return b.rest
}

// fixed returns a builtin whose result is never null. The argument returns is the type of the result. The function run
// computes the result. doc describes the builtin for users.
func fixed(name, doc string, returns cty.Type, run func(*call) (cty.Value, error), params ...param) *builtin {
	return &builtin{name: name, doc: doc, params: params, returns: returns, run: run}
}

// varying returns a builtin whose result type depends on the arguments: kind computes the type, and run computes the
// result. doc describes the function for users.
func varying(name, doc string, kind func(*call) (cty.Type, error), run func(*call) (cty.Value, error), params ...param) *builtin {
	return &builtin{name: name, doc: doc, params: params, returns: cty.DynamicPseudoType, kind: kind, run: run}
}

func text(name, doc string) param { return param{name: name, typ: cty.String, doc: doc} }

func number(name, doc string) param { return param{name: name, typ: cty.Number, doc: doc} }

func stringKind(*call) (cty.Type, error) { return cty.String, nil }

func stringsKind(*call) (cty.Type, error) { return cty.List(cty.String), nil }

// contents returns an empty ctyvalue.Contents, which counts the contents of a value, with the given limits. Counting
// ends at a number with too many digits to be written, because cty compares numbers by their text.
func contents(l *limits.Limits) ctyvalue.Contents {
	return ctyvalue.Contents{
		MostElements: l.Elements, MostBytes: l.Bytes, Number: func(f *big.Float) bool { return convert.Digits(f) == nil },
	}
}

// look counts the contents of a value. The result all is false if a limit ended the counting early.
func (c *call) look(v cty.Value) (s ctyvalue.Contents, all bool) {
	s = contents(&c.limits)
	all = mark.Look(&s, v)
	return s, all
}

// Env has the settings that functions can read. Calls read it from many goroutines, so it must not be changed while
// calls run.
type Env struct {
	// BaseDir is the directory against which file functions resolve relative paths. "" means the working directory of the
	// process.
	BaseDir string
	// Named is the name of BaseDir in results of abspath. "" means BaseDir itself.
	Named string
	// PlanTime is the result of plantimestamp. If it is zero, as during validation, the result of plantimestamp is
	// unknown.
	PlanTime time.Time
	// Now is the result of timestamp in all plans and applies of a command. If it is zero, timestamp returns the time of
	// each call.
	Now time.Time
	// Pure is true during validation and planning: uuid, timestamp and bcrypt then return unknown values. If Now is set,
	// timestamp returns Now nevertheless.
	Pure bool
	// Observe is called with each result of functions that read files, so that plan and apply can be compared. The
	// arguments and the result have their marks. It is called only for known results, from any goroutine. If it returns an
	// error, the call of the function fails with that error. A nil Observe means that nothing is reported.
	Observe func(name string, args []cty.Value, result cty.Value) error
	// Limits are the limits of the work of one call. Table copies them.
	Limits limits.Limits
	// Console makes the function type available.
	Console bool
}
