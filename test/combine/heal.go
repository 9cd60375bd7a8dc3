package combine

import "slices"

// heal makes a configuration whole again after something was taken out of it or changed: references
// to what is not there, or not before, become literals; modules get the arguments that they want;
// outputs are sensitive where their values are.
func heal(root *Module) {
	root.each(func(m *Module, b *Block) { references(m, b) })
	root.each(func(m *Module, _ *Block) {
		m.Blocks = slices.DeleteFunc(m.Blocks, func(b *Block) bool { return b.Kind == Check && b.nested("assert") == nil })
	})
	root.each(func(m *Module, b *Block) {
		if b.Kind == Call {
			arguments(b)
			if b.repeats() != "" || b.arg("depends_on") != nil || b.arg("providers") != nil {
				withoutProviders(b.Module)
			}
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

// references mends those of one block.
func references(m *Module, b *Block) {
	at := slices.Index(m.Blocks, b)
	there := func(e *Expr) bool {
		i := slices.IndexFunc(m.Blocks, func(t *Block) bool { return t.ID == e.Ref })
		if i < 0 || i >= at {
			return false
		}
		t := m.Blocks[i]
		if t.Kind == Call && e.Path != "" {
			return slices.Contains(readable(t), e.Path)
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
		n.Args = slices.DeleteFunc(n.Args, func(a Arg) bool {
			if a.Value.Op == "addr" {
				return !there(a.Value)
			}
			return a.Name == "providers" && !there(a.Value.Args[1])
		})
		for _, a := range n.Args {
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
}

// plainly is a literal of the type of an expression.
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

// withoutProviders takes away what modules may not have that are repeated, that depend on something, or
// that are given providers.
func withoutProviders(m *Module) {
	m.each(func(in *Module, _ *Block) {
		in.Blocks = slices.DeleteFunc(in.Blocks, func(b *Block) bool { return b.Kind == Provider })
	})
	m.each(func(in *Module, b *Block) { references(in, b) })
}

// empty is whether a condition says nothing about anything: such are refused.
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

// arguments gives a call those that its module has variables for, and no others.
func arguments(call *Block) {
	special := []string{"count", "for_each", "depends_on", "providers", "where"}
	call.Args = slices.DeleteFunc(call.Args, func(a Arg) bool {
		return !slices.Contains(special, a.Name) && !slices.ContainsFunc(call.Module.Blocks, func(v *Block) bool { return v.Kind == Variable && v.Name == a.Name })
	})
}

// secrets are the blocks that have something sensitive in them: rather too many than too few.
func secrets(root *Module) map[int]bool {
	secret := map[int]bool{}
	for range 6 { // as deep as references go through modules
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
