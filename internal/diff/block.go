package diff

import (
	"strconv"

	"github.com/lethe-iac/lethe/internal/schema"
)

// Block compares two blocks, b (before) and a (after). Either may be nil: the block does not exist then. The object
// itself is the outermost block. A change at a path in forces requires the replacement of the object. Parts outside
// relevant count as unchanged; if relevant is nil, all parts count as unchanged. If either block is sensitive and
// ShowSensitive is false, the node does not show the parts.
func (d *Differ) Block(f *BlockForm, b, a *Value, forces, relevant *Paths) *Node {
	if !d.ShowSensitive && (b != nil && b.Sensitive || a != nil && a.Sensitive) {
		n := d.secret(b, a)
		n.Forces = forces.Has() && n.Op != Same
		return n
	}
	if relevant == nil {
		a = b
	}
	asIs := func(name string) string { return name }
	n := d.parts(&Node{Kind: DictNode, Nested: true}, &f.Form, b, a, forces, relevant, asIs)
	for _, nested := range f.blocks {
		g := d.group(nested, b.get(nested.name), a.get(nested.name), forces.below(nested.name), relevant.below(nested.name))
		if len(g.Blocks) == 0 && g.Unknown == Same {
			continue
		}
		n.Groups = append(n.Groups, g)
		if op := g.op(); n.Op == Same || n.Op == Opaque && op == Update {
			n.Op = op
		}
	}
	n.Forces = forces.Has() && n.Op != Same
	if n.Op == Update && !d.Replaced {
		n.Notes = versionHints(f, b, a)
	}
	return n
}

// group compares all nested blocks of one type.
func (d *Differ) group(f nestedBlock, b, a *Value, forces, relevant *Paths) Group {
	g := Group{Name: f.name}
	if b.secret() || a.secret() {
		g.Blocks = []*Node{d.Block(f.BlockForm, b, a, forces, relevant)}
		return g
	}
	if a != nil && a.Kind == UnknownValue {
		g.Unknown, g.Forces = Update, forces.Has()
		if b == nil || len(blocksOf(f, b)) == 0 {
			g.Unknown = Add
		}
		a = nil
	}
	bs, as := blocksOf(f, b), blocksOf(f, a)
	switch f.nesting {
	case schema.Set:
		for _, p := range matchSets(bs, as) {
			g.Blocks = append(g.Blocks, d.Block(f.BlockForm, p[0], p[1], forces, AllPaths))
		}
	case schema.Map:
		for _, key := range unionNames(b, a) {
			d.addBlock(&g, f, strconv.Quote(key), hide(b, b.get(key)), hide(a, a.get(key)), forces.below(key), relevant.below(key))
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

func (d *Differ) addBlock(g *Group, f nestedBlock, label string, b, a *Value, forces, relevant *Paths) {
	if b == nil && (a == nil || relevant == nil) {
		return
	}
	n := d.Block(f.BlockForm, b, a, forces, relevant)
	n.Label = label
	g.Blocks = append(g.Blocks, n)
}

// blocksOf returns the nested blocks of one type in the block v. It returns nil if v is nil, null or unknown. The
// blocks of a sensitive value are sensitive.
func blocksOf(f nestedBlock, v *Value) []*Value {
	switch {
	case v == nil || v.Kind == NullValue || v.Kind == UnknownValue:
		return nil
	case f.nesting == schema.Single || f.nesting == schema.Group:
		return []*Value{v}
	}
	out := make([]*Value, len(v.Elements))
	for i, e := range v.Elements {
		out[i] = hide(v, e)
	}
	return out
}

// hide returns a part of a value. If the whole value is sensitive, the result is sensitive, too.
func hide(whole, part *Value) *Value {
	if whole == nil || part == nil || !whole.Sensitive || part.Sensitive {
		return part
	}
	c := *part
	c.Sensitive = true
	return &c
}

// versionHints returns a hint for each write-only argument whose version argument does not change. The hint explains
// how to send a new value.
func versionHints(f *BlockForm, b, a *Value) []string {
	var out []string
	for _, name := range unionNames(b, a) {
		in := f.parts[name]
		if !in.isWriteOnly() || in.version == "" {
			continue
		}
		if vb, va := b.get(in.version), a.get(in.version); !va.IsAbsent() && va.equal(vb) {
			out = append(out, "# ("+name+" is write-only: raise "+in.version+" to send another value)")
		}
	}
	return out
}
