// Package combine generates scenarios from all features of the language, runs them with Lethe and, if it has the same
// features, with Terraform, and judges the results.
package combine

import (
	"slices"

	"github.com/lethe-iac/lethe/test/combine/cloud"
)

// A Scenario is the work of a user in one directory. It is data, so that it can be printed and shrunk.
type Scenario struct {
	Seed  uint64
	Alone bool // the scenario uses features that Terraform does not have
	Twice bool // a second Lethe (the twin) runs the scenario, too: where one of them saves a plan before the apply, the other applies directly
	Steps []*Step
}

// A Step holds the current configuration, changes of the cloud, and one command.
type Step struct {
	Config *Module
	Drifts []Drift
	Faults []cloud.Fault
	Do     Command
}

// A Command is a plan and the use of the plan.
type Command struct {
	Apply   bool
	Direct  bool // apply without a plan that was saved and shown before
	Destroy bool
	Refresh string   // the value of -refresh: "" or "false"; "only": -refresh-only
	Target  []string // addresses for -target; Exclude and Replace are the addresses for -exclude and -replace
	Exclude []string
	Replace []string
	Peer    bool // Terraform runs the command in both directories, as before a user switches to Lethe
	Process bool // the provider runs in a separate process
}

// full reports whether the command applies all changes of the configuration, after a refresh.
func (c Command) full() bool {
	return c.Apply && !c.Destroy && c.Refresh == "" && len(c.Target)+len(c.Exclude) == 0
}

// A Drift is a change of the cloud by others, or of the state by the user. Object selects an existing object by ID or
// address, modulo their number.
type Drift struct {
	Do     string // for the cloud: delete, change or seed; for the state: taint, untaint, mv, rm or import
	Object int
	ID     string // the ID of the seeded or imported object
	To     string // the address for the import
}

// A Module is a directory of blocks. A block refers only to blocks before it.
type Module struct {
	Blocks []*Block
}

// Kind is the kind of declaration of a block.
type Kind string

// The kinds of blocks. Nested ones are parts of others.
const (
	Variable  Kind = "variable"
	Local     Kind = "local"
	Resource  Kind = "resource"
	Data      Kind = "data"
	Ephemeral Kind = "ephemeral"
	Provider  Kind = "provider"
	Call      Kind = "module"
	Output    Kind = "output"
	Check     Kind = "check"
	Moved     Kind = "moved"
	Removed   Kind = "removed"
	Import    Kind = "import"
	Nested    Kind = "nested"
)

// A Block is a declaration. ID is the same in all steps; everything else may change.
type Block struct {
	ID     int
	Kind   Kind
	Type   string // the type of a resource; for a nested block, its keyword
	Name   string
	Args   []Arg
	Nested []*Block
	Module *Module // the called module; nil for other blocks
	Form   Form
}

// A Form is the way in which a block is written.
type Form string

// The forms.
const (
	Native   Form = ""
	JSON     Form = "json"
	Override Form = "override" // an override file replaces a part of the block
)

// An Arg is an argument. For a variable of the root module, "value" is the value from the user.
type Arg struct {
	Name  string
	Value *Expr
}

// Type is the type of an expression, as far as the generator needs it.
type Type string

// The types.
const (
	Text   Type = "text"
	Number Type = "number"
	Bool   Type = "bool"
	Texts  Type = "texts"
	Map    Type = "map"
	Any    Type = "any"
	Raw    Type = "raw" // references without evaluation: depends_on, provider, addresses
)

// An Expr is an expression. Op is:
//
//	lit     Text verbatim
//	ref     attribute Path of block Ref, of the instance with the key Sel or of all
//	whole   block Ref itself, a collection of its instances
//	addr    the address of block Ref, with Sel and Path
//	key     the key of the instance
//	value   the value of the instance
//	fn      function Text of Args
//	tpl     Args in a row
//	cond    Args[0] ? Args[1] : Args[2]
//	op      Args[0] Text Args[1]
//	list    of Args
//	map     of Args: key and value in turns
//	for     Text with $1, $2 for Args
type Expr struct {
	Op   string
	Text string
	Ref  int
	Path string
	Sel  string
	Args []*Expr
	Type Type
}

// arg returns the value of an argument, or nil.
func (b *Block) arg(name string) *Expr {
	for _, a := range b.Args {
		if a.Name == name {
			return a.Value
		}
	}
	return nil
}

// set replaces or adds an argument.
func (b *Block) set(name string, v *Expr) {
	for i, a := range b.Args {
		if a.Name == name {
			b.Args[i].Value = v
			return
		}
	}
	b.Args = append(b.Args, Arg{name, v})
}

// optional reports whether the block may be absent, because its lifecycle has the argument enabled.
func (b *Block) optional() bool {
	l := b.nested("lifecycle")
	return l != nil && l.arg("enabled") != nil
}

// passed reports whether the block is a provider that the caller of the module passes.
func (b *Block) passed() bool { return b.Kind == Provider && b.Type == "passed" }

func (b *Block) drop(name string) {
	b.Args = slices.DeleteFunc(b.Args, func(a Arg) bool { return a.Name == name })
}

// repeats returns the name of the argument that repeats the block, or "".
func (b *Block) repeats() string {
	for _, name := range []string{"count", "for_each"} {
		if b.arg(name) != nil {
			return name
		}
	}
	return ""
}

// nested returns the first nested block of a type, or nil.
func (b *Block) nested(typ string) *Block {
	for _, n := range b.Nested {
		if n.Type == typ {
			return n
		}
	}
	return nil
}

// lifecycle returns the lifecycle block, and adds it if it is missing.
func (b *Block) lifecycle() *Block {
	if n := b.nested("lifecycle"); n != nil {
		return n
	}
	n := &Block{Kind: Nested, Type: "lifecycle"}
	b.Nested = append(b.Nested, n)
	return n
}

func (m *Module) blocks() []*Block {
	if m == nil {
		return nil
	}
	return m.Blocks
}

// find returns the block of this module with an ID, or nil.
func (m *Module) find(id int) *Block {
	for _, b := range m.Blocks {
		if b.ID == id {
			return b
		}
	}
	return nil
}

// each visits all blocks of a module and of the modules that it calls, with their modules.
func (m *Module) each(f func(m *Module, b *Block)) {
	for _, b := range slices.Clone(m.Blocks) {
		f(m, b)
		if b.Module != nil {
			b.Module.each(f)
		}
	}
}

// exprs visits all expressions of a block and of its nested blocks. It visits an expression before its parts.
func (b *Block) exprs(f func(e *Expr)) {
	for _, a := range b.Args {
		a.Value.each(f)
	}
	for _, n := range b.Nested {
		n.exprs(f)
	}
}

// text returns the Text of an expression, or "" for nil.
func (e *Expr) text() string {
	if e == nil {
		return ""
	}
	return e.Text
}

func (e *Expr) each(f func(*Expr)) {
	f(e)
	for _, a := range e.Args {
		a.each(f)
	}
}

func (m *Module) clone() *Module {
	if m == nil {
		return nil
	}
	c := &Module{}
	for _, b := range m.Blocks {
		c.Blocks = append(c.Blocks, b.clone())
	}
	return c
}

func (b *Block) clone() *Block {
	c := *b
	c.Args = nil
	for _, a := range b.Args {
		c.Args = append(c.Args, Arg{a.Name, a.Value.clone()})
	}
	c.Nested = nil
	for _, n := range b.Nested {
		c.Nested = append(c.Nested, n.clone())
	}
	c.Module = b.Module.clone()
	return &c
}

func (e *Expr) clone() *Expr {
	c := *e
	c.Args = nil
	for _, a := range e.Args {
		c.Args = append(c.Args, a.clone())
	}
	return &c
}

func (s *Scenario) clone() *Scenario {
	c := *s
	c.Steps = nil
	for _, st := range s.Steps {
		n := *st
		n.Config = st.Config.clone()
		n.Drifts, n.Faults = slices.Clone(st.Drifts), slices.Clone(st.Faults)
		n.Do.Target, n.Do.Exclude, n.Do.Replace = slices.Clone(st.Do.Target), slices.Clone(st.Do.Exclude), slices.Clone(st.Do.Replace)
		c.Steps = append(c.Steps, &n)
	}
	return &c
}
