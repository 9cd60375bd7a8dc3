package program

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/zclconf/go-cty/cty"
)

// Unit is a module that is compiled once, however often it is called. It has everything that does not depend on the
// place of the module in the tree. Its declarations have indexes within the unit. A node is a place of the module in
// the tree. The Decl of a declaration at a node is the Base of the node plus this index.
type Unit struct {
	Module     *config.Module
	Defs       []*Def
	ByName     [Check + 1]map[string]int32 // the indexes of declarations by kind and name, for all kinds except resources, actions and providers
	resources  map[config.Name]int32
	actions    map[config.Name]int32
	configs    map[config.ProviderName]int32
	Calls      []int32 // the indexes of the module calls; the ModuleContents of Calls[i] has the index Calls[i]+len(Calls)
	Imports    []*ImportBlock
	Paths      []selection          // references to attributes of resources
	selected   selections           // paths by referrer and target
	OutputUses []OutputUse          // outputs of calls, selected by name
	functions  []*expr.ProviderCall // calls of provider functions
	metas      map[string]*RawBody  // provider_meta by local name
	removed    []use                // the references in provisioners of removed blocks
	lists      bool                 // list is a root of references, because the module has list blocks
	guessed    int                  // comparisons so far of declared names with misspelt ones
}

// Def is a declaration inside a unit: its block in the configuration, with its compiled expressions.
type Def struct {
	Kind  Kind
	Name  string
	Index int32
	At    diag.Range
	Src   Source

	Repeat      config.Repeat
	Repetition  hclsyntax.Expression // the compiled count, for_each or enabled; nil if the block is not repeated
	Value       hclsyntax.Expression // the expression of a local or an output
	Inputs      Inputs               // the arguments of a module call
	Nth         int32                // the index of a module call among the calls
	Body        *RawBody             // the body of a resource, an action or a provider
	Conditions  [5][]*Condition      // the conditions, indexed by their kind (When)
	Lifecycle   Lifecycle            // the lifecycle block of a resource
	ProviderKey hclsyntax.Expression // the key of the provider instance that a resource or action selects; nil if it selects none
	Bodies      map[any]*RawBody     // provisioners and connections, by their configuration
	Once        *shared              // the value that all module instances share, if the local is a constant (constants.go)

	refs references
}

// Source is the block or the argument that declares a Def. At most one field is set, depending on Kind.
type Source struct {
	Var  *config.Variable
	Loc  *config.Local
	Out  *config.Output
	Mod  *config.Call
	Res  *config.Resource
	Prov *config.Provider
	Chk  *config.Check
}

// Inputs are the arguments of a module call.
type Inputs struct {
	Args       map[string]*argument
	PassedKeys []hclsyntax.Expression // the keys by which the call selects instances of provider configurations, by entry of the providers argument; nil means no key
}

// Lifecycle has the compiled arguments of a lifecycle block. An expression is nil if the argument is missing.
type Lifecycle struct {
	Triggers       []*Trigger // the entries of replace_triggered_by
	ActionTriggers []*ActionTrigger
	PreventDestroy hclsyntax.Expression
	Destroy        hclsyntax.Expression
}

// references has the references in the expressions of one Def. The compiler fills it; link and package vet read it.
type references struct {
	uses      []use
	parts     map[any][]use // the references of each provisioner and connection, by its configuration
	functions []*expr.ProviderCall
	caller    bool        // the body of an action uses the symbol caller
	varies    bool        // the Def depends on more than locals and pure functions, so it is not a constant
	seen      map[use]int // while the Def is compiled: the index in uses of each use
}

// add records a use. If a use of the same target and the same instances is recorded already, add only adds the reason.
func (r *references) add(u use) {
	id := u
	id.why, id.at = 0, diag.Range{}
	if i, ok := r.seen[id]; ok {
		r.uses[i].why |= u.why
		return
	}
	if r.seen == nil {
		r.seen = map[use]int{}
	}
	r.seen[id] = len(r.uses)
	r.uses = append(r.uses, u)
}

// use is a reference from a declaration to another declaration of the same unit.
type use struct {
	local  int32  // the index of the other declaration in the unit
	output string // the name of one output of a module call; "" means all outputs
	why    Use
	hint   KeyHint
	fixed  addr.Key
	at     diag.Range
}

// OutputUse is a place in the configuration that selects an output of a module by its name.
type OutputUse struct {
	Of   int32 // the module call, or a local that may be a whole module call
	Name string
	Each bool // only if Of is a local: the name is selected from one instance or each instance in the local
	At   diag.Range
}

// selection is a reference to an attribute of a resource, of any instance. Bind compares it with the schema. It does so
// also inside try or can, because an attribute that the schema lacks is always a mistake. Exceptions: Bind does not
// check a splat inside try or can (Tried), which fails when it is evaluated. If the resource may have no instance
// (Any), Bind does not report a missing attribute, because the evaluation reports it (expr.Ref.ofAny).
type selection struct {
	From   int32 // the declaration that contains the reference; -1 if it is not in the unit
	Target *expr.Ref
	Rest   hcl.Traversal
	Tried  bool // the attribute is selected by a splat inside try or can
	Any    bool // the attribute is selected by a splat or an index that is not constant, so there may be no instance
}

// selections has, for each pair of declarations of a unit, the paths that the first selects from the second. It is
// computed at its first use.
type selections struct {
	once sync.Once
	by   map[[2]int32][]cty.Path // the paths, by the indexes of both declarations
}

// argument is an argument of a module call, with its references and its calls of provider functions.
type argument struct {
	rawAttr
	uses      []use
	functions []*expr.ProviderCall
}

// Condition is a compiled condition, such as a precondition. Message is nil if it has no error message.
type Condition struct {
	*config.Condition
	Test, Message hclsyntax.Expression
}

// Trigger is a compiled entry of replace_triggered_by.
type Trigger struct {
	Target *expr.Ref
	Key    hclsyntax.Expression // nil if the entry has no key, or a constant key, which is in Target
	Rest   hcl.Traversal        // the steps after the name and the key, which select an attribute; empty for the whole object
	At     diag.Range
}

// ActionTrigger is a compiled action_trigger block.
type ActionTrigger struct {
	*config.ActionTrigger
	Test    hclsyntax.Expression // the condition; nil if the block has none
	Invokes []ActionRef
}

// ActionRef is a compiled reference to an action or to one instance of it. Local is the index of the action in the
// unit.
type ActionRef struct {
	Local int32
	Key   hclsyntax.Expression // nil if the reference has no key
	At    diag.Range
}

// ImportBlock is a compiled import block.
type ImportBlock struct {
	Config       *config.Import
	ID, Identity hclsyntax.Expression
	ForEach      hclsyntax.Expression
	ModuleKeys   []hclsyntax.Expression // the key of each module call in the address; nil for a call without a key
	Key          hclsyntax.Expression   // the key of the resource in the address; nil if it has none
	Def          *Def                   // has the for_each and the references of the block
}

// Target returns the resource that an import block in the module m names.
func (b *ImportBlock) Target(m addr.Module) addr.Resource {
	r := b.Config.Resource
	r.Module = m.Join(r.Module)
	return r
}

// shared has the one value of a constant, which all module instances share. Package frame decides its type and computes
// it.
type shared struct {
	once sync.Once
	cell any
}

// Get returns the shared value. The first call calls make to compute it. Get is safe for concurrent use.
func (s *shared) Get(make func() any) any {
	s.once.Do(func() { s.cell = make() })
	return s.cell
}

// Index returns the index of the declaration with a kind and name, and false if it is not declared. It does not find
// resources, actions and providers.
func (u *Unit) Index(k Kind, name string) (int32, bool) {
	i, ok := u.ByName[k][name]
	return i, ok
}

// NewUnit creates the declarations of a module. It does not compile them.
func NewUnit(m *config.Module) *Unit {
	u := &Unit{Module: m, resources: make(map[config.Name]int32, len(m.Resources)), actions: map[config.Name]int32{}, configs: map[config.ProviderName]int32{}, metas: map[string]*RawBody{}}
	n := len(m.Variables) + len(m.Locals) + len(m.Outputs) + 2*len(m.Calls) + len(m.Resources) + len(m.Actions) + len(m.Providers) + len(m.Checks)
	u.Defs = make([]*Def, 0, n)
	for k := range u.ByName {
		u.ByName[k] = map[string]int32{}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Variables)) {
		u.add(&Def{Kind: Variable, Name: name, Src: Source{Var: m.Variables[name]}, At: m.Variables[name].Range})
	}
	for _, name := range slices.Sorted(maps.Keys(m.Locals)) {
		u.add(&Def{Kind: Local, Name: name, Src: Source{Loc: m.Locals[name]}, At: m.Locals[name].Range})
	}
	for _, name := range slices.Sorted(maps.Keys(m.Outputs)) {
		u.add(&Def{Kind: Output, Name: name, Src: Source{Out: m.Outputs[name]}, At: m.Outputs[name].Range})
	}
	u.addCalls(m)
	u.addResources(m)
	u.addActions(m)
	for _, name := range slices.Sorted(maps.Keys(m.Checks)) {
		u.add(&Def{Kind: Check, Name: name, Src: Source{Chk: m.Checks[name]}, At: m.Checks[name].Range})
	}
	return u
}

func (u *Unit) add(d *Def) int32 {
	d.Index = int32(len(u.Defs))
	u.Defs = append(u.Defs, d)
	if d.Kind != Resource && d.Kind != Action && d.Kind != Provider {
		u.ByName[d.Kind][d.Name] = d.Index
	}
	return d.Index
}

func (u *Unit) addCalls(m *config.Module) {
	names := slices.Sorted(maps.Keys(m.Calls))
	for _, k := range []Kind{Call, ModuleContents} {
		for i, name := range names {
			call := m.Calls[name]
			j := u.add(&Def{Kind: k, Name: name, Src: Source{Mod: call}, At: call.Range, Repeat: call.Repeat, Nth: int32(i)})
			if k == Call {
				u.Calls = append(u.Calls, j)
			}
		}
	}
}

func (u *Unit) addResources(m *config.Module) {
	names := slices.SortedFunc(maps.Keys(m.Resources), compareNames)
	for _, name := range names {
		res := m.Resources[name]
		u.lists = u.lists || name.Mode == addr.List
		u.resources[name] = u.add(&Def{Kind: Resource, Name: name.Name, Src: Source{Res: res}, At: res.Range, Repeat: res.Repeat})
	}
	configs := slices.SortedFunc(maps.Keys(m.Providers), compareProviderNames)
	for _, name := range configs {
		prov := m.Providers[name]
		u.configs[name] = u.add(&Def{Kind: Provider, Name: name.String(), Src: Source{Prov: prov}, At: prov.Range, Repeat: config.Repeat{ForEach: prov.ForEach}})
	}
}

// addActions adds the action blocks. It must be called after the provider configurations were added, because
// frame.Frame.object relies on this order.
func (u *Unit) addActions(m *config.Module) {
	for _, name := range slices.SortedFunc(maps.Keys(m.Actions), compareNames) {
		a := m.Actions[name]
		u.actions[name] = u.add(&Def{Kind: Action, Name: name.Name, Src: Source{Res: a}, At: a.Range, Repeat: a.Repeat})
	}
}

// outputs iterates over the indexes of the outputs, sorted by name.
func (u *Unit) outputs() iter.Seq[int32] {
	first := int32(len(u.Module.Variables) + len(u.Module.Locals))
	return func(yield func(int32) bool) {
		for i := first; i < first+int32(len(u.Module.Outputs)) && yield(i); i++ {
		}
	}
}

func compareNames(a, b config.Name) int {
	return cmp.Or(cmp.Compare(a.Mode, b.Mode), strings.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name))
}

func compareProviderNames(a, b config.ProviderName) int {
	return cmp.Or(strings.Compare(a.Local, b.Local), strings.Compare(a.Alias, b.Alias))
}

func (u *Unit) selects(from, target int32) []cty.Path {
	u.selected.once.Do(func() {
		u.selected.by = map[[2]int32][]cty.Path{}
		for _, s := range u.Paths {
			k := [2]int32{s.From, s.Target.Local}
			u.selected.by[k] = append(u.selected.by[k], expr.Path(s.Rest))
		}
	})
	return u.selected.by[[2]int32{from, target}]
}

// When is a kind of condition, which depends on the block that contains the condition.
type When uint8

// The kinds of conditions.
const (
	Pre        When = iota // preconditions of a resource
	Post                   // postconditions of a resource
	Validation             // validation rules of a variable
	OutputPre              // preconditions of an output
	Assert                 // assertions of a check
	Tested                 // assertions of a test file, which belong to no declaration
)

// HasDefault reports whether a variable has a default value, so that it need not be set.
func HasDefault(v *config.Variable) bool { return v.Default != cty.NilVal }
