package changed

import (
	"maps"
	"slices"
	"strconv"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// Request says what there are to be stamps of.
type Request struct {
	Program *program.Program
	// Variable gives what tells values of a root variable apart.
	Variable func(name string) string
	// Version returns the version of a provider, "" if it has none. fixed is false if its program may change while the
	// version stays.
	Version func(addr.Provider) (version string, fixed bool)
}

// Stamps are those of a program: of all resources but ephemeral ones, of root outputs, and of what else has conditions,
// unless these need ephemeral resources.
type Stamps struct {
	// Known are they by address without keys, store.OutputStamp or store.ConditionsStamp; those without a digest are not there.
	Known   map[string]store.Stamp
	request Request
	values  map[string]*program.Declaration // outputs, and what else has conditions
	texts   texts
	said    map[program.Decl]*said
}

// said is what the configuration says of a declaration.
type said struct {
	digest string
	of     []string // the resources that it refers to, through values too; sorted
	varies bool     // it may be another each time
	leased bool     // it needs ephemeral resources
	done   bool
}

// New works out the stamps.
func New(r Request) *Stamps {
	m := &Stamps{Known: map[string]store.Stamp{}, request: r, values: map[string]*program.Declaration{}, texts: texts{}, said: map[program.Decl]*said{}}
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
		if s := m.say(d.ID); !s.varies && !(d.Kind == program.Resource && imported[d.Resource]) {
			m.Known[name] = store.Stamp{Config: s.digest, Of: s.of}
		}
	}
	return m
}

// name is the name of the stamp of a declaration; "" where it has none.
func (m *Stamps) name(d *program.Declaration) string {
	if name := stampName(d); name != "" || d.Kind == program.Resource || !declared.HasConditions(d) || m.say(d.ID).leased {
		return name
	}
	return store.ConditionsStamp(d.String())
}

// stampName is the name of the stamp of a resource or a root output; "" where there is none.
func stampName(d *program.Declaration) string {
	switch {
	case d.Kind == program.Output && d.Module.IsRoot():
		return store.OutputStamp(d.Name)
	case d.Kind == program.Resource && d.Resource.Mode != addr.Ephemeral:
		return d.Resource.String()
	}
	return ""
}

// of are the resources that a declaration refers to.
func (m *Stamps) of(d program.Decl) []string { return m.say(d).of }

// say works out what the configuration says of a declaration. One that is made from itself varies.
func (m *Stamps) say(id program.Decl) *said {
	if s := m.said[id]; s != nil {
		s.varies = s.varies || !s.done
		return s
	}
	s := &said{}
	m.said[id] = s
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
		next := m.say(ref.To)
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

// text is what stands in the configuration of a declaration, with the values of variables and the versions of
// providers.
func (m *Stamps) text(d *program.Declaration) (text string, varies bool) {
	n := m.request.Program.NodeOf(d.ID)
	if n == nil { // an implied configuration of a provider
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

// provider identifies the program of a provider.
func (m *Stamps) provider(p addr.Provider) (text string, varies bool) {
	version, fixed := m.request.Version(p)
	return "provider " + p.String() + " " + version, !fixed
}

// meta is the text of the provider_meta blocks that go with requests about a resource.
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
		attrs, _ := n.Unit.Module.Meta[local].Body.JustAttributes() // constants, as the configuration was loaded
		for _, name := range slices.Sorted(maps.Keys(attrs)) {
			v, _ := attrs[name].Expr.Value(nil)
			b = append(strconv.AppendQuote(b, name), v.GoString()...)
		}
	}
	return string(b)
}
