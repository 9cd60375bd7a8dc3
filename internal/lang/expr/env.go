package expr

import (
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
)

// Scope says what references mean where an expression is evaluated. Package frame has the one that counts; tests
// have simpler ones.
type Scope interface {
	// Value is the value of what a reference names, before e.rest is selected from it.
	Value(e *Ref) (cty.Value, hcl.Diagnostics)
	// Instance is the value of one instance of what a reference names, or of the output of it that the
	// reference is about. at is where the key stands. The result need not carry the key's marks.
	Instance(e *Ref, key cty.Value, at hcl.Range) (cty.Value, hcl.Diagnostics)
	// Sample stands for any instance of something repeated while it is not known which instances there are:
	// its parts may be ephemeral, for example. It is false where the instances are known.
	Sample(e *Ref) (cty.Value, bool)
	// Call calls the function of a provider.
	Call(e *ProviderCall, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics)
}

// meter bounds what an evaluation makes and goes through. Its methods report whether that is within the
// limits; where it is not, the meter has put an error about the place into the bag, once for each evaluation.
type meter interface {
	// Element counts one more element that a loop makes.
	Element(at hcl.Range) bool
	// Work counts that a function in a loop goes through a value, at a cost for each element of it.
	Work(cost int, v cty.Value, at hcl.Range) bool
	// Keep counts what a loop keeps of one turn; made is the sum for this loop so far.
	Keep(made *int, v cty.Value, at hcl.Range) bool
	// TextLimit is how many bytes one string may have.
	TextLimit() int
	// Exceeded is whether the evaluation has passed a limit.
	Exceeded() bool
}

// Env is one evaluation, as the nodes of the expression see it: what names mean, what it may cost, and how
// it went so far. Nodes find it in the root of the library's evaluation context, under a name that no
// identifier can have.
type Env struct {
	Ctx      *hcl.EvalContext // the root; its only variable leads back here
	Scope    Scope            // nil: there are no names
	Meter    meter            // nil: nothing is bounded
	Bag      *diag.Bag
	Names    *EphemeralNames
	Block    diag.Range // the block that is evaluated, for what is missing in it
	Validate bool       // nothing is known but what is written out: mistakes are looked for everywhere

	// Marked is set once something with a mark was read or made. As long as it is not, there is no need to
	// look through a result for marks.
	Marked bool
	Failed bool // something that was read has failed, and that is reported elsewhere
	Broken bool // something that was read is broken, and that is in the bag

	// SetLeaves is where something ephemeral was put into sets, in their order: members have no place in a set,
	// whose marks say no more than that something in it is ephemeral.
	SetLeaves []SetLeaf

	explaining bool        // values are collected for a diagnostic: none are for one about that
	seen       []cty.Value // arguments of the calls that are running
}

// SetLeaf is what is ephemeral in a set: the attribute or block type that the set belongs to, the way there
// from a member, and where it is written.
type SetLeaf struct {
	Set  string
	Path cty.Path
	At   diag.Range
}

const envName = "\x00"

var envType = cty.Capsule("env", reflect.TypeFor[Env]())

// Init makes the context of an evaluation, which can be used for one after the other.
func (v *Env) Init() {
	v.Ctx = &hcl.EvalContext{Variables: map[string]cty.Value{envName: cty.CapsuleVal(envType, v)}}
}

// Fresh is an evaluation in the same place that has not begun.
func (v *Env) Fresh() Env {
	v.Ctx.Functions = nil
	return Env{Ctx: v.Ctx, seen: v.seen[:0]}
}

// NewEnv is the evaluation of something that refers to nothing.
func NewEnv(bag *diag.Bag) *Env {
	out := &Env{Bag: bag, Names: &EphemeralNames{}}
	out.Init()
	return out
}

// envOf finds the evaluation that a context belongs to; nil if it belongs to none.
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

// Error reports a mistake found while evaluating, or a warning.
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

// Suppose evaluates the content of a dynamic block of which nothing says yet that it makes a block: mistakes are warnings.
func (v *Env) Suppose(evaluate func()) {
	bag, broken := v.Bag, v.Broken
	own := &diag.Bag{}
	v.Bag = own
	evaluate()
	v.Bag = bag
	exceeded := v.Meter != nil && v.Meter.Exceeded() // what follows is not evaluated either
	v.Broken = broken || exceeded
	for _, d := range own.List() {
		if d.Severity == diag.Error && !exceeded {
			d.Severity = diag.Warning
			d.Detail += " This is an error as soon as the dynamic block makes a block."
		}
		bag.Add(d)
	}
}

// Ref is a compiled reference: what it names in its unit, and what is selected from that.
type Ref struct {
	*hclsyntax.ScopeTraversalExpr
	Root     Root
	Local    int32    // index of the declaration in the unit
	Key      addr.Key // the instance, if hasKey
	HasKey   bool
	Output   string        // of a module call; "" for all of it
	Field    string        // of path, terraform, count, each
	Rest     hcl.Traversal // what is selected from the value
	Repeated bool          // it has count or for_each
	Wrong    bool          // it selects what the schema does not have, as Bind has reported
}

// Root is what the first names of a reference stand for.
type Root uint8

// The roots of references, by how they begin.
const (
	RootVariable  Root = iota // var.NAME
	RootLocal                 // local.NAME
	RootCall                  // module.NAME
	RootResource              // TYPE.NAME, data.TYPE.NAME, ephemeral.TYPE.NAME
	RootPath                  // path.FIELD
	RootTerraform             // terraform.FIELD
	RootCount                 // count.index
	RootEach                  // each.key, each.value
	RootSelf                  // self
)

// ProviderCall is a call of a provider's function: provider::LOCAL::NAME or provider::LOCAL::ALIAS::NAME.
type ProviderCall struct {
	*hclsyntax.FunctionCallExpr
	Provider addr.Provider
	Local    string
	Alias    string
	Name     string
	// configured is set by Bind if only a configured provider has the function, wrong if no provider has it.
	Configured, Wrong bool
}
