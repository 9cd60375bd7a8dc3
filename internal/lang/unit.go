package lang

import (
	"iter"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
)

// unit is a module compiled once, however often it is called: everything that does not depend on
// where it stands in the tree. Its declarations have indexes of their own; a node adds its base.
type unit struct {
	mod        *config.Module
	decls      []*decl
	byName     [Check + 1]map[string]int32 // all kinds but resources and providers
	resources  map[config.Name]int32
	configs    map[config.ProviderName]int32
	calls      []int32 // indexes of the calls; the whole of calls[i] is calls[i]+len(calls)
	imports    []*importBlock
	paths      []selection         // attributes of resources that are referred to
	selected   selections          // paths by who refers to what
	outputUses []outputUse         // outputs of calls that are selected by name
	functions  []*provided         // calls of functions of providers
	metas      map[string]*rawBody // provider_meta by local name
	guessed    int                 // names that were compared with what was written instead
}

// decl is a declaration inside a unit.
type decl struct {
	kind  Kind
	name  string
	index int32
	at    diag.Range
	uses  []use

	vr   *config.Variable
	loc  *config.Local
	out  *config.Output
	mod  *config.Call
	res  *config.Resource
	prov *config.Provider
	chk  *config.Check

	repeat    config.Repeat
	rep       hclsyntax.Expression   // of count, for_each or enabled, compiled; nil: none
	value     hclsyntax.Expression   // of a local or an output
	args      map[string]*argument   // of a call
	body      *rawBody               // of a resource or a provider
	conds     [5][]*condition        // by When
	triggers  []*trigger             // replace_triggered_by
	prevent   hclsyntax.Expression   // prevent_destroy
	destroy   hclsyntax.Expression   // lifecycle.destroy
	provKey   hclsyntax.Expression   // key of the provider instance used
	bodies    map[any]*rawBody       // provisioners and connections, by their configuration
	parts     map[any][]use          // what each of the bodies refers to
	passed    []hclsyntax.Expression // of a call: the keys of the configurations that it passes, by entry
	nth       int32                  // of a call: its place among the calls
	functions []*provided
	seen      map[use]int // for record
	varies    bool        // it uses more than other locals and pure functions
	once      *shared     // of a constant: where its value is kept (constants.go)
}

// argument is an input of a module call.
type argument struct {
	rawAttr
	uses      []use
	functions []*provided
}

// condition is a compiled condition block.
type condition struct {
	*config.Condition
	test, message hclsyntax.Expression
}

// index finds a declaration by kind and name.
func (u *unit) index(k Kind, name string) (int32, bool) {
	i, ok := u.byName[k][name]
	return i, ok
}

// newUnit lays out the declarations of a module, without compiling them.
func newUnit(m *config.Module) *unit {
	u := &unit{mod: m, resources: make(map[config.Name]int32, len(m.Resources)), configs: map[config.ProviderName]int32{}, metas: map[string]*rawBody{}}
	n := len(m.Variables) + len(m.Locals) + len(m.Outputs) + 2*len(m.Calls) + len(m.Resources) + len(m.Providers) + len(m.Checks)
	u.decls = make([]*decl, 0, n)
	for k := range u.byName {
		u.byName[k] = map[string]int32{}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Variables)) {
		u.add(&decl{kind: Variable, name: name, vr: m.Variables[name], at: m.Variables[name].Range})
	}
	for _, name := range slices.Sorted(maps.Keys(m.Locals)) {
		u.add(&decl{kind: Local, name: name, loc: m.Locals[name], at: m.Locals[name].Range})
	}
	for _, name := range slices.Sorted(maps.Keys(m.Outputs)) {
		u.add(&decl{kind: Output, name: name, out: m.Outputs[name], at: m.Outputs[name].Range})
	}
	u.addCalls(m)
	u.addResources(m)
	for _, name := range slices.Sorted(maps.Keys(m.Checks)) {
		u.add(&decl{kind: Check, name: name, chk: m.Checks[name], at: m.Checks[name].Range})
	}
	return u
}

func (u *unit) add(d *decl) int32 {
	d.index = int32(len(u.decls))
	u.decls = append(u.decls, d)
	if d.kind != Resource && d.kind != Provider {
		u.byName[d.kind][d.name] = d.index
	}
	return d.index
}

func (u *unit) addCalls(m *config.Module) {
	names := slices.Sorted(maps.Keys(m.Calls))
	for _, k := range []Kind{Call, Whole} {
		for i, name := range names {
			call := m.Calls[name]
			j := u.add(&decl{kind: k, name: name, mod: call, at: call.Range, repeat: call.Repeat, nth: int32(i)})
			if k == Call {
				u.calls = append(u.calls, j)
			}
		}
	}
}

func (u *unit) addResources(m *config.Module) {
	names := slices.SortedFunc(maps.Keys(m.Resources), compareNames)
	for _, name := range names {
		res := m.Resources[name]
		u.resources[name] = u.add(&decl{kind: Resource, name: name.Name, res: res, at: res.Range, repeat: res.Repeat})
	}
	configs := slices.SortedFunc(maps.Keys(m.Providers), compareProviderNames)
	for _, name := range configs {
		prov := m.Providers[name]
		u.configs[name] = u.add(&decl{kind: Provider, name: name.String(), prov: prov, at: prov.Range, repeat: config.Repeat{ForEach: prov.ForEach}})
	}
}

// outputs lists the indexes of the outputs, by name.
func (u *unit) outputs() iter.Seq[int32] {
	first := int32(len(u.mod.Variables) + len(u.mod.Locals))
	return func(yield func(int32) bool) {
		for i := first; i < first+int32(len(u.mod.Outputs)) && yield(i); i++ {
		}
	}
}

// whole is the index of the Whole that belongs to a call.
func (u *unit) whole(call int32) int32 { return call + int32(len(u.calls)) }

// When says which conditions of a declaration are meant.
type When uint8

// The kinds of conditions.
const (
	Pre        When = iota // preconditions of a resource
	Post                   // postconditions of a resource
	Validation             // of a variable
	OutputPre              // preconditions of an output
	Assert                 // assertions of a check
)

func hasDefault(v *config.Variable) bool { return v.Default != cty.NilVal }
