package view

import (
	"strconv"

	"github.com/lethe-iac/lethe/internal/schema"
)

// block compares two blocks, either of which may be nil. The object itself is the outermost one.
func (d *differ) block(f *blockSchemaForm, b, a *docValue, forces, relevant *tree) *node {
	if !d.secrets && (b != nil && b.secret || a != nil && a.secret) {
		n := d.secret(b, a)
		n.forces = forces.is() && n.act != same
		return n
	}
	if relevant == nil {
		a = b
	}
	asIs := func(name string) string { return name }
	n := d.parts(&node{kind: nDict, nested: true}, &f.schemaForm, b, a, forces, relevant, asIs)
	for _, nested := range f.blocks {
		g := d.group(nested, b.get(nested.name), a.get(nested.name), forces.below(nested.name), relevant.below(nested.name))
		if len(g.blocks) == 0 && g.unknown == same {
			continue
		}
		n.groups = append(n.groups, g)
		if n.act == same && g.changes() {
			n.act = edit
		}
	}
	n.forces = forces.is() && n.act != same
	if n.act == edit && !d.replaced {
		n.notes = versionHints(f, b, a)
	}
	return n
}

// group compares all blocks of a type.
func (d *differ) group(f nestedSchemaForm, b, a *docValue, forces, relevant *tree) group {
	g := group{name: f.name}
	if a != nil && a.kind == vUnknown {
		g.unknown, g.forces = edit, forces.is()
		if b == nil || len(blocksOf(f, b)) == 0 {
			g.unknown = add
		}
		a = nil
	}
	bs, as := blocksOf(f, b), blocksOf(f, a)
	switch f.nesting {
	case schema.Set:
		for _, p := range matchSets(bs, as) {
			g.blocks = append(g.blocks, d.block(f.blockSchemaForm, p[0], p[1], forces, all))
		}
	case schema.Map:
		for _, key := range unionNames(b, a) {
			d.addBlock(&g, f, quote(key), hide(b, b.get(key)), hide(a, a.get(key)), forces.below(key), relevant.below(key))
		}
	default:
		for i := range max(len(bs), len(as)) {
			step := strconv.Itoa(i)
			if f.nesting != schema.List {
				d.addBlock(&g, f, "", pick(bs, i), pick(as, i), forces, relevant)
				continue
			}
			d.addBlock(&g, f, "", pick(bs, i), pick(as, i), forces.below(step), relevant.below(step))
		}
	}
	return g
}

func (d *differ) addBlock(g *group, f nestedSchemaForm, label string, b, a *docValue, forces, relevant *tree) {
	if b == nil && (a == nil || relevant == nil) {
		return
	}
	n := d.block(f.blockSchemaForm, b, a, forces, relevant)
	n.label = label
	g.blocks = append(g.blocks, n)
}

// blocksOf lists the blocks of a type that an object has.
func blocksOf(f nestedSchemaForm, v *docValue) []*docValue {
	switch {
	case v == nil || v.kind == vNull || v.kind == vUnknown:
		return nil
	case f.nesting == schema.Single || f.nesting == schema.Group:
		return []*docValue{v}
	}
	out := make([]*docValue, len(v.elems))
	for i, e := range v.elems {
		out[i] = hide(v, e)
	}
	return out
}

// hide is a part of a value that may be sensitive as a whole.
func hide(whole, part *docValue) *docValue {
	if whole == nil || part == nil || !whole.secret || part.secret {
		return part
	}
	c := *part
	c.secret = true
	return &c
}

// versionHints say how a new value of a write-only argument is announced, where an object is
// updated and nothing announces one.
func versionHints(f *blockSchemaForm, b, a *docValue) []string {
	var out []string
	for _, name := range unionNames(b, a) {
		in := f.parts[name]
		if !in.writes() || in.version == "" {
			continue
		}
		if vb, va := b.get(in.version), a.get(in.version); !va.absent() && va.equal(vb) {
			out = append(out, "# ("+name+" is write-only: raise "+in.version+" to send another value)")
		}
	}
	return out
}
