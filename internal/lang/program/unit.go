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

// Unit is a module compiled once, however often it is called: everything that does not depend on
// where it stands in the tree. Its declarations have indexes of their own; a node adds its base.
type Unit struct {
	Module     *config.Module
	Defs       []*Def
	ByName     [Check + 1]map[string]int32 // all kinds but resources and providers
	resources  map[config.Name]int32
	configs    map[config.ProviderName]int32
	Calls      []int32 // indexes of the calls; the whole of calls[i] is calls[i]+len(calls)
	Imports    []*ImportBlock
	Paths      []selection          // attributes of resources that are referred to
	selected   selections           // paths by who refers to what
	OutputUses []OutputUse          // outputs of calls that are selected by name
	functions  []*expr.ProviderCall // calls of functions of providers
	metas      map[string]*RawBody  // provider_meta by local name
	guessed    int                  // names that were compared with what was written instead
}

// Def is a declaration inside a unit.
type Def struct {
	Kind  Kind
	Name  string
	Index int32
	At    diag.Range
	uses  []use

	Var  *config.Variable
	Loc  *config.Local
	Out  *config.Output
	Mod  *config.Call
	Res  *config.Resource
	Prov *config.Provider
	Chk  *config.Check

	Repeat         config.Repeat
	Repetition     hclsyntax.Expression   // of count, for_each or enabled, compiled; nil: none
	Value          hclsyntax.Expression   // of a local or an output
	Args           map[string]*argument   // of a call
	Body           *RawBody               // of a resource or a provider
	Conditions     [5][]*Condition        // by When
	Triggers       []*Trigger             // replace_triggered_by
	PreventDestroy hclsyntax.Expression   // prevent_destroy
	Destroy        hclsyntax.Expression   // lifecycle.destroy
	ProviderKey    hclsyntax.Expression   // key of the provider instance used
	Bodies         map[any]*RawBody       // provisioners and connections, by their configuration
	parts          map[any][]use          // what each of the bodies refers to
	PassedKeys     []hclsyntax.Expression // of a call: the keys of the configurations that it passes, by entry
	Nth            int32                  // of a call: its place among the calls
	functions      []*expr.ProviderCall
	seen           map[use]int // for record
	varies         bool        // it uses more than other locals and pure functions
	Once           *shared     // of a constant: where its value is kept (constants.go)
}

// use is a reference inside a unit, from the declaration that has it.
type use struct {
	local  int32
	output string // of a call: one output; "" for all of it
	why    Use
	hint   KeyHint
	fixed  addr.Key
	at     diag.Range
}

// OutputUse is a place where an output of a module is selected by its name.
type OutputUse struct {
	Of   int32 // the call, or a local that may be the whole of one
	Name string
	Each bool // of a local: it is selected from one instance, or from each
	At   diag.Range
}

// selection is a reference to an attribute of a resource, of any instance: what Bind holds
// against the schema. A reference inside try or can counts as well: an attribute that no version of
// the object has is a mistake everywhere. A splat is no reference, and fails there when it is evaluated. Where there may be
// no instance, what is missing is found by evaluating, too (expr.Ref.ofAny).
type selection struct {
	From   int32 // the declaration that refers; -1 if it is none
	Target *expr.Ref
	Rest   hcl.Traversal
	Tried  bool // by a splat inside try or can
	Any    bool // of any instance, by a splat or an index that is no constant: there may be none
}

// selections finds what a declaration selects of another of its unit.
type selections struct {
	once sync.Once
	by   map[[2]int32][]cty.Path // from, target
}

// argument is an input of a module call.
type argument struct {
	rawAttr
	uses      []use
	functions []*expr.ProviderCall
}

// Condition is a compiled condition block.
type Condition struct {
	*config.Condition
	Test, Message hclsyntax.Expression
}

// Trigger is a compiled entry of replace_triggered_by.
type Trigger struct {
	Target *expr.Ref
	Key    hclsyntax.Expression // nil: none, or constant in target
	Rest   hcl.Traversal
	At     diag.Range
}

// ImportBlock is a compiled import block.
type ImportBlock struct {
	Config       *config.Import
	ID, Identity hclsyntax.Expression
	ForEach      hclsyntax.Expression
	ModuleKeys   []hclsyntax.Expression // in the address, of each module call on the way; nil where there is none
	Key          hclsyntax.Expression   // of the resource
	Def          *Def                   // carries for_each and the references
}

// Target is the resource that an import block names, seen from the module that has the block.
func (b *ImportBlock) Target(m addr.Module) addr.Resource {
	r := b.Config.Resource
	r.Module = m.Join(r.Module)
	return r
}

// shared is a place in the program for the one value of a constant. What is put there, and how it is computed, is
// the business of frames.
type shared struct {
	once sync.Once
	cell any
}

// Get gives what is kept, made when first asked for.
func (s *shared) Get(make func() any) any {
	s.once.Do(func() { s.cell = make() })
	return s.cell
}

// Index finds a declaration by kind and name.
func (u *Unit) Index(k Kind, name string) (int32, bool) {
	i, ok := u.ByName[k][name]
	return i, ok
}

// NewUnit lays out the declarations of a module, without compiling them.
func NewUnit(m *config.Module) *Unit {
	u := &Unit{Module: m, resources: make(map[config.Name]int32, len(m.Resources)), configs: map[config.ProviderName]int32{}, metas: map[string]*RawBody{}}
	n := len(m.Variables) + len(m.Locals) + len(m.Outputs) + 2*len(m.Calls) + len(m.Resources) + len(m.Providers) + len(m.Checks)
	u.Defs = make([]*Def, 0, n)
	for k := range u.ByName {
		u.ByName[k] = map[string]int32{}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Variables)) {
		u.add(&Def{Kind: Variable, Name: name, Var: m.Variables[name], At: m.Variables[name].Range})
	}
	for _, name := range slices.Sorted(maps.Keys(m.Locals)) {
		u.add(&Def{Kind: Local, Name: name, Loc: m.Locals[name], At: m.Locals[name].Range})
	}
	for _, name := range slices.Sorted(maps.Keys(m.Outputs)) {
		u.add(&Def{Kind: Output, Name: name, Out: m.Outputs[name], At: m.Outputs[name].Range})
	}
	u.addCalls(m)
	u.addResources(m)
	for _, name := range slices.Sorted(maps.Keys(m.Checks)) {
		u.add(&Def{Kind: Check, Name: name, Chk: m.Checks[name], At: m.Checks[name].Range})
	}
	return u
}

func (u *Unit) add(d *Def) int32 {
	d.Index = int32(len(u.Defs))
	u.Defs = append(u.Defs, d)
	if d.Kind != Resource && d.Kind != Provider {
		u.ByName[d.Kind][d.Name] = d.Index
	}
	return d.Index
}

func (u *Unit) addCalls(m *config.Module) {
	names := slices.Sorted(maps.Keys(m.Calls))
	for _, k := range []Kind{Call, ModuleContents} {
		for i, name := range names {
			call := m.Calls[name]
			j := u.add(&Def{Kind: k, Name: name, Mod: call, At: call.Range, Repeat: call.Repeat, Nth: int32(i)})
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
		u.resources[name] = u.add(&Def{Kind: Resource, Name: name.Name, Res: res, At: res.Range, Repeat: res.Repeat})
	}
	configs := slices.SortedFunc(maps.Keys(m.Providers), compareProviderNames)
	for _, name := range configs {
		prov := m.Providers[name]
		u.configs[name] = u.add(&Def{Kind: Provider, Name: name.String(), Prov: prov, At: prov.Range, Repeat: config.Repeat{ForEach: prov.ForEach}})
	}
}

// outputs lists the indexes of the outputs, by name.
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

// When says which conditions of a declaration are meant.
type When uint8

// The kinds of conditions.
const (
	Pre        When = iota // preconditions of a resource
	Post                   // postconditions of a resource
	Validation             // of a variable
	OutputPre              // preconditions of an output
	Assert                 // assertions of a check
	Tested                 // assertions of a test, which belong to no declaration
)

// HasDefault reports whether a variable need not be set.
func HasDefault(v *config.Variable) bool { return v.Default != cty.NilVal }
