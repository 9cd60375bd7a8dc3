package frame

import (
	"github.com/lethe-iac/lethe/internal/limits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// Face is one of the two times that every value has.
type Face uint8

// The faces.
const (
	Before Face = iota // what is there
	After              // what will be
)

// Status says what is known of a value or of keys; Outcome how an evaluation went.
type Status uint8

// Outcome is a Status: Failed means the same in both.
type Outcome = Status

// The outcomes.
const (
	Known   Status = iota // of keys: decided
	Unknown               // of keys: depends on what is not known yet
	Failed                // something it needs failed; nothing was reported here
	Broken                // a diagnostic is in the bag
	OK      = Known
)

// Options say what a walk is for.
type Options struct {
	Variables map[string]Given // root variables as set
	Workspace string
	Applying  bool                    // terraform.applying
	PlanTime  time.Time               // plantimestamp(); zero: unknown
	Pure      bool                    // planning: uuid() and the like are unknown
	RootDir   string                  // the root module: path.root and path.module are relative to it; "": as that module says
	Cwd       string                  // path.cwd
	BaseDir   string                  // where relative paths of file functions begin; "": RootDir
	Validate  bool                    // everything that is not literal is unknown
	Run       Run                     // nil: NoRun
	Steady    func(program.Decl) bool // declarations whose two faces are one; nil: none
	Limits    limits.Limits
	Console   bool         // there is a function type
	Closed    shortcut.Set // what is not to be taken
}

// Given is the value of a root variable as the user set it.
type Given struct {
	Value  cty.Value
	Text   string
	IsText bool   // Text is to be read by the variable's type
	From   string // "-var", "TF_VAR_x", a file name
	Range  diag.Range
}

// walk is what all frames of one walk share.
type walk struct {
	p      *program.Program
	o      Options
	table  map[string]function.Function
	budget *budget
	roots  map[string]cty.Value // root variables, joined
	static *StaticFrame
	fills  atomic.Uint64 // how often something came that may have been missed before
	stage  atomic.Uint32 // what an empty slot means
	past   []atomic.Bool // by declaration: its slots are as full as they will be
	names  expr.EphemeralNames
}

// Frame is one module instance in one walk: a slot for every declaration, with two faces. It may
// be used from many goroutines.
type Frame struct {
	w      *walk
	n      *program.Node
	u      *program.Unit
	parent *Frame
	key    addr.Key // of the call's instance
	addr   addr.ModuleInstance

	vals    []cell                   // variables, locals and outputs, two faces each
	calls   []callCell               // by the order of calls
	first   int32                    // index of the first resource
	imports []imported               // of the import blocks
	objs    []atomic.Pointer[object] // resources and providers, two faces each
}

func newFrame(w *walk, n *program.Node, parent *Frame, key addr.Key) *Frame {
	f := &Frame{w: w, n: n, u: n.Unit, parent: parent, key: key}
	if parent != nil {
		f.addr = parent.addr.Child(n.Config.Call.Name, key)
	}
	values, calls := len(f.u.Module.Variables)+len(f.u.Module.Locals)+len(f.u.Module.Outputs), len(f.u.Calls)
	f.vals = make([]cell, 2*values)
	f.calls = make([]callCell, calls)
	f.imports = make([]imported, len(f.u.Imports))
	f.first = int32(values + 2*calls)
	f.objs = make([]atomic.Pointer[object], 2*(len(f.u.Module.Resources)+len(f.u.Module.Providers)))
	return f
}

// Addr is the module instance.
func (f *Frame) Addr() addr.ModuleInstance { return f.addr }

// Program is what the frame evaluates.
func (f *Frame) Program() *program.Program { return f.w.p }

// local is d inside the frame's unit. The engine asks the frame of the declaration's own module.
func (f *Frame) local(d program.Decl) *program.Def {
	i := int(d) - int(f.n.Base)
	if i < 0 || i >= len(f.u.Defs) {
		panic("lang: " + f.w.p.Describe(d) + " is not a declaration of " + f.n.Config.Path.String())
	}
	return f.u.Defs[i]
}

// faceOf is the face under which a declaration's values are kept.
func (f *Frame) faceOf(d *program.Def, face Face) Face {
	if face == After && f.w.o.Steady != nil && f.w.o.Steady(f.n.Decl(d.Index)) {
		return Before
	}
	return face
}

// object is what there is of a resource or a provider in a frame, in one face: keys and instances.
type object struct {
	rep   repetition
	mu    sync.RWMutex
	one   atomic.Pointer[slot]
	ints  []*slot
	strs  map[string]*slot
	whole atomic.Pointer[whole]

	missed atomic.Bool // an instance was looked for that was not there
}

func (f *Frame) object(d *program.Def, face Face) *object {
	p := &f.objs[2*(d.Index-f.first)+int32(f.faceOf(d, face))]
	if o := p.Load(); o != nil {
		return o
	}
	p.CompareAndSwap(nil, &object{})
	return p.Load()
}

// callCell is what there is of a module call in a frame.
type callCell struct {
	reps   [2]repetition
	mu     sync.Mutex
	frames map[addr.Key]*Frame
}

// child is the frame of one instance of a call, made when first asked for.
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

// Instances lists the instances of a module below the root frame that are there already: it
// evaluates nothing. The status is the worst met: of calls that were not expanded yet, or whose keys
// are unknown or failed, no instances are listed.
func (f *Frame) Instances(m addr.Module, face Face) ([]*Frame, Status) {
	return instancesOf(f, m, func(p *Frame, call *program.Def) Keys { return p.repetition(call, face).expanded(call, face) })
}

// Expand lists the instances of a module, and evaluates the repetition of calls on the way. In a walk
// calls are expanded at their own nodes; this is for frames that are none.
func (f *Frame) Expand(m addr.Module, face Face, bag *diag.Bag) ([]*Frame, Status) {
	return instancesOf(f, m, func(p *Frame, call *program.Def) Keys { return p.keys(call, face, bag) })
}

func instancesOf(f *Frame, m addr.Module, keysOf func(*Frame, *program.Def) Keys) ([]*Frame, Status) {
	if m.IsRoot() {
		return []*Frame{f.root()}, Known
	}
	parents, status := instancesOf(f, m.Parent(), keysOf)
	var out []*Frame
	for _, p := range parents {
		i, ok := p.u.Index(program.Call, m.Name())
		if !ok {
			return nil, status
		}
		call := p.u.Defs[i]
		keys := keysOf(p, call)
		status = max(status, keys.Status)
		for _, k := range keys.List {
			if c := p.child(call, k); c != nil {
				out = append(out, c)
			}
		}
	}
	return out, status
}

func (f *Frame) root() *Frame {
	for f.parent != nil {
		f = f.parent
	}
	return f
}

// At is the frame of a module instance; nil if there is no such instance among the keys known so
// far. It expands nothing that was not expanded before.
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
	if !p.repetition(call, face).there(call, face, key) {
		return nil
	}
	return p.child(call, key)
}

// EphemeralName reports whether a name of an attribute was made of ephemeral text, so that it must not be shown.
func (f *Frame) EphemeralName(name string) bool { return f.w.names.Has(name) }
