package combine

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// files returns the files of a configuration, with those of its modules and the values of variables, by relative path.
func (m *Module) files() map[string]string {
	files := map[string]string{}
	m.render(".", files, m.uses("combine"))
	return files
}

// render adds the files of a module and of the modules below it to files. dir is the directory of the module. wants is
// true if the module must require the provider.
func (m *Module) render(dir string, files map[string]string, wants bool) {
	var b, values strings.Builder
	if wants {
		aliases := ""
		for _, p := range m.Blocks {
			if p.passed() {
				aliases += ", " + p.addr()
			}
		}
		if aliases != "" {
			aliases = fmt.Sprintf("      configuration_aliases = [%s]\n", aliases[2:])
		}
		b.WriteString("terraform {\n  required_providers {\n    combine = {\n      source = \"lethe/combine\"\n" + aliases + "    }\n  }\n}\n")
	}
	var over strings.Builder
	asJSON := object{}
	for _, block := range m.Blocks {
		w := &writer{m: m, top: block, dir: dir}
		switch {
		case block.passed():
		case block.Form == JSON:
			w.block(block, 0)
			addJSON(asJSON, w.String())
		case block.Form == Override:
			main, rest := block.split()
			w.block(main, 0)
			b.WriteString(w.String())
			w = &writer{m: m, top: block, dir: dir}
			w.block(rest, 0)
			over.WriteString(w.String())
		default:
			w.block(block, 0)
			b.WriteString(w.String())
		}
		if v := block.arg("value"); v != nil && block.Kind == Variable && dir == "." && block.arg("ephemeral") == nil {
			fmt.Fprintf(&values, "%s = %s\n", block.Name, w.expr(v))
		}
		if block.Module != nil {
			block.Module.render(path.Join(dir, block.dir()), files, wants)
		}
	}
	files[path.Join(dir, "main.tf")] = b.String()
	if over.Len() > 0 {
		files[path.Join(dir, "override.tf")] = over.String()
	}
	if len(asJSON) > 0 {
		files[path.Join(dir, "more.tf.json")] = indented(asJSON)
	}
	for name, text := range files {
		if path.Dir(name) == dir && strings.Contains(text, note) {
			files[path.Join(dir, note)] = "a"
		}
	}
	if values.Len() > 0 {
		files["terraform.tfvars"] = values.String()
	}
}

// dir returns the directory of a call's module, which does not depend on the name of the call.
func (b *Block) dir() string { return "mod" + strconv.Itoa(b.ID) }

// uses reports whether a module or a module below it has a block of a provider, configures a provider, or names a type
// of the provider in a moved, removed or import block.
func (m *Module) uses(provider string) bool {
	yes := false
	m.each(func(_ *Module, b *Block) {
		yes = yes || b.Kind == Provider || strings.HasPrefix(b.Type, provider+"_")
		for _, n := range b.Nested {
			yes = yes || strings.HasPrefix(n.Type, provider+"_")
		}
		for _, a := range b.Args {
			yes = yes || (b.Kind == Moved || b.Kind == Removed || b.Kind == Import) && strings.Contains(a.Value.Text, provider+"_")
		}
	})
	return yes
}

// writer writes one block of a module.
type writer struct {
	strings.Builder
	m   *Module
	top *Block // the outermost block, whose count or for_each applies
	dir string
}

func (w *writer) line(depth int, format string, args ...any) {
	w.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(w, format, args...)
	w.WriteString("\n")
}

// head returns the first line of a block, without the brace.
func (b *Block) head() string {
	switch b.Kind {
	case Resource, Data, Ephemeral:
		return fmt.Sprintf("%s %q %q", b.Kind, b.Type, b.Name)
	case Variable, Call, Output, Check:
		return fmt.Sprintf("%s %q", b.Kind, b.Name)
	case Local:
		return "locals"
	case Provider:
		return `provider "combine"`
	case Nested:
		if b.Name == "" {
			return b.Type
		}
		if strings.HasPrefix(b.Type, "data ") {
			return fmt.Sprintf("data %q %q", strings.TrimPrefix(b.Type, "data "), b.Name)
		}
		return fmt.Sprintf("%s %q", b.Type, b.Name)
	}
	return string(b.Kind)
}

func (w *writer) block(b *Block, depth int) {
	w.line(depth, "%s {", b.head())
	if b.Kind == Provider && b.Name != "" {
		w.line(depth+1, "alias = %q", b.Name)
	}
	if b.Kind == Call {
		w.line(depth+1, "source = %q", "./"+b.dir())
	}
	for _, a := range b.Args {
		name := a.Name
		switch {
		case b.Kind == Variable && name == "value":
			continue
		case b.Kind == Local:
			name = b.Name
		}
		top := w.top
		if b == top && (name == "count" || name == "for_each") {
			w.top = &Block{} // no key is available, because the count or for_each expression itself is not repeated
		}
		w.line(depth+1, "%s = %s", name, w.expr(a.Value))
		w.top = top
	}
	for _, n := range b.Nested {
		w.block(n, depth+1)
	}
	w.line(depth, "}")
}

// addr returns the address of a block in its module, or "" for a kind that has none.
func (b *Block) addr() string {
	switch b.Kind {
	case Variable:
		return "var." + b.Name
	case Local:
		return "local." + b.Name
	case Resource:
		return b.Type + "." + b.Name
	case Data, Ephemeral:
		return string(b.Kind) + "." + b.Type + "." + b.Name
	case Call, Output, Check:
		return string(b.Kind) + "." + b.Name
	case Provider:
		if b.Name == "" {
			return "combine"
		}
		return "combine." + b.Name
	}
	return ""
}

// nullable lists the attributes that may be null.
var nullable = []string{"content", "kind", "secret"}

// expr returns an expression in native syntax.
func (w *writer) expr(e *Expr) string {
	args := make([]string, len(e.Args))
	for i, a := range e.Args {
		args[i] = w.expr(a)
	}
	switch e.Op {
	case "lit":
		return e.Text
	case "ref":
		return w.ref(e)
	case "whole":
		return w.whole(w.m.find(e.Ref))
	case "addr":
		return w.address(e)
	case "key":
		switch w.top.repeats() {
		case "count":
			return "tostring(count.index)"
		case "for_each":
			return "each.key"
		}
		return `"k"`
	case "value":
		return w.value(e)
	case "fn":
		return e.Text + "(" + strings.Join(args, ", ") + ")"
	case "tpl":
		return template(e, args)
	case "cond":
		return fmt.Sprintf("(%s ? %s : %s)", args[0], args[1], args[2])
	case "op":
		return fmt.Sprintf("(%s %s %s)", args[0], e.Text, args[1])
	case "list":
		return "[" + strings.Join(args, ", ") + "]"
	case "map":
		var b strings.Builder
		for i := 0; i+1 < len(args); i += 2 {
			key := args[i]
			if e.Args[i].Op != "lit" {
				key = "(" + key + ")"
			}
			fmt.Fprintf(&b, "%s = %s, ", key, args[i+1])
		}
		return "{ " + strings.TrimSuffix(b.String(), ", ") + " }"
	case "for":
		text := e.Text
		for i, a := range args {
			text = strings.ReplaceAll(text, "$"+strconv.Itoa(i+1), a)
		}
		return text
	}
	return "null"
}

// whole returns an expression in native syntax for a map from the instance keys of a block to its instances. A count
// becomes keys like "p0", and a block without repetition has the key "p". A missing block becomes "{}".
func (w *writer) whole(b *Block) string {
	switch {
	case b == nil:
		return "{}"
	case b.repeats() == "count":
		return "{ for i, v in " + b.addr() + ` : "p${i}" => v }`
	case b.optional():
		return "{ for k, v in { p = " + b.addr() + " } : k => v if v != null }"
	case b.repeats() == "":
		return "{ p = " + b.addr() + " }"
	}
	return b.addr()
}

// address returns a reference as an address, or "null" if the block is missing. It leaves out a path whose instance is
// not chosen or cannot exist.
func (w *writer) address(e *Expr) string {
	b := w.m.find(e.Ref)
	if b == nil {
		return "null"
	}
	text := b.addr()
	if b.Kind == Provider {
		return text + e.Sel
	}
	if r := b.repeats(); r != "" && e.Path != "" {
		sel := e.Sel
		if sel == "" {
			return text
		}
		if _, err := strconv.Atoi(sel); (err == nil) != (r == "count") {
			return text
		}
		if r == "for_each" {
			sel = strconv.Quote(sel)
		}
		text += "[" + sel + "]"
	}
	if e.Path != "" {
		text += "." + e.Path
	}
	return text
}

// template returns a template: literals of e.Args as text, and the others as interpolations of args.
func template(e *Expr, args []string) string {
	var b strings.Builder
	for i, a := range e.Args {
		if text, err := strconv.Unquote(a.Text); err == nil && a.Op == "lit" {
			b.WriteString(text)
		} else {
			b.WriteString("${" + args[i] + "}")
		}
	}
	return `"` + b.String() + `"`
}

// value returns an expression in native syntax for the text of each.value. If for_each contains the instances of a
// resource, it is each.value.id. For instances of a module call it is each.key, because a module has no text. Without
// for_each it is the key of the instance.
func (w *writer) value(e *Expr) string {
	over := w.top.arg("for_each")
	if over == nil {
		return w.expr(&Expr{Op: "key"})
	}
	if over.Op == "whole" {
		if b := w.m.find(over.Ref); b != nil {
			if b.Kind == Call {
				return "each.key"
			}
			return "each.value.id"
		}
	}
	return "each.value"
}

// ref returns a reference to one instance, or to all instances, in native syntax. It returns "null" if the block is
// missing.
func (w *writer) ref(e *Expr) string {
	b := w.m.find(e.Ref)
	if b == nil {
		return "null"
	}
	base := b.addr()
	if b.Kind == Variable || b.Kind == Local {
		return base
	}
	one := func(of string) string {
		of += "." + e.Path
		if b.optional() {
			of = "try(" + of + `, "off")`
		}
		switch {
		case slices.Contains(nullable, e.Path) && b.Kind != Call:
			return fmt.Sprintf("coalesce(%s, %q)", of, "none")
		case e.Path == "output" && b.Type == "terraform_data" && e.Type == Text:
			return "jsonencode(" + of + ")"
		}
		return of
	}
	all := "[for v in " + base + " : " + one("v") + "]"
	if e.Type == Text {
		all = `join("-", ` + all + ")"
	}
	switch r := b.repeats(); {
	case r == "":
		return one(base)
	case r == "count" && e.one(b):
		return one(base + "[" + e.Sel + "]")
	case e.one(b):
		return one(fmt.Sprintf("%s[%q]", base, e.Sel))
	}
	return all
}

// one reports whether a reference names one instance of a repeated block.
func (e *Expr) one(b *Block) bool {
	_, err := strconv.Atoi(e.Sel)
	return e.Op == "ref" && (b.repeats() == "count" && err == nil || b.repeats() == "for_each" && err != nil && e.Sel != "")
}
