package combine

import (
	"encoding/json"
	"slices"
	"strings"
)

// This file generates expressions.

// lit returns a literal for a string, an int or a []string, which is written as in JSON.
func lit(v any) *Expr {
	text, _ := json.Marshal(v)
	e := &Expr{Op: "lit", Text: string(text)}
	switch v.(type) {
	case string:
		e.Type = Text
	case int:
		e.Type = Number
	case []string:
		e.Type = Texts
	}
	return e
}

// note is a file in each directory, for functions that read files.
const note = "note.txt"

// raw returns an expression that is written verbatim.
func raw(text string) *Expr { return &Expr{Op: "lit", Text: text, Type: Raw} }

func addr(b *Block) *Expr { return &Expr{Op: "addr", Ref: b.ID, Type: Raw} }

func fn(name string, t Type, args ...*Expr) *Expr {
	return &Expr{Op: "fn", Text: name, Type: t, Args: args}
}

// unstored returns the text attributes of a block that may be used only where nothing is stored: attributes of
// ephemeral blocks, and ephemeral outputs of a module.
func unstored(b *Block) []string {
	if b.Kind == Ephemeral {
		return []string{"token", "text"}
	}
	return outputs(b, true)
}

// outputs returns the names of the outputs of a called module: the ephemeral ones, or the others.
func outputs(b *Block, ephemeral bool) []string {
	var names []string
	for _, o := range b.Module.blocks() {
		if o.Kind == Output && (o.arg("ephemeral") != nil) == ephemeral {
			names = append(names, o.Name)
		}
	}
	return names
}

// readable returns the text attributes that other blocks may refer to. An attribute that occurs twice is chosen more
// often.
func readable(b *Block) []string {
	switch {
	case b.Type == "terraform_data":
		return []string{"id", "output", "output"}
	case b.Kind == Resource:
		return []string{"id", "id", "etag", "content", "note", "name", "kind"}
	case b.Type == "combine_look":
		return []string{"etag", "content", "name", "id"}
	case b.Type == "combine_calc":
		return []string{"output"}
	}
	return outputs(b, false)
}

// sel returns the key of an instance for a reference, or "" for all instances.
func (g *gen) sel(b *Block) string {
	if g.one(2) {
		return ""
	}
	switch b.repeats() {
	case "count":
		return "0"
	case "for_each":
		return "p"
	}
	return ""
}

// text returns a random expression of type text, which may refer to earlier declarations. depth limits the nesting;
// with 0 the expression is a literal.
func (g *gen) text(m *Module, at, depth int) *Expr {
	switch n := g.IntN(100); {
	case n < 24 || depth == 0:
		return lit(choose(g, "a", "b", "c"))
	case n < 68:
		if e := g.ref(m, at); e != nil {
			return e
		}
		return lit("a")
	case n < 74:
		return &Expr{Op: choose(g, "key", "value"), Type: Text}
	case n < 81:
		return &Expr{Op: "tpl", Type: Text, Args: []*Expr{g.text(m, at, depth-1), lit("-"), g.text(m, at, depth-1)}}
	case n < 86:
		return fn("upper", Text, g.text(m, at, depth-1))
	case n < 91:
		return fn("tostring", Text, fn("length", Number, g.text(m, at, depth-1)))
	case n < 95:
		return &Expr{Op: "cond", Type: Text, Args: []*Expr{g.truth(m, at), g.text(m, at, depth-1), g.text(m, at, depth-1)}}
	case n < 96:
		return &Expr{Op: "lit", Type: Text, Text: choose(g, `file("${path.module}/`+note+`")`, `filemd5("${path.module}/`+note+`")`, `one(fileset(path.module, "`+note+`"))`)}
	case n < 97:
		return fn("sensitive", Text, g.text(m, at, depth-1))
	default:
		return fn("try", Text, g.text(m, at, depth-1), lit("t"))
	}
}

// ref returns a reference to text of an earlier declaration, or nil. It prefers resources, data sources and calls.
func (g *gen) ref(m *Module, at int) *Expr {
	for i := range 8 {
		if at == 0 {
			return nil
		}
		b := m.Blocks[g.IntN(at)]
		if i < 3 && b.Kind != Resource && b.Kind != Data && b.Kind != Call {
			continue
		}
		switch b.Kind {
		case Variable:
			if b.Name == "where" || b.arg("ephemeral") != nil || b.arg("type").Text != "string" {
				continue
			}
			return &Expr{Op: "ref", Ref: b.ID, Type: Text}
		case Local:
			if b.arg("value").Type == Text {
				return &Expr{Op: "ref", Ref: b.ID, Type: Text}
			}
			continue
		}
		if names := readable(b); len(names) > 0 {
			return &Expr{Op: "ref", Ref: b.ID, Path: choose(g, names...), Sel: g.sel(b), Type: Text}
		}
	}
	return nil
}

// ids returns references to the IDs of one or two earlier objects, or none if no resource of the provider is earlier.
func (g *gen) ids(m *Module, at int) []*Expr {
	var list []*Expr
	for _, b := range m.Blocks[:at] {
		if b.Kind == Resource && strings.HasPrefix(b.Type, "combine_") && len(list) < 2 {
			e := &Expr{Op: "ref", Ref: b.ID, Path: "id", Type: Text, Sel: "0"}
			if b.repeats() == "for_each" {
				e.Sel = "p"
			}
			list = append(list, e)
		}
	}
	g.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:min(len(list), 1+g.IntN(2))]
}

// any returns a value for an argument that accepts every type: an object, a list, a number, a text, or an output of a
// terraform_data.
func (g *gen) any(m *Module, at int) *Expr {
	switch g.IntN(8) {
	case 0, 4, 5:
		return &Expr{Op: "map", Type: Any, Args: []*Expr{raw("k"), g.text(m, at, 1), raw("j"), g.text(m, at, 1)}}
	case 1, 6:
		return &Expr{Op: "list", Type: Any, Args: []*Expr{g.text(m, at, 1), g.text(m, at, 1)}}
	case 2:
		return lit(g.IntN(3))
	case 3:
		for _, b := range m.Blocks[:at] {
			if b.Type == "terraform_data" && g.one(2) {
				return &Expr{Op: "ref", Ref: b.ID, Path: "output", Sel: g.sel(b), Type: Any}
			}
		}
	}
	return g.text(m, at, 2)
}

func (g *gen) tags(m *Module, at int) *Expr {
	e := &Expr{Op: "map", Type: Map}
	for _, k := range []string{"x", "y"} {
		if !g.one(3) {
			e.Args = append(e.Args, raw(k), g.text(m, at, 1))
		}
	}
	return e
}

// hidden returns text for attributes that are not stored. In a scenario that leaks secrets it refers to the variable
// hush, which it prefers to anything else.
func (g *gen) hidden(m *Module, at int) *Expr {
	if g.leaky && at > 0 && m.Blocks[0].Name == "hush" {
		return &Expr{Op: "ref", Ref: m.Blocks[0].ID, Type: Text}
	}
	for range 6 {
		if at == 0 {
			break
		}
		switch b := m.Blocks[g.IntN(at)]; {
		case b.Kind == Variable && b.arg("ephemeral") != nil:
			return &Expr{Op: "ref", Ref: b.ID, Type: Text}
		case len(unstored(b)) > 0:
			return &Expr{Op: "ref", Ref: b.ID, Path: choose(g, unstored(b)...), Sel: g.sel(b), Type: Text}
		}
	}
	if g.one(3) {
		return lit("hush")
	}
	return g.text(m, at, 1)
}

func (g *gen) number(m *Module, at int) *Expr {
	for _, b := range m.Blocks[:at] {
		switch {
		case b.Kind == Variable && b.arg("type") != nil && b.arg("type").Text == "number" && g.one(3):
			return &Expr{Op: "ref", Ref: b.ID, Type: Number}
		case (b.Kind == Resource || b.Kind == Call) && b.repeats() != "" && g.one(4):
			return fn("length", Number, &Expr{Op: "whole", Ref: b.ID, Type: Any})
		case b.Type == "combine_calc" && b.repeats() == "" && g.one(4):
			return fn("length", Number, &Expr{Op: "ref", Ref: b.ID, Path: "names", Type: Any})
		}
	}
	if g.one(4) {
		return fn("length", Number, &Expr{Op: "list", Type: Texts, Args: []*Expr{g.text(m, at, 1)}})
	}
	return lit(g.IntN(4))
}

// fixed returns keys that do not depend on an object or data.
func (g *gen) fixed(m *Module) *Expr {
	for _, b := range m.Blocks {
		if b.Kind == Variable && b.arg("type").Text == "list(string)" && g.one(2) {
			return fn("toset", Any, &Expr{Op: "ref", Ref: b.ID, Type: Texts})
		}
	}
	return fn("toset", Any, lit(choose(g, []string{"p"}, []string{"p", "q"}, []string{"q", "r"}, []string{"p", "q", "r"})))
}

// keys returns a collection for the for_each of a block: instances of an earlier block, their keys, a list of texts or
// a map.
func (g *gen) keys(m *Module, at int) *Expr {
	for _, b := range slices.Backward(m.Blocks[:at]) {
		whole := &Expr{Op: "whole", Ref: b.ID, Type: Any}
		switch {
		case (b.Kind == Resource || b.Kind == Call) && b.repeats() == "for_each" && g.one(3):
			switch g.IntN(4) {
			case 0:
				return fn("toset", Any, fn("keys", Texts, whole))
			case 1:
				if names := readable(b); len(names) > 0 {
					return &Expr{Op: "for", Type: Map, Text: "{ for k, v in $1 : k => " + plain("v", choose(g, names...), b) + " }", Args: []*Expr{whole}}
				}
			}
			return whole
		case b.Type == "combine_calc" && b.repeats() == "" && g.one(4):
			return fn("toset", Any, &Expr{Op: "ref", Ref: b.ID, Path: "names", Type: Any})
		case b.Type == "combine_calc" && b.repeats() == "" && g.one(4):
			return fn("toset", Any, &Expr{Op: "list", Type: Texts, Args: []*Expr{{Op: "ref", Ref: b.ID, Path: "output", Type: Text}}})
		case b.Kind == Local && b.arg("value").Type != Text && g.one(2):
			return &Expr{Op: "ref", Ref: b.ID, Type: Any}
		}
	}
	if g.one(3) {
		return g.fixed(m)
	}
	e := &Expr{Op: "map", Type: Map}
	for _, k := range choose(g, []string{"p"}, []string{"p", "q"}, []string{"q", "r"}) {
		e.Args = append(e.Args, raw(k), g.text(m, at, 1))
	}
	return e
}

// plain returns an attribute of a block, as text that is never null.
func plain(of, name string, b *Block) string {
	of += "." + name
	switch {
	case slices.Contains(nullable, name) && b.Kind != Call:
		return `coalesce(` + of + `, "none")`
	case name == "output" && b.Type == "terraform_data":
		return "jsonencode(" + of + ")"
	}
	return of
}

// repeat adds count or for_each to a block, or leaves the block unchanged.
func (g *gen) repeat(m *Module, b *Block, at int) {
	switch word := g.draw(weight{"", 5}, weight{"count", 2}, weight{"for_each", 3}); word {
	case "count":
		b.set(word, g.number(m, at))
	case "for_each":
		b.set(word, g.keys(m, at))
	}
}
