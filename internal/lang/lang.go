package lang

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/zclconf/go-cty/cty"
)

// Compile gives a configuration its meaning and checks what needs no schema (program.Compile, vet.Structure). The
// program is there after mistakes, too, so that the rest can be reported.
func Compile(tree *config.Tree, bag *diag.Bag) (*Program, bool) {
	p, ok := program.Compile(tree, bag)
	return p, vet.Structure(p, bag) && ok
}

// Vet holds a program against the schemas of its providers, as has to be done before there are frames (vet.Check).
func Vet(p *Program, s Schemas, o CheckOptions, bag *diag.Bag) bool { return vet.Check(p, s, o, bag) }

// NewFrame makes the root frame of a walk: the root module's variables are converted and checked (frame.New).
func NewFrame(p *Program, o Options, bag *diag.Bag) (*Frame, bool) { return frame.New(p, o, bag) }

// What package program calls so: a compiled configuration and what is in it.
type (
	Program     = program.Program
	Schemas     = program.Schemas
	Declaration = program.Declaration
	Decl        = program.Decl
	Kind        = program.Kind
	Ref         = program.Ref
	Use         = program.Use
	KeyHint     = program.KeyHint
	RepeatKind  = program.RepeatKind
	When        = program.When
	Move        = program.Move
)

// Kinds of declarations.
const (
	Variable       = program.Variable
	Local          = program.Local
	Output         = program.Output
	Call           = program.Call
	ModuleContents = program.ModuleContents
	Resource       = program.Resource
	Provider       = program.Provider
	Check          = program.Check
)

// Nowhere is the declaration of what belongs to none.
const Nowhere = program.NoDecl

// Why a reference is there.
const (
	ByValue     = program.ByValue
	ByRepeat    = program.ByRepeat
	ByDepends   = program.ByDepends
	ByModule    = program.ByModule
	ByProvider  = program.ByProvider
	ByCondition = program.ByCondition
	ByTrigger   = program.ByTrigger
	ByLifecycle = program.ByLifecycle
	ByProvision = program.ByProvision
	ByImport    = program.ByImport
	ByFunction  = program.ByFunction
	ByNull      = program.ByNull
)

// Which instances of its target a reference means.
const (
	AllKeys = program.AllKeys
	Same    = program.Same
	Fixed   = program.Fixed
	Single  = program.Single
)

// What makes instances.
const (
	Once    = program.Once
	Count   = program.Count
	ForEach = program.ForEach
	Enabled = program.Enabled
)

// Which conditions of a declaration are meant.
const (
	Pre        = program.Pre
	Post       = program.Post
	Validation = program.Validation
	OutputPre  = program.OutputPre
	Assert     = program.Assert
)

// What package frame calls so: evaluation.
type (
	Frame       = frame.Frame
	StaticFrame = frame.StaticFrame
	Options     = frame.Options
	Run         = frame.Run
	NoRun       = frame.NoRun
	Functions   = frame.Functions
	Given       = frame.Given
	Scope       = frame.Scope
	Face        = frame.Face
	Status      = frame.Status
	Outcome     = frame.Outcome
	Keys        = frame.Keys
	Import      = frame.Import
	Trigger     = frame.Trigger
	Result      = frame.Result
	Input       = frame.Input
)

// The faces.
const (
	Before = frame.Before
	After  = frame.After
)

// What is known of keys, and how an evaluation went.
const (
	Known   = frame.Known
	Unknown = frame.Unknown
	Failed  = frame.Failed
	Broken  = frame.Broken
	OK      = frame.OK
)

// What has been typed into a console so far.
const (
	Blank        = frame.Blank
	Open         = frame.Open
	Closed       = frame.Closed
	LongestInput = frame.LongestInput
)

// CheckOptions say how far Vet goes.
type CheckOptions = vet.CheckOptions

// ErrReported is the error of Functions where a provider could not be asked, and that is in the bag.
var ErrReported = frame.ErrReported

// Static makes the static frame of a root module (frame.Static).
func Static(m *config.Module, vars map[string]Given, o Options) *StaticFrame {
	return frame.Static(m, vars, o)
}

// StaticSource evaluates the source of a module call (frame.StaticSource).
func StaticSource(parent *config.Node, call *config.Call, o Options, bag *diag.Bag) (string, bool) {
	return frame.StaticSource(parent, call, o, bag)
}

// StaticVersion evaluates the version argument of a module call (frame.StaticVersion).
func StaticVersion(parent *config.Node, call *config.Call, o Options, bag *diag.Bag) (string, bool) {
	return frame.StaticVersion(parent, call, o, bag)
}

// Typed tells what has been typed into a console so far.
func Typed(src []byte) Input { return frame.Typed(src) }

// MayClose reports whether a line can end what was begun before it (frame.MayClose).
func MayClose(line string) bool { return frame.MayClose(line) }

// RepeatOf says what makes the instances of a resource, from its declaration alone.
func RepeatOf(r *config.Resource) RepeatKind { return program.RepeatOf(r) }

// MovedStill is the error about a move of what is declared where it was.
func MovedStill(m *Move, what, from string, at diag.Range) diag.Diagnostic {
	return program.MovedStill(m, what, from, at)
}

// Path is a relative traversal as a path, as far as its steps are constant.
func Path(t hcl.Traversal) cty.Path { return expr.Path(t) }
