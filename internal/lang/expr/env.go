package expr

import (
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
)

// Scope resolves the references of an expression. Package frame implements it for commands, and tests have simpler
// implementations.
type Scope interface {
	// Value returns the value that a reference names, without the steps in e.Rest.
	Value(e *Ref) (cty.Value, hcl.Diagnostics)
	// Instance returns the value of one instance of the target of a reference, or the output e.Output of this instance
	// if e.Output is set. The parameter at is the range of the key. The caller adds the marks of the key to the result.
	Instance(e *Ref, key cty.Value, at hcl.Range) (cty.Value, hcl.Diagnostics)
	// Sample returns a value that represents any instance of a repeated target whose instances are not known. It has the
	// properties that an instance can have: for example, its attributes may be ephemeral. Sample returns false if the
	// instances are known.
	Sample(e *Ref) (cty.Value, bool)
	// Call calls a provider function with the arguments of e in the context ctx.
	Call(e *ProviderCall, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics)
}

// meter limits the work of an evaluation. Its methods return false if a limit is exceeded. The meter then adds an error
// about the position to the bag, once for each evaluation.
type meter interface {
	// Element counts one more element that a loop makes.
	Element(at hcl.Range) bool
	// Work counts the work that a function inside a loop does on a value, with cost for each element.
	Work(cost int, v cty.Value, at hcl.Range) bool
	// Keep counts the value that a loop keeps from one iteration. made is the number of elements that this loop has kept
	// so far, and Keep increases it.
	Keep(made *int, v cty.Value, at hcl.Range) bool
	// TextLimit returns the greatest length of a string in bytes.
	TextLimit() int
	// Exceeded reports whether the evaluation has exceeded a limit.
	Exceeded() bool
}

// Env is one evaluation as nodes see it: the names, the limits, and the state. Nodes find it in the root of the
// library's evaluation context, under a variable name that no identifier can have.
type Env struct {
	Ctx      *hcl.EvalContext // the root context, whose only variable refers to this Env
	Scope    Scope            // resolves names; nil means that no names are defined
	Meter    meter            // limits the work; nil means no limits
	Bag      *diag.Bag
	Names    *EphemeralNames // records the attribute names that were made from ephemeral text
	Block    diag.Range      // the range of the evaluated block, for errors about missing arguments
	Validate bool            // the evaluation validates the configuration: only literal values are known

	// Again returns the result of the call of uuid at a place. A command may plan and apply several times, in rounds. If
	// an earlier round of the command has made this call, Again returns the earlier result. Otherwise it calls call. If
	// Again is nil, call is called each time.
	Again func(at hcl.Range, call func() (cty.Value, hcl.Diagnostics)) (cty.Value, hcl.Diagnostics)

	// Marked is set when the evaluation reads or creates a marked value. While it is false, results need no search for
	// marks.
	Marked bool
	Failed bool // the evaluation has read a value that failed; the error was reported when that value was computed
	Broken bool // this evaluation has added an error to Bag

	// SetLeaves has, for each set with ephemeral values in the order of evaluation, the position of the first. The
	// marks of a set do not tell which element is ephemeral, because elements of a set have no paths.
	SetLeaves []SetLeaf

	explaining bool        // values for a diagnostic are being collected, so errors meanwhile collect no values
	seen       []cty.Value // the arguments of the function calls in progress
}

// SetLeaf is the position of an ephemeral value in a set: the attribute or block type of the set, the path inside the
// element, and the range in the source.
type SetLeaf struct {
	Set  string
	Path cty.Path
	At   diag.Range
}

const envName = "\x00"

var envType = cty.Capsule("env", reflect.TypeFor[Env]())

// Init creates the evaluation context of v. Several evaluations can use this context one after the other.
func (v *Env) Init() {
	v.Ctx = &hcl.EvalContext{Variables: map[string]cty.Value{envName: cty.CapsuleVal(envType, v)}}
}

// Fresh returns an Env for a new evaluation that reuses the context of v.
func (v *Env) Fresh() Env {
	v.Ctx.Functions = nil
	return Env{Ctx: v.Ctx, seen: v.seen[:0]}
}

// NewEnv returns an Env for an evaluation without names.
func NewEnv(bag *diag.Bag) *Env {
	out := &Env{Bag: bag, Names: &EphemeralNames{}}
	out.Init()
	return out
}

// envOf returns the Env of an evaluation context. It returns nil if the context has none.
func envOf(ctx *hcl.EvalContext) *Env {
	if ctx == nil {
		return nil
	}
	for p := ctx.Parent(); p != nil; p = ctx.Parent() {
		ctx = p
	}
	v, ok := ctx.Variables[envName]
	if !ok {
		return nil
	}
	return v.EncapsulatedValue().(*Env)
}

// Error adds an error or a warning of the evaluation to the bag.
func (v *Env) Error(d diag.Diagnostic) {
	v.Bag.Add(d)
	if d.Severity == diag.Error {
		v.Broken = true
	}
}

func (v *Env) errors(ds []diag.Diagnostic) {
	for _, d := range ds {
		v.Error(d)
	}
}

// Suppose calls evaluate for the content of a dynamic block that may generate no block. The errors of evaluate become
// warnings. The exception is an error about an exceeded limit, which stays an error.
func (v *Env) Suppose(evaluate func()) {
	bag, broken := v.Bag, v.Broken
	own := &diag.Bag{}
	v.Bag = own
	evaluate()
	v.Bag = bag
	exceeded := v.Meter != nil && v.Meter.Exceeded() // an error about an exceeded limit must stay an error
	v.Broken = broken || exceeded
	for _, d := range own.List() {
		if d.Severity == diag.Error && !exceeded {
			d.Severity = diag.Warning
			d.Detail += " This becomes an error when the dynamic block generates a block."
		}
		bag.Add(d)
	}
}

// Ref is a compiled reference: a declaration in the module of the expression, and the steps that are selected from its
// value. A unit is a module that was compiled once for all its calls (program.Unit).
type Ref struct {
	*hclsyntax.ScopeTraversalExpr
	Root     Root
	Local    int32    // the index of the declaration in its unit
	Key      addr.Key // the instance, if HasKey
	HasKey   bool
	Output   string        // the output that is selected from a module call; "" selects all outputs
	Field    string        // the attribute of path, terraform, count or each, such as "module" in path.module
	Rest     hcl.Traversal // steps after the name
	Repeated bool          // the target has count or for_each
	Wrong    bool          // the schema has no such attribute; Bind has reported the error, and the value is unknown
}

// Root is the kind of target of a reference.
type Root uint8

// The kinds of targets, by the beginning of the reference.
const (
	RootVariable  Root = iota // var.NAME
	RootLocal                 // local.NAME
	RootCall                  // module.NAME
	RootResource              // TYPE.NAME, data.TYPE.NAME, ephemeral.TYPE.NAME and other references to a resource
	RootPath                  // path.FIELD
	RootTerraform             // terraform.FIELD, tofu.FIELD
	RootCount                 // count.index
	RootEach                  // each.key, each.value
	RootSelf                  // self
)

// ProviderCall is a call of a provider function: provider::LOCAL::NAME or provider::LOCAL::ALIAS::NAME. LOCAL is the
// module's local name for the provider. ALIAS selects one of its configurations; it is "" in the first form.
type ProviderCall struct {
	*hclsyntax.FunctionCallExpr
	Provider addr.Provider
	Local    string
	Alias    string
	Name     string
	// Bind, which compares the call with the schemas, sets Configured if only a configured provider can have the function,
	// and Wrong if no provider has it.
	Configured, Wrong bool
}
