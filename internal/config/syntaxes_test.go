package config

import (
	"encoding/json"
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// The types below are a small model of configuration that can be written in both syntaxes.

// field is an argument or a nested block of a declaration.
type field struct {
	name   string
	native string // the text after the equals sign in native syntax
	json   any    // the same value in JSON syntax
	labels []string
	block  []field // the content of a nested block; nil for an argument
}

type decl struct {
	head   []string // the block type and the labels
	fields []field
}

func val(name, native string, js any) field { return field{name: name, native: native, json: js} }

// ref returns a field with a reference. JSON has it as a string without a template.
func ref(name, r string) field { return val(name, r, r) }

// expr returns a field with an expression. JSON has it in a template.
func expr(name, e string) field { return val(name, e, "${"+e+"}") }

func list(name string, items ...string) field {
	js := make([]any, len(items))
	for i, s := range items {
		js[i] = s
	}
	return val(name, "["+strings.Join(items, ", ")+"]", js)
}

func block(name string, fields ...field) field {
	if fields == nil {
		fields = []field{}
	}
	return field{name: name, block: fields}
}

func labelled(name, label string, fields ...field) field {
	f := block(name, fields...)
	f.labels = []string{label}
	return f
}

func condition(name string) field {
	return block(name, expr("condition", `var.x != ""`), val("error_message", `"It is ${var.x}."`, "It is ${var.x}."))
}

// some draws a subset, in order.
func some(t *rapid.T, all ...field) []field {
	out := []field{}
	for _, f := range all {
		if rapid.Bool().Draw(t, f.name) {
			out = append(out, f)
		}
	}
	return out
}

func settingsOf(t *rapid.T) []field {
	return some(t,
		val("a", `"x${var.y}z"`, "x${var.y}z"), val("b", `[1, true, null, "s", { k = local.v }]`, []any{1, true, nil, "s", map[string]any{"k": "${local.v}"}}),
		val("c", `"%{ if var.x }y%{ endif } $${z}"`, "%{ if var.x }y%{ endif } $${z}"),
		block("disk", val("a", "1.5", 1.5)), block("disk", val("a", "-2", -2)),
		labelled("dynamic", "disk", expr("for_each", "var.l"), block("content", expr("a", "disk.value"))),
	)
}

func randomDecl(t *rapid.T) decl {
	n := fmt.Sprintf("n%d", rapid.Uint64().Draw(t, "name"))
	meta := some(t, list("depends_on", "x_y.z", "module.m", `x_y.w["k"]`))
	if rapid.Bool().Draw(t, "repeated") {
		meta = append(meta, rapid.SampledFrom([]field{val("count", "2", 2), expr("for_each", "var.m")}).Draw(t, "repeat"))
	}
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		return decl{[]string{"variable", n}, some(t, val("type", "map(string)", "map(string)"), val("default", `{ a = "b" }`, map[string]any{"a": "b"}),
			val("description", `"d"`, "d"), val("sensitive", "true", true), val("nullable", "false", false), val("ephemeral", "true", true),
			block("validation", expr("condition", "length(var."+n+") > 0"), val("error_message", `"e"`, "e")))}
	case 1:
		return decl{[]string{"output", n}, append(some(t, val("sensitive", "true", true), val("description", `"d"`, "d"),
			list("depends_on", "x_y.z"), val("type", "list(any)", "list(any)"), condition("precondition")), expr("value", "f(x_y.z[0].id, 1 + 2)"))}
	case 2:
		n = "l" + n
		return decl{[]string{"locals"}, []field{val(n, `{ "a b" = "${var.x}", c = "d" }`, map[string]any{"a b": "${var.x}", "c": "d"})}}
	case 3:
		return decl{[]string{"module", n}, append(append(meta, val("source", `"./m"`, "./m")), some(t, val("version", `"1.0"`, "1.0"),
			val("providers", "{ p = q.r }", map[string]any{"p": "q.r"}), val("a", `"x"`, "x"), expr("b", "x_y.z"))...)}
	case 4:
		return decl{[]string{"provider", "p"}, append(settingsOf(t), val("alias", `"`+n+`"`, n))}
	case 5, 6:
		life := block("lifecycle", some(t, val("create_before_destroy", "true", true), val("prevent_destroy", "true", true),
			list("ignore_changes", "a", `b["k"]`, "c[0].d"), list("replace_triggered_by", "x_y.z", "x_y.z.id", "x_y.w[0]"),
			condition("precondition"), condition("postcondition"))...)
		return decl{[]string{"resource", "x_y", n}, append(append(append(meta, settingsOf(t)...), life), some(t, ref("provider", "p.q"),
			block("connection", val("a", "1", 1)),
			labelled("provisioner", "local-exec", ref("when", "destroy"), ref("on_failure", "continue"), val("command", `"c"`, "c")))...)}
	case 7:
		mode := rapid.SampledFrom([]string{"data", "ephemeral"}).Draw(t, "mode")
		return decl{[]string{mode, "x_y", n}, append(append(meta, settingsOf(t)...), some(t, block("lifecycle", condition("postcondition")), ref("provider", "p"))...)}
	case 8:
		return decl{[]string{"check", n}, append(some(t, condition("assert")), condition("assert"))}
	}
	return rapid.SampledFrom([]decl{
		{[]string{"moved"}, []field{ref("from", "x_y."+n), ref("to", `module.m["k"].x_y.z[0]`)}},
		{[]string{"removed"}, []field{ref("from", "module.m.x_y."+n), block("lifecycle", val("destroy", "false", false))}},
		{[]string{"import"}, []field{ref("to", "x_y."+n+"[each.key]"), expr("for_each", "var.m"), expr("id", "each.value")}},
		{[]string{"terraform"}, []field{labelled("backend", "local", val("path", `"x"`, "x"))}},
	}).Draw(t, "statement")
}

// once returns a key for a declaration that may occur only once in a module. It returns "" for other declarations.
func (d decl) once() string {
	switch d.head[0] {
	case "moved", "removed":
		return ""
	case "locals":
		return "local " + d.fields[0].name
	case "provider":
		return "provider " + d.fields[len(d.fields)-1].native // the last field of a provider block is the alias
	case "import":
		return fmt.Sprint(d.fields)
	}
	return strings.Join(d.head, " ")
}

// render2 writes declarations in both syntaxes. It omits the repetition of a declaration that may occur only once.
func render2(decls []decl) (native, js string) {
	var b strings.Builder
	var docs []any
	seen := map[string]bool{}
	for _, d := range decls {
		key := d.once()
		if key != "" && seen[key] {
			continue
		}
		seen[key] = true
		f := field{name: d.head[0], labels: d.head[1:], block: d.fields}
		writeNative(&b, f, "")
		docs = append(docs, map[string]any{f.name: f.asJSON()})
	}
	out, err := json.Marshal(docs)
	if err != nil {
		panic(err)
	}
	return b.String(), string(out)
}

func writeNative(b *strings.Builder, f field, indent string) {
	if f.block == nil {
		fmt.Fprintf(b, "%s%s = %s\n", indent, f.name, f.native)
		return
	}
	b.WriteString(indent + f.name)
	for _, l := range f.labels {
		fmt.Fprintf(b, " %q", l)
	}
	b.WriteString(" {\n")
	for _, inner := range f.block {
		writeNative(b, inner, indent+"  ")
	}
	b.WriteString(indent + "}\n")
}

// asJSON returns the JSON value of a field. For blocks it is an array with one body.
func (f field) asJSON() any {
	if f.block == nil {
		return f.json
	}
	obj := map[string]any{}
	for _, inner := range f.block {
		if have, again := obj[inner.name]; again {
			obj[inner.name] = append(have.([]any), inner.asJSON().([]any)...)
			continue
		}
		obj[inner.name] = inner.asJSON()
	}
	var out any = obj
	for i := len(f.labels) - 1; i >= 0; i-- {
		out = map[string]any{f.labels[i]: out}
	}
	return []any{out}
}
