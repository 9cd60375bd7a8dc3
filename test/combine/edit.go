package combine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// edit makes one change of the kind that users make from one day to the next, in the root module or in a module below
// it. A change may also add drift and arguments of the command to st.
func (g *gen) edit(root *Module, st *Step) {
	m, depth := root, 0
	for depth < 2 && g.one(4) { // edit a module below the root with some probability
		var calls []*Block
		for _, b := range m.Blocks {
			if b.Kind == Call {
				calls = append(calls, b)
			}
		}
		if len(calls) == 0 {
			break
		}
		m, depth = choose(g, calls...).Module, depth+1
	}
	if len(m.Blocks) == 0 {
		return
	}
	at := g.IntN(len(m.Blocks))
	b := m.Blocks[at]
	used := map[int]bool{}
	for _, t := range m.Blocks {
		t.exprs(func(e *Expr) { used[e.Ref] = true })
	}
	for range 4 { // try several blocks, to prefer blocks that others refer to
		if (b.Kind == Resource || b.Kind == Provider || b.Kind == Data) && (used[b.ID] || g.one(3)) {
			break
		}
		at = g.IntN(len(m.Blocks))
		b = m.Blocks[at]
	}
	switch g.draw(weight{"change", 30}, weight{"vary", 8}, weight{"add", 6}, weight{"remove", 10}, weight{"rename", 8}, weight{"repeat", 8}, weight{"habit", 6},
		weight{"mark", 6}, weight{"rewire", 7}, weight{"import", 5}, weight{"reprovide", 4}, weight{"retype", 4}) {
	case "change":
		g.change(root, m, b, at)
	case "vary":
		g.vary(root)
	case "add":
		g.add(m, depth, at)
	case "remove":
		g.remove(root, m, b)
	case "rename":
		g.rename(root, m, b)
	case "repeat":
		g.rerepeat(root, m, b, at)
	case "habit":
		g.habit(m, b, at)
	case "mark":
		g.mark(b)
	case "rewire":
		g.rewire(m, b, at)
	case "import":
		g.imported(root, st)
	case "reprovide":
		g.reprovide(m, b, at)
	default:
		g.retype(root, m, b)
	}
}

// change replaces or removes the value of an argument of b. The parameter at is the index of b in its module.
func (g *gen) change(root, m *Module, b *Block, at int) {
	if b.Kind != Call && b.Kind != Variable && g.one(3) && g.tweak(m, b, at) {
		return
	}
	switch b.Kind {
	case Resource:
		switch {
		case b.Type == "terraform_data":
			b.set(choose(g, "input", "input", "triggers_replace"), choose(g, g.any(m, at), g.any(m, at), lit(choose(g, "a", "b", "c"))))
		case g.one(8):
			if e := b.arg("name"); e != nil {
				e.Args = append(e.Args, lit(choose(g, "x", "y")))
			}
		case g.one(3): // change a text that exists already
			var texts []int
			for i, a := range b.Args {
				if a.Value.Type == Text && a.Name != "name" && !strings.HasPrefix(a.Name, "password") {
					texts = append(texts, i)
				}
			}
			if len(texts) > 0 {
				b.Args[choose(g, texts...)].Value = choose(g, lit(choose(g, "a", "b", "c")), g.text(m, at, 1))
			}
		case g.one(5) && len(b.Args) > 2:
			if a := b.Args[1+g.IntN(len(b.Args)-1)]; a.Name != "name" {
				b.drop(a.Name)
			}
		default:
			g.attribute(m, b, at)
		}
	case Data:
		if b.Type == "combine_calc" {
			b.set("input", g.text(m, at, 2))
		}
	case Provider:
		b.set("region", g.setting(m, at))
	case Local, Output:
		b.set("value", g.text(m, at, 2))
	case Call:
		for _, v := range b.Module.Blocks {
			if v.Kind == Variable && v.Name != "where" && g.one(2) {
				b.set(v.Name, g.input(m, v, at))
			}
		}
	case Variable:
		g.vary(root)
	}
}

// tweak changes one word in the values of a block, and reports whether the block has a word.
func (g *gen) tweak(m *Module, b *Block, at int) bool {
	var words []*Expr
	for _, a := range b.Args {
		if a.Name != "name" && a.Name != "where" && a.Name != "label" {
			a.Value.each(func(e *Expr) {
				if e.Op == "lit" && e.Type == Text {
					words = append(words, e)
				}
			})
		}
	}
	if len(words) == 0 {
		return false
	}
	*choose(g, words...) = *choose(g, lit("a"), lit("b"), lit("d"), g.text(m, at, 0))
	return true
}

// vary changes the values of about two thirds of the root variables, or their defaults if they have no value.
func (g *gen) vary(root *Module) {
	for _, b := range root.Blocks {
		if b.Kind != Variable || g.one(3) {
			continue
		}
		name := "default"
		if b.arg("value") != nil {
			name = "value"
		}
		switch b.arg("type").Text {
		case "number":
			b.set(name, lit(g.IntN(4)))
		case "list(string)":
			b.set(name, lit(choose(g, []string{"p"}, []string{"q"}, []string{"p", "q"}, []string{"q", "r"})))
		default:
			b.set(name, lit(choose(g, "a", "b", "c", "d")))
		}
	}
}

// refactor adds a block of this kind (moved, removed, import) at the end of the module.
func (g *gen) refactor(m *Module, kind Kind, args []Arg, nested ...*Block) {
	m.Blocks = append(m.Blocks, &Block{ID: g.id(), Kind: kind, Args: args, Nested: nested})
}

// moved adds a moved block, except if both addresses are equal.
func (g *gen) moved(m *Module, from, to string) {
	if from != to {
		g.refactor(m, Moved, []Arg{{"from", raw(from)}, {"to", raw(to)}})
	}
}

// remove removes a block, with or without a removed block for its objects.
func (g *gen) remove(root, m *Module, b *Block) {
	if b.Name == "where" || b.Kind == Variable {
		return
	}
	m.Blocks = slices.DeleteFunc(m.Blocks, func(t *Block) bool { return t == b })
	if (b.Kind == Resource || b.Kind == Call) && g.one(2) {
		life := &Block{Kind: Nested, Type: "lifecycle", Args: []Arg{{"destroy", raw(choose(g, "true", "false"))}}}
		g.refactor(m, Removed, []Arg{{"from", raw(b.addr())}}, life)
	}
}

// rename renames a block, in most cases with a moved block. It may instead exchange the names of two resources. It
// leaves blocks whose names have a fixed meaning (variables, outputs and others) unchanged.
func (g *gen) rename(root, m *Module, b *Block) {
	if b.Kind == Variable || b.Kind == Output || b.Kind == Provider && b.Name == "" || b.Kind == Moved || b.Kind == Removed || b.Kind == Import {
		return
	}
	if b.Kind == Resource && g.one(3) { // exchange the names of two blocks, or make a chain of moves
		for _, t := range m.Blocks {
			if t != b && t.Type == b.Type && t.Kind == Resource && g.one(2) {
				was, old := b.addr(), t.addr()
				b.Name, t.Name = t.Name, b.Name
				if !g.one(4) {
					t.Name += "x"
				}
				g.moved(m, was, b.addr())
				g.moved(m, old, t.addr())
				return
			}
		}
	}
	was := b.addr()
	b.Name += "x"
	if (b.Kind == Resource || b.Kind == Call) && !g.one(4) {
		g.moved(m, was, b.addr())
		if g.one(5) && b.repeats() == "for_each" {
			g.moved(m, b.addr()+`["p"]`, b.addr()+`["q"]`)
		}
	}
}

// rerepeat adds, changes or removes the count or for_each of a block, in most cases with moved blocks.
func (g *gen) rerepeat(root, m *Module, b *Block, at int) {
	if b.Kind != Resource && b.Kind != Call && b.Kind != Data && b.Kind != Ephemeral {
		return
	}
	was, now := b.repeats(), b.repeats()
	if was == "for_each" && b.Kind != Data && b.Kind != Ephemeral && g.one(2) {
		g.shift(root.tree(), m, b)
		return
	}
	if g.one(2) {
		now = choose(g, "", "count", "for_each")
	}
	if b.Kind == Call && now != "" && slices.ContainsFunc(b.Module.Blocks, func(n *Block) bool { return n.Kind == Provider }) {
		return
	}
	b.drop("count")
	b.drop("for_each")
	switch now {
	case "count":
		b.set("count", g.number(m, at))
	case "for_each":
		b.set("for_each", g.keys(m, at))
	}
	g.renames(m, b)
	if b.Kind == Data || b.Kind == Ephemeral || g.one(3) {
		return
	}
	key := map[string][]string{"": {""}, "count": {"[0]", "[1]", "[2]", "[9]"}, "for_each": {`["p"]`, `["q"]`, `["r"]`}}
	for range 1 + g.IntN(2) {
		g.moved(m, b.addr()+choose(g, key[was]...), b.addr()+choose(g, key[now]...))
	}
}

// shift changes the keys of a block's instances, and adds moved blocks for some of them.
func (g *gen) shift(t tree, m *Module, b *Block) {
	was := t.keys(m, b)
	now := choose(g, []string{"q"}, []string{"q", "r"}, []string{"r", "s"}, []string{"p", "r"})
	b.set("for_each", fn("toset", Any, lit(now)))
	for i := range min(len(was), len(now)) {
		if !g.one(4) && was[i] != now[i] {
			g.moved(m, fmt.Sprintf("%s[%q]", b.addr(), was[i]), fmt.Sprintf("%s[%q]", b.addr(), now[i]))
		}
	}
}

// renames adapts the names in a block to its count or for_each.
func (g *gen) renames(m *Module, b *Block) {
	for _, name := range []string{"name", "where"} {
		if b.arg(name) != nil && b.Kind != Variable {
			b.set(name, g.where(m, b))
		}
	}
}

// habit changes lifecycle arguments and dependencies.
func (g *gen) habit(m *Module, b *Block, at int) {
	switch {
	case b.Kind == Resource && g.one(2):
		l := b.lifecycle()
		if l.arg("create_before_destroy") != nil {
			l.drop("create_before_destroy")
		} else {
			l.set("create_before_destroy", raw("true"))
		}
	case b.arg("depends_on") != nil:
		b.drop("depends_on")
	case b.Kind == Resource || b.Kind == Data:
		g.habits(m, b, at)
	case b.Kind == Call:
		g.depends(m, b, at)
	}
}

// mark makes a text variable or an argument of another block sensitive, or removes this mark. It may change nothing.
func (g *gen) mark(b *Block) {
	if b.Kind == Variable {
		switch {
		case b.arg("ephemeral") != nil || b.arg("type").Text != "string" || b.Name == "where":
		case b.arg("sensitive") != nil:
			b.drop("sensitive")
		default:
			b.set("sensitive", raw("true"))
		}
		return
	}
	for i, a := range b.Args {
		e := a.Value
		switch {
		case a.Name == "name" || a.Name == "where" || a.Name == b.repeats() || e.Type != Text && e.Type != Map && e.Type != Texts:
		case e.Text == "sensitive" && e.Op == "fn":
			b.Args[i].Value = e.Args[0]
			return
		case e.Op == "map" && len(e.Args) > 1 && g.one(2):
			e.Args[1] = fn("sensitive", Text, e.Args[1])
			return
		case g.one(2):
			b.Args[i].Value = fn("sensitive", e.Type, e)
			return
		}
	}
}

// rewire changes or removes the references of a block.
func (g *gen) rewire(m *Module, b *Block, at int) {
	b.exprs(func(e *Expr) {
		if e.Op != "ref" || e.Type != Text || g.one(3) {
			return
		}
		if t := m.find(e.Ref); t != nil && (t.Name == "where" || t.arg("ephemeral") != nil || t.Kind == Ephemeral) {
			return
		}
		*e = *g.text(m, at, 0)
		if g.one(2) {
			if n := g.ref(m, at); n != nil {
				*e = *n
			}
		}
	})
}

// imported adds a resource to the root module, and imports an object that exists already to it: with an import block,
// or with the command import before the step. The object is added to the drifts of the step.
func (g *gen) imported(root *Module, st *Step) {
	b := &Block{ID: g.id(), Kind: Resource, Type: choose(g, "combine_box", "combine_box", "combine_box", "combine_crate")}
	if g.plain {
		b.Type = "combine_box"
	}
	b.Name = "i" + strconv.Itoa(b.ID)
	id := "old" + strconv.Itoa(b.ID)
	name := choose(g, lit(id), lit(id), lit("new"+strconv.Itoa(b.ID)))
	b.set("name", name)
	to := b.addr()
	if g.one(4) {
		b.set("name", &Expr{Op: "tpl", Type: Text, Args: []*Expr{name, {Op: "key", Type: Text}}}) // include the key, because there may be several instances later
		b.set("for_each", fn("toset", Any, lit([]string{"p"})))
		to += `["p"]`
	}
	for range g.IntN(3) {
		g.attribute(root, b, len(root.Blocks))
	}
	g.habits(root, b, len(root.Blocks))
	root.Blocks = append(root.Blocks, b)
	st.Drifts = append(st.Drifts, Drift{Do: "seed", ID: id})
	if g.one(4) {
		st.Drifts = append(st.Drifts, Drift{Do: "import", ID: id, To: to})
		return
	}
	args := []Arg{{"to", raw(to)}, {"id", lit(id)}}
	if b.repeats() != "" && g.one(2) {
		args = []Arg{{"for_each", &Expr{Op: "map", Type: Raw, Args: []*Expr{raw("p"), lit(id)}}}, {"to", raw(b.addr() + "[each.key]")}, {"id", raw("each.value")}}
	}
	g.refactor(root, Import, args)
	if g.one(5) {
		st.Do.Replace = []string{to}
	}
}

// reprovide changes the provider of a block, or renames a provider.
func (g *gen) reprovide(m *Module, b *Block, at int) {
	for _, p := range m.Blocks {
		if p.Kind == Provider && p.Name != "" && g.one(2) {
			p.Name += "x"
			return
		}
	}
	if strings.HasPrefix(b.Type, "combine_") && b.Kind == Resource {
		if b.arg("provider") != nil && g.one(2) {
			b.drop("provider")
		} else {
			g.through(m, b, at)
		}
	}
}

// retype changes a box to a crate or a crate to a box, and adds a moved block.
func (g *gen) retype(root, m *Module, b *Block) {
	to := map[string]string{"combine_box": "combine_crate", "combine_crate": "combine_box"}[b.Type]
	if b.Kind != Resource || to == "" || g.plain {
		return
	}
	was := b.addr()
	b.Type = to
	g.moved(m, was, b.addr())
}
