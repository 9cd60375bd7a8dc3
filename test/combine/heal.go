package combine

import (
	"fmt"
	"slices"
	"strings"
)

// heal repairs a configuration after a part was removed or changed. References to missing or later blocks become
// literals. Calls get the arguments that their modules need. Outputs are sensitive if their values are. A moved block
// starts from an address without a declaration.
func heal(root *Module) {
	t := root.tree()
	root.each(func(m *Module, b *Block) { t.references(m, b) })
	root.each(func(m *Module, _ *Block) {
		m.Blocks = slices.DeleteFunc(m.Blocks, func(b *Block) bool { return b.Kind == Check && b.nested("assert") == nil || t.pointless(m, b) })
	})
	root.each(func(m *Module, b *Block) {
		if b.Kind == Call {
			arguments(b)
			if b.repeats() != "" || b.arg("depends_on") != nil || b.arg("providers") != nil {
				t.withoutProviders(b.Module)
			}
			passing(m, b)
			b.Module.each(func(in *Module, b *Block) { t.references(in, b) })
		}
	})
	secret := secrets(root)
	for _, b := range root.Blocks {
		if b.Kind != Output {
			continue
		}
		b.drop("sensitive")
		if secret[b.ID] {
			b.set("sensitive", raw("true"))
		}
	}
}

// pointless reports whether a moved, removed or import block has no effect: an import block names an address without a
// declaration, a moved or removed block starts from an object that is still declared, or an earlier moved block has the
// same start or end. It returns false for some of these blocks, so that scenarios contain refused configurations, too.
func (t tree) pointless(m *Module, b *Block) bool {
	if b.Kind != Moved && b.Kind != Removed && b.Kind != Import || b.ID%5 == 0 || b.ID%2 == 0 && strings.HasSuffix(b.arg("to").text(), "]") {
		return false
	}
	if b.Kind == Import {
		return !t.declared(m, b.arg("to").Text)
	}
	from := b.arg("from").Text
	for _, other := range m.Blocks[:slices.Index(m.Blocks, b)] {
		if other.Kind == Moved && (other.arg("from").Text == from || b.Kind == Moved && other.arg("to").Text == b.arg("to").Text) {
			return true
		}
	}
	return t.declared(m, from)
}

// declared reports whether a block of the module has an instance at an address, or the address has the key each.key.
func (t tree) declared(m *Module, address string) bool {
	name, key, one := strings.Cut(strings.TrimSuffix(address, "]"), "[")
	return slices.ContainsFunc(m.Blocks, func(b *Block) bool {
		return b.addr() == name && (one == (b.repeats() != "")) && (!one || key == "each.key" || slices.Contains(t.keys(m, b), strings.Trim(key, `"`)))
	})
}

// references repairs the references of one block b that name missing or later blocks, missing instances or missing
// outputs. It drops such references from lists, drops arguments that become empty, and drops conditions without any
// reference.
func (t tree) references(m *Module, b *Block) {
	at := slices.Index(m.Blocks, b)
	there := func(e *Expr) bool {
		i := slices.IndexFunc(m.Blocks, func(t *Block) bool { return t.ID == e.Ref })
		if i < 0 || i >= at && m.Blocks[i].Kind != Variable {
			return false
		}
		to, keys := m.Blocks[i], t.keys(m, m.Blocks[i])
		switch {
		case e.Op == "ref" && b.Kind == Provider && b.Name == "" && m.through(to, map[int]bool{}):
			return false
		case to.Kind != Provider && e.Sel != "" && !slices.Contains(keys, e.Sel):
			e.Sel = append(keys, "")[0]
		case to.Kind == Provider && to.repeats() != "": // a reference to a repeated provider: with the same key, or the first key
			if len(keys) == 0 {
				return false
			}
			e.Sel = fmt.Sprintf("[%q]", keys[0])
			if own := t.keys(m, b); b.repeats() == "for_each" && len(own) > 0 && contains(keys, own) {
				e.Sel = "[each.key]"
			}
		case to.Kind == Provider:
			e.Sel = ""
		}
		if (to.Kind == Call || to.Kind == Data) && e.Path != "" {
			return slices.Contains(readable(to), e.Path) || slices.Contains(unstored(to), e.Path) || e.Path == "names" && to.Type == "combine_calc"
		}
		return true
	}
	var mend func(e *Expr)
	mend = func(e *Expr) {
		switch e.Op {
		case "ref", "whole":
			if !there(e) {
				*e = *plainly(e)
			}
		}
		e.Args = slices.DeleteFunc(e.Args, func(a *Expr) bool { return a.Op == "addr" && e.Op == "list" && !there(a) })
		for _, a := range e.Args {
			mend(a)
		}
	}
	var block func(n *Block)
	block = func(n *Block) {
		n.Args = slices.DeleteFunc(n.Args, func(a Arg) bool { return a.Value.Op == "addr" && !there(a.Value) })
		for _, a := range n.Args {
			if a.Name == "name" || a.Name == "where" { // the attributes name and where keep references, so that names stay different in a block that moved to another module
				a.Value.each(func(e *Expr) {
					if where := m.where(); e.Op == "ref" && where != nil && !there(e) {
						e.Ref = where.ID
					}
				})
			}
			mend(a.Value)
		}
		n.Args = slices.DeleteFunc(n.Args, func(a Arg) bool { return a.Value.Type == Raw && a.Value.Op == "list" && len(a.Value.Args) == 0 })
		for _, nn := range n.Nested {
			block(nn)
		}
		n.Nested = slices.DeleteFunc(n.Nested, func(nn *Block) bool {
			return nn.Type == "lifecycle" && len(nn.Args)+len(nn.Nested) == 0 || conditions[nn.Type] && empty(nn)
		})
	}
	block(b)
	if id := b.arg("id"); b.Type == "combine_look" && (id == nil || id.Op != "ref" || id.Sel == "" && m.find(id.Ref).repeats() != "") {
		b.Type = "combine_calc" // without an ID the data source combine_look has no object to read
		b.drop("id")
	}
	if b.repeats() != "" && b.nested("lifecycle") != nil {
		b.lifecycle().drop("enabled")
	}
}

// through reports whether a block needs the default provider of its module, directly or through other blocks. seen
// holds the IDs of the blocks that were searched.
func (m *Module) through(b *Block, seen map[int]bool) bool {
	if b == nil || seen[b.ID] {
		return false
	}
	seen[b.ID] = true
	if strings.HasPrefix(b.Type, "combine_") && b.arg("provider") == nil || b.Kind == Call {
		return true
	}
	yes := false
	b.exprs(func(e *Expr) { yes = yes || e.Ref != 0 && m.through(m.find(e.Ref), seen) })
	return yes
}

// passing sets the providers of a call to the providers that its module needs.
func passing(m *Module, call *Block) {
	before := slices.DeleteFunc(slices.Clone(m.Blocks[:slices.Index(m.Blocks, call)]), func(p *Block) bool {
		return p.Kind != Provider || p.Name == "" || p.repeats() != ""
	})
	given, all := map[string]*Expr{}, &Expr{Op: "map", Type: Raw}
	if e := call.arg("providers"); e != nil {
		for i := 0; i < len(e.Args); i += 2 {
			given[e.Args[i].Text] = e.Args[i+1]
		}
	}
	wants := []string{"combine"}
	call.Module.Blocks = slices.DeleteFunc(call.Module.Blocks, func(p *Block) bool {
		if p.passed() {
			wants = append(wants, p.addr())
		}
		return p.passed() && len(before) == 0
	})
	for i, name := range wants {
		e := given[name]
		switch {
		case slices.ContainsFunc(before, func(p *Block) bool { return e != nil && p.ID == e.Ref }):
		case i == 0 || len(before) == 0:
			continue
		default:
			e = addr(before[len(before)-1])
		}
		all.Args = append(all.Args, raw(name), e)
	}
	call.drop("providers")
	if len(all.Args) > 0 {
		call.set("providers", all)
	}
}

// plainly returns a literal with the type of an expression, to replace the expression.
func plainly(e *Expr) *Expr {
	switch {
	case e.Op == "whole":
		return &Expr{Op: "lit", Text: `{ p = "v" }`, Type: Map}
	case e.Type == Number:
		return lit(1)
	case e.Type == Bool:
		return &Expr{Op: "lit", Text: "true", Type: Bool}
	case e.Type == Texts:
		return lit([]string{"p"})
	case e.Type == Map:
		return &Expr{Op: "lit", Text: "{}", Type: Map}
	case e.Op == "ref" && e.Path == "names":
		return lit([]string{"p"})
	}
	return lit("v")
}

// withoutProviders removes the provider blocks of modules that are repeated, have depends_on, or receive providers,
// because they may have none.
func (t tree) withoutProviders(m *Module) {
	m.each(func(in *Module, _ *Block) {
		in.Blocks = slices.DeleteFunc(in.Blocks, func(b *Block) bool { return b.Kind == Provider && !b.passed() })
	})
	m.each(func(in *Module, b *Block) {
		t.references(in, b)
		if b.Kind == Call {
			passing(in, b)
		}
	})
}

// empty reports whether a condition block contains no reference. Terraform refuses such conditions.
func empty(n *Block) bool {
	c := n.arg("condition")
	if c == nil {
		return n.Kind == Nested && conditions[n.Type]
	}
	refers := false
	c.each(func(e *Expr) { refers = refers || e.Op == "ref" || e.Op == "for" })
	return !refers
}

var conditions = map[string]bool{"precondition": true, "postcondition": true, "assert": true}

// arguments removes the arguments of a call for which its module has no variable.
func arguments(call *Block) {
	special := []string{"count", "for_each", "depends_on", "providers", "where"}
	call.Args = slices.DeleteFunc(call.Args, func(a Arg) bool {
		return !slices.Contains(special, a.Name) && !slices.ContainsFunc(call.Module.Blocks, func(v *Block) bool { return v.Kind == Variable && v.Name == a.Name })
	})
}

// secrets returns the blocks that may contain a sensitive value. It returns too many rather than too few.
func secrets(root *Module) map[int]bool {
	secret := map[int]bool{}
	for range 6 { // in each round, a secret passes through at least one more module; no scenario needs more than six rounds
		root.each(func(m *Module, b *Block) {
			has := b.arg("sensitive") != nil && b.Kind == Variable
			b.exprs(func(e *Expr) {
				has = has || e.Text == "sensitive" || e.Path == "secret" || e.Path == "token" || e.Ref != 0 && secret[e.Ref]
			})
			if b.Kind == Call {
				for _, in := range b.Module.Blocks {
					if in.Kind == Variable {
						if v := b.arg(in.Name); v != nil {
							v.each(func(e *Expr) { secret[in.ID] = secret[in.ID] || e.Text == "sensitive" || secret[e.Ref] })
						}
					}
					has = has || in.Kind == Output && secret[in.ID]
				}
			}
			secret[b.ID] = secret[b.ID] || has
		})
	}
	return secret
}
