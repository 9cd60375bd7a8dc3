package combine

import (
	"slices"
	"strings"
)

// A place is a block in the tree of modules.
type place struct {
	m  *Module
	b  *Block
	up *place // the call of module m; nil for the root module
}

// addr returns the address without keys.
func (p *place) addr() string {
	if p.up == nil {
		return p.b.addr()
	}
	return p.up.addr() + "." + p.b.addr()
}

// inside returns the blocks of a module and of all modules below it. The parameter up is the call of m, or nil for the
// root. It returns nil if m is nil.
func inside(m *Module, up *place) []*place {
	var all []*place
	for _, b := range m.blocks() {
		p := &place{m, b, up}
		all = append(append(all, p), inside(b.Module, p)...)
	}
	return all
}

// refs returns the places that a block refers to: called blocks with their content, the calls around it, and the
// implied provider.
func (p *place) refs() []*place {
	var all []*place
	p.b.exprs(func(e *Expr) {
		if t := p.m.find(e.Ref); t != nil && e.Ref != 0 {
			to := &place{p.m, t, p.up}
			all = append(append(all, to), inside(t.Module, to)...)
		}
	})
	for q := p; q != nil && strings.HasPrefix(p.b.Type, "combine_") && p.b.arg("provider") == nil; q = q.up {
		if i := slices.IndexFunc(q.m.Blocks, func(b *Block) bool { return b.Kind == Provider && b.Name == "" }); i >= 0 {
			all = append(all, &place{q.m, q.m.Blocks[i], q.up})
			break
		}
	}
	if p.up != nil {
		all = append(all, p.up)
	}
	return all
}

// configured reports whether the block is a provider that is configured from objects or data.
func (p *place) configured() bool {
	return p.b.Kind == Provider && p.needs(func(on *place) bool { return on.b.Kind == Resource || on.b.Kind == Data })
}

// needs reports whether is(p) is true for this block or for one of its dependencies, direct or indirect.
func (p *place) needs(is func(*place) bool) bool {
	seen := map[*Block]bool{}
	var visit func(p *place) bool
	visit = func(p *place) bool {
		if seen[p.b] {
			return false
		}
		seen[p.b] = true
		return is(p) || slices.ContainsFunc(p.refs(), visit)
	}
	return visit(p)
}

// needs reports whether is(p) is true for a block p: the subject of the difference d, or a dependency of the subject.
func (c *comparison) needs(d Difference, is func(*place) bool) bool {
	subject := keyless(c.subject(d))
	return slices.ContainsFunc(inside(c.st.Config, nil), func(p *place) bool { return p.addr() == subject && p.needs(is) })
}

// awaits reports whether a data source, or a module around it, depends on blocks that may be read during apply.
func (p *place) awaits() bool {
	for q := p; q != nil && p.b.Kind == Data; q = q.up {
		if e := q.b.arg("depends_on"); e != nil && slices.ContainsFunc(e.Args, func(e *Expr) bool { t := q.m.find(e.Ref); return t != nil && t.Kind != Resource }) {
			return true
		}
	}
	return false
}

// about reports whether the subject of a difference is one of the objects or depends on one.
func (c *comparison) about(d Difference, objects []string) bool {
	return slices.Contains(objects, c.subject(d)) || len(objects) > 0 && c.needs(d, func(p *place) bool {
		return slices.ContainsFunc(objects, func(o string) bool { return keyless(o) == p.addr() })
	})
}

// subject returns the address of the object or output that a difference is about.
func (c *comparison) subject(d Difference) string {
	at, _, _ := strings.Cut(d.At, " ")
	switch {
	case d.What == "calls":
		if words := strings.Fields(d.At); len(words) > 2 {
			at = append(append(named(c.b, words[2]), named(c.a, words[2])...), "")[0]
		}
	case strings.HasPrefix(d.Section, "output"):
		at = "output." + at
	}
	return at
}

// named returns the addresses of objects whose name is key, and of data whose id or input is key.
func named(o *Outcome, key string) []string {
	var all []string
	for _, s := range []*State{o.After, o.Before} {
		for _, r := range s.Resources {
			for _, i := range r.Instances {
				if i.Attributes["name"] == key && r.Mode == "managed" || r.Mode == "data" && (i.Attributes["id"] == key || i.Attributes["input"] == key) {
					all = append(all, i.addr(r))
				}
			}
		}
	}
	return all
}

// halfLooked returns the objects that Terraform read through a provider with unknown settings.
func (c *comparison) halfLooked() []string {
	var all []string
	for _, i := range c.b.Invocations {
		for _, k := range i.Calls {
			if k.Region == "(unknown)" && slices.Contains([]string{"read", "data", "import"}, k.Call) {
				all = append(all, named(c.b, k.Key)...)
			}
		}
	}
	return all
}
