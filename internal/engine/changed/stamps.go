package changed

import (
	"maps"
	"slices"
	"strconv"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/store"
)

// Request holds the inputs of New.
type Request struct {
	Program *program.Program
	// Variable returns a text that identifies the value of a root variable.
	Variable func(name string) string
	// Version returns the version of a provider, or "" if the provider has no version. fixed is false if the program of
	// the provider may change without a new version.
	Version func(addr.Provider) (version string, fixed bool)
}

// Stamps are the stamps of a program. A stamp has the digest of a declaration's configuration, and the resources to
// which the declaration refers. Managed and data resources, root outputs, and other declarations with conditions have
// stamps, with three exceptions: targets of import blocks, conditions that depend on ephemeral resources, and
// declarations whose value may differ in each run.
type Stamps struct {
	// Known has the stamps. Its keys are addresses of resources without instance keys, and the names that
	// store.OutputStamp and store.ConditionsStamp return. A declaration without a key in Known counts as changed in
	// each run, for example because it calls the function timestamp.
	Known     map[string]store.Stamp
	request   Request
	values    map[string]*program.Declaration // by key of Known: root outputs, and other declarations with conditions that are not resources
	texts     texts
	described map[program.Decl]*description
}

// description is the result of describe for a declaration. Its digest covers the text of the declaration and of the
// values to which it refers, directly or through other values. A resource to which these refer counts only with its
// address.
type description struct {
	digest string
	of     []string // addresses of the resources to which the declaration refers, directly or through values; sorted
	varies bool     // the value of the declaration may differ in each run
	leased bool     // the declaration depends on ephemeral resources
	done   bool     // whether the other fields are complete; false while describe follows the references
}

// New computes the stamps of a program.
func New(r Request) *Stamps {
	m := &Stamps{Known: map[string]store.Stamp{}, request: r, values: map[string]*program.Declaration{}, texts: texts{}, described: map[program.Decl]*description{}}
	imported := map[addr.Resource]bool{}
	for n := range r.Program.Nodes() {
		for _, b := range n.Unit.Imports {
			imported[b.Target(n.Config.Path)] = true
		}
	}
	for _, d := range r.Program.Decls() {
		name := m.name(d)
		if name == "" {
			continue
		}
		if d.Kind != program.Resource {
			m.values[name] = d
		}
		if s := m.describe(d.ID); !s.varies && !(d.Kind == program.Resource && imported[d.Resource]) {
			m.Known[name] = store.Stamp{Config: s.digest, Of: s.of}
		}
	}
	return m
}

// name returns the key of Known for a declaration, or "" if the declaration cannot have a stamp.
func (m *Stamps) name(d *program.Declaration) string {
	if name := stampName(d); name != "" || d.Kind == program.Resource || !declared.HasConditions(d) || m.describe(d.ID).leased {
		return name
	}
	return store.ConditionsStamp(d.String())
}

// stampName returns the key of Known for a root output, or for a resource that is not ephemeral. It returns "" for
// other declarations.
func stampName(d *program.Declaration) string {
	switch {
	case d.Kind == program.Output && d.Module.IsRoot():
		return store.OutputStamp(d.Name)
	case d.Kind == program.Resource && d.Resource.Mode != addr.Ephemeral:
		return d.Resource.String()
	}
	return ""
}

// of returns the addresses of the resources to which a declaration refers, directly or through values.
func (m *Stamps) of(d program.Decl) []string { return m.describe(d).of }

// describe returns the description of a declaration's configuration, and computes it once. A declaration that refers to
// itself through other declarations counts as varying in each run.
func (m *Stamps) describe(id program.Decl) *description {
	if s := m.described[id]; s != nil {
		s.varies = s.varies || !s.done
		return s
	}
	s := &description{}
	m.described[id] = s
	d := m.request.Program.Decls()[id]
	text, varies := m.text(d)
	s.varies = varies
	b := strconv.AppendQuote(nil, text)
	of := map[string]bool{}
	for _, ref := range m.request.Program.Refs(id) {
		to := m.request.Program.Decls()[ref.To]
		if name := stampName(to); name != "" && to.Kind == program.Resource {
			b = strconv.AppendQuote(append(b, '='), name)
			of[name] = true
			continue
		}
		next := m.describe(ref.To)
		s.varies = s.varies || next.varies
		s.leased = s.leased || next.leased || to.Kind == program.Resource
		b = append(append(b, ' '), next.digest...)
		for _, name := range next.of {
			of[name] = true
		}
	}
	s.of, s.digest, s.done = slices.Sorted(maps.Keys(of)), string(store.Digest(b)), true
	return s
}

// text returns the text that identifies a declaration's configuration, without the declarations to which it refers. In
// addition to the declaration's source text, it contains:
//
//   - for a root variable that is not ephemeral: its value;
//   - for a variable of a called module: the text of the module call;
//   - for a provider configuration: the version of the provider;
//   - for a resource: the provider_meta blocks of its provider;
//   - for calls of provider functions: the versions of their providers.
//
// varies is true if the value of the declaration may differ in each run.
func (m *Stamps) text(d *program.Declaration) (text string, varies bool) {
	n := m.request.Program.NodeOf(d.ID)
	if n == nil { // a provider configuration without a block
		return m.provider(d.Provider.Provider)
	}
	t := m.texts.of(n.Unit, m.request.Program.Def(d.ID))
	text, varies = t.text, t.varies
	add := func(more string, also bool) { text, varies = text+"\x00"+more, varies || also }
	switch {
	case d.Kind == program.Provider:
		add(m.provider(d.Provider.Provider))
	case d.Kind == program.Variable && n.Parent == nil && !d.Var.Ephemeral:
		add(m.request.Variable(d.Name), false)
	case d.Kind == program.Variable && n.Parent != nil:
		call := m.texts.of(n.Parent.Unit, n.Parent.Unit.Defs[n.Call])
		add(call.text, call.varies)
	case d.Kind == program.Resource:
		add(m.meta(n, d), false)
	}
	for _, call := range m.request.Program.ProviderCalls(d) {
		add(m.provider(call.Provider))
	}
	return text, varies
}

// provider returns a text that identifies the program of a provider. varies is true if the program may change without a
// new version.
func (m *Stamps) provider(p addr.Provider) (text string, varies bool) {
	version, fixed := m.request.Version(p)
	return "provider " + p.String() + " " + version, !fixed
}

// meta returns the text of the provider_meta blocks that requests about a resource include.
func (m *Stamps) meta(n *program.Node, d *program.Declaration) string {
	var of addr.Provider
	if uses := m.request.Program.ProviderOf(d.ID); uses != program.NoDecl {
		of = m.request.Program.Decls()[uses].Provider.Provider
	}
	var b []byte
	for _, local := range slices.Sorted(maps.Keys(n.Unit.Module.Meta)) {
		if n.Config.Provider(local) != of {
			continue
		}
		attrs, _ := n.Unit.Module.Meta[local].Body.JustAttributes() // the loader has checked that the attributes are constants
		for _, name := range slices.Sorted(maps.Keys(attrs)) {
			v, _ := attrs[name].Expr.Value(nil)
			b = append(strconv.AppendQuote(b, name), v.GoString()...)
		}
	}
	return string(b)
}
