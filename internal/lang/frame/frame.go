package frame

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// walk has the data that all frames of one walk share. A walk is one pass through the program, such as a plan.
type walk struct {
	p      *program.Program
	o      Options
	table  map[string]function.Function
	budget *budget
	roots  map[string]cty.Value // the values of root variables, with cty marks
	static bool                 // no program exists yet; see StaticFrame
	fills  fills
	stage  atomic.Uint32 // idle, walking or done: decides what reading an empty slot means
	past   []atomic.Bool // by declaration: true if the walk will put no more objects into its slots
	names  expr.EphemeralNames
}

// Frame is one module instance in one walk, which is one pass through the program, such as a plan. It holds the values
// of its declarations in two faces, Before (the prior state) and After (the planned state). A cell holds the value of a
// variable, local or output, which is computed when it is first read. A slot holds the object of an instance of a
// resource, which the engine puts there. A Frame is safe for concurrent use.
type Frame struct {
	w      *walk
	n      *program.Node
	u      *program.Unit
	parent *Frame
	key    addr.Key // the instance key of the module call
	addr   addr.ModuleInstance

	replaced bool                 // the values in outputs replace the module instance
	outputs  map[string]cty.Value // the outputs that the caller gave for a replaced module instance

	vals    []cell                   // the cells of variables, locals and outputs, two faces each
	calls   []callCell               // the module calls, in the order of the calls
	first   int32                    // the index of the first resource among the declarations
	imports []imported               // the import blocks, in their order
	objs    []atomic.Pointer[object] // resources, providers and actions, two faces each
}

// Import is one object to be imported by an import block. Provider is the provider argument of the block, or nil. Range
// is the place for errors about the import.
type Import struct {
	To       addr.Instance
	ID       string
	Identity cty.Value // the identity of the object; NilVal if ID is set
	Unknown  bool      // the id or the identity is not known yet
	Provider *config.ProviderRef
	Key      addr.Key // the instance key in Provider; NoKey if it has none
	Block    *config.Import
	Range    diag.Range
}

// SameObject reports whether both imports have the same id or the same identity.
func (im Import) SameObject(other Import) bool {
	if im.Identity == cty.NilVal || other.Identity == cty.NilVal {
		return im.Identity == other.Identity && im.Unknown == other.Unknown && im.ID == other.ID
	}
	return im.Identity.RawEquals(other.Identity)
}

// imported is the result of evaluating an import block.
type imported struct {
	once    sync.Once
	list    []Import
	diags   []diag.Diagnostic
	outcome Status
}

// Replaced reports whether outputs that the caller gave replace the module instance (Options.Replaced).
func (f *Frame) Replaced() bool { return f.replaced }

func newFrame(w *walk, n *program.Node, parent *Frame, key addr.Key) *Frame {
	f := &Frame{w: w, n: n, u: n.Unit, parent: parent, key: key}
	if parent != nil {
		f.addr = parent.addr.Child(n.Config.Call.Name, key)
		if w.o.Replaced != nil {
			f.outputs, f.replaced = w.o.Replaced(f.addr)
		}
	}
	values, calls := len(f.u.Module.Variables)+len(f.u.Module.Locals)+len(f.u.Module.Outputs), len(f.u.Calls)
	f.vals = make([]cell, 2*values)
	f.calls = make([]callCell, calls)
	f.imports = make([]imported, len(f.u.Imports))
	f.first = int32(values + 2*calls)
	f.objs = make([]atomic.Pointer[object], 2*(len(f.u.Module.Resources)+len(f.u.Module.Providers)+len(f.u.Module.Actions)))
	return f
}

// Addr returns the address of the module instance.
func (f *Frame) Addr() addr.ModuleInstance { return f.addr }

// Program returns the program that the frame evaluates.
func (f *Frame) Program() *program.Program { return f.w.p }

// local returns the definition of d in the frame's unit. It panics if d belongs to another module.
func (f *Frame) local(d program.Decl) *program.Def {
	i := int(d) - int(f.n.Base)
	if i < 0 || i >= len(f.u.Defs) {
		panic("lang: " + f.w.p.Describe(d) + " is not a declaration of " + f.n.Config.Path.String())
	}
	return f.u.Defs[i]
}

// faceOf returns the face under which the values of a declaration are stored. If a declaration is steady
// (Options.Steady), its values before and after the run are equal, and both are stored as Before.
func (f *Frame) faceOf(d *program.Def, face Face) Face {
	if face == After && f.w.o.Steady != nil && f.w.o.Steady(f.n.Decl(d.Index)) {
		return Before
	}
	return face
}

func (f *Frame) object(d *program.Def, face Face) *object {
	p := &f.objs[2*(d.Index-f.first)+int32(f.faceOf(d, face))]
	if o := p.Load(); o != nil {
		return o
	}
	p.CompareAndSwap(nil, &object{})
	return p.Load()
}

func (f *Frame) repetition(d *program.Def, face Face) *repetition {
	if d.Kind == program.Call {
		return &f.calls[d.Nth].reps[f.faceOf(d, face)]
	}
	return &f.object(d, face).rep
}

// callCell has the repetition of a module call in a frame, and the frames of its instances.
type callCell struct {
	reps   [2]repetition // by face: Before and After
	mu     sync.Mutex
	frames map[addr.Key]*Frame // the frames of the instances that were needed so far
}

// child returns the frame of one instance of a module call, and creates it at its first use. It returns nil if the
// module could not be loaded.
func (f *Frame) child(call *program.Def, key addr.Key) *Frame {
	c := &f.calls[call.Nth]
	c.mu.Lock()
	defer c.mu.Unlock()
	if got := c.frames[key]; got != nil {
		return got
	}
	n := f.n.Children[call.Nth]
	if n == nil {
		return nil
	}
	if c.frames == nil {
		c.frames = map[addr.Key]*Frame{}
	}
	out := newFrame(f.w, n, f, key)
	c.frames[key] = out
	return out
}

func (f *Frame) root() *Frame {
	for f.parent != nil {
		f = f.parent
	}
	return f
}

// At returns the frame of a module instance. It returns nil if a module call on the way is not declared or could not be
// loaded, or has no such key among the keys known so far. At evaluates nothing.
func (f *Frame) At(mi addr.ModuleInstance, face Face) *Frame {
	if mi.IsRoot() {
		return f.root()
	}
	p := f.At(mi.Parent(), face)
	if p == nil {
		return nil
	}
	name, key := mi.Call()
	i, ok := p.u.Index(program.Call, name)
	if !ok {
		return nil
	}
	call := p.u.Defs[i]
	if !p.repetition(call, face).exists(call, face, key) {
		return nil
	}
	return p.child(call, key)
}

// EphemeralName reports whether an attribute name was made from ephemeral text in this walk. Such a name must not be
// shown.
func (f *Frame) EphemeralName(name string) bool { return f.w.names.Has(name) }

// nameOf returns the name of a variable, local or output for messages.
func nameOf(f *Frame, d *program.Def) string {
	switch d.Kind {
	case program.Variable:
		return "var." + d.Name
	case program.Local:
		return "local." + d.Name
	}
	if f.parent != nil {
		return "module." + f.n.Config.Call.Name + "." + d.Name
	}
	return "output." + d.Name
}

// The messages about ephemeral values begin like the messages in the RFC of OpenTofu that introduced them.

// trailOf returns a paragraph for messages with the path and the origin of a mark in a value, or "" if neither is
// known.
func trailOf(m mark.At) string {
	switch what := mark.PathString(m.Path); {
	case what == "" && m.Why == nil:
		return ""
	case what == "":
		return "\n\nThe value comes from " + expr.Trail(m.Why) + "."
	case m.Why == nil:
		return "\n\nThe ephemeral part is " + what + "."
	default:
		return "\n\nThe ephemeral part is " + what + ", which comes from " + expr.Trail(m.Why) + "."
	}
}

// cameFrom returns a sentence with the origin of an ephemeral value, or "" if it is not known.
func cameFrom(v cty.Value) string {
	at, ok := mark.Split(v).Find(mark.Ephemeral)
	if !ok || at.Why == nil {
		return ""
	}
	return " It comes from " + expr.Trail(at.Why) + "."
}

func place2(r diag.Range) string {
	return fmt.Sprintf("%s:%d,%d-%d", r.Filename, r.Start.Line, r.Start.Column, r.End.Column)
}
