package explain

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// Example returns an example block of the type. It has all required arguments, and the part at t.Path.
func (t *Type) Example() string {
	e := &example{path: t.Path}
	e.line(map[addr.Mode]string{addr.Managed: "resource", addr.Data: "data", addr.Ephemeral: "ephemeral", addr.List: "list"}[t.Mode] + " \"" + t.Name + "\" \"example\" {")
	e.depth++
	if t.Mode == addr.List {
		e.line("provider = " + strings.SplitN(t.Name, "_", 2)[0])
		e.line("config {")
		e.depth++
	}
	e.block(t.whole, 0)
	for e.depth--; e.depth >= 0; e.depth-- {
		e.line("}")
	}
	return e.text.String()
}

// example is an example block while it is written.
type example struct {
	text  strings.Builder
	path  []string // the path of a part that the example shows even if it is optional
	depth int
}

func (e *example) line(text string) {
	e.text.WriteString(strings.Repeat("  ", e.depth) + text + "\n")
}

// block adds the required arguments of a block, and the arguments on the path. The parameter at is the number of names
// of the path that lead to the block. It is negative if the block is not on the path.
func (e *example) block(b *schema.Block, at int) {
	width := 0
	for _, a := range b.Attrs {
		if e.shows(a.Name, a.Required, at) && settable(a) {
			width = max(width, len(a.Name))
		}
	}
	for _, a := range b.Attrs {
		if e.shows(a.Name, a.Required, at) && settable(a) {
			e.line(a.Name + strings.Repeat(" ", width-len(a.Name)) + " = " + e.value(a.Type, a.Object, e.next(a.Name, at)))
		}
	}
	for _, n := range b.Blocks {
		if !e.shows(n.Name, n.Min > 0, at) {
			continue
		}
		head := n.Name
		if n.Nesting == schema.Map {
			head += ` "key"`
		}
		e.line(head + " {")
		e.depth++
		e.block(n.Block, e.next(n.Name, at))
		e.depth--
		e.line("}")
	}
}

// settable reports whether a configuration may set an attribute.
func settable(a *schema.Attr) bool { return a.Required || a.Optional }

// shows reports whether a part is required, or on the path. The parameter at is the number of steps of the path that
// lead to the block with the part. It is negative if the block is not on the path.
func (e *example) shows(name string, required bool, at int) bool {
	return required || at >= 0 && at < len(e.path) && e.path[at] == name
}

// next takes the number of path steps at for a block, and returns the number for the parts inside the block's part with
// the given name.
func (e *example) next(name string, at int) int {
	if at >= 0 && at < len(e.path) && e.path[at] == name {
		return at + 1
	}
	return -1
}

// value returns an example of a value. The parameter at is the number of steps of the path that lead to the value. It
// is negative if the value is not on the path.
func (e *example) value(ty cty.Type, o *schema.Object, at int) string {
	if o != nil {
		inner := &example{path: e.path, depth: e.depth + 1}
		if o.Nesting == schema.List || o.Nesting == schema.Set || o.Nesting == schema.Map {
			inner.depth++
		}
		inner.block(&schema.Block{Attrs: o.Attrs}, at)
		indent := strings.Repeat("  ", inner.depth-1)
		object := "{\n" + inner.text.String() + indent + "}"
		outer := strings.Repeat("  ", e.depth)
		switch o.Nesting {
		case schema.List, schema.Set:
			return "[\n" + indent + object + "\n" + outer + "]"
		case schema.Map:
			return "{\n" + indent + "key = " + object + "\n" + outer + "}"
		}
		return object
	}
	switch {
	case ty == cty.Bool:
		return "true"
	case ty == cty.Number:
		return "1"
	case ty.IsListType(), ty.IsSetType():
		return "[" + e.value(ty.ElementType(), nil, -1) + "]"
	case ty.IsMapType():
		return "{ key = " + e.value(ty.ElementType(), nil, -1) + " }"
	case ty.IsTupleType():
		return "[]"
	case ty.IsObjectType():
		return "{}"
	}
	return `"..."`
}
