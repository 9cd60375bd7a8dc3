package schema

import (
	"encoding/json"
	"strconv"
)

// JSON is the schema as `providers schema -json` shows it: a json.RawMessage. Its form is
// documented by Terraform (providers schema command, format_version 1.0).
func (s *Schema) JSON() any { return json.RawMessage(s.AppendJSON(nil)) }

// AppendJSON writes what JSON gives. Keys come in one order, what is not set is left out.
func (s *Schema) AppendJSON(b []byte) []byte {
	b = append(b, `{"version":`...)
	b = strconv.AppendInt(b, s.Version, 10)
	if s.Block != nil {
		b = append(b, `,"block":`...)
		b = s.Block.appendJSON(b)
	}
	return append(b, '}')
}

func (blk *Block) appendJSON(b []byte) []byte {
	w := objectWriter{b: append(b, '{')}
	if len(blk.Attrs) > 0 {
		w.key("attributes")
		w.b = appendAttrs(w.b, blk.Attrs)
	}
	if len(blk.Blocks) > 0 {
		w.key("block_types")
		types := objectWriter{b: append(w.b, '{')}
		for _, n := range blk.Blocks {
			types.key(n.Name)
			types.b = n.appendJSON(types.b)
		}
		w.b = append(types.b, '}')
	}
	w.text("description", blk.Description)
	w.kind(blk.Markdown)
	w.flag("deprecated", blk.Deprecated)
	return append(w.b, '}')
}

func (n *Nested) appendJSON(b []byte) []byte {
	w := objectWriter{b: append(b, '{')}
	w.text("nesting_mode", n.Nesting.String())
	w.key("block")
	w.b = n.Block.appendJSON(w.b)
	w.number("min_items", n.Min)
	w.number("max_items", n.Max)
	return append(w.b, '}')
}

func appendAttrs(b []byte, attrs []*Attr) []byte {
	w := objectWriter{b: append(b, '{')}
	for _, a := range attrs {
		w.key(a.Name)
		w.b = a.appendJSON(w.b)
	}
	return append(w.b, '}')
}

func (a *Attr) appendJSON(b []byte) []byte {
	w := objectWriter{b: append(b, '{')}
	if a.Object != nil {
		w.key("nested_type")
		inner := objectWriter{b: append(w.b, '{')}
		inner.key("attributes")
		inner.b = appendAttrs(inner.b, a.Object.Attrs)
		inner.text("nesting_mode", a.Object.Nesting.String())
		w.b = append(inner.b, '}')
	} else if text, err := a.Type.MarshalJSON(); err == nil {
		w.key("type")
		w.b = append(w.b, text...)
	}
	w.text("description", a.Description)
	w.kind(a.Markdown)
	w.flag("deprecated", a.Deprecated)
	w.flag("required", a.Required)
	w.flag("optional", a.Optional)
	w.flag("computed", a.Computed)
	w.flag("sensitive", a.Sensitive)
	w.flag("write_only", a.WriteOnly)
	return append(w.b, '}')
}

// objectWriter writes the members of an object.
type objectWriter struct{ b []byte }

func (w *objectWriter) key(name string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(appendJSONString(w.b, name), ':')
}

func (w *objectWriter) text(name, value string) {
	if value != "" {
		w.key(name)
		w.b = appendJSONString(w.b, value)
	}
}

func (w *objectWriter) number(name string, value int) {
	if value != 0 {
		w.key(name)
		w.b = strconv.AppendInt(w.b, int64(value), 10)
	}
}

func (w *objectWriter) flag(name string, set bool) {
	if set {
		w.key(name)
		w.b = append(w.b, "true"...)
	}
}

func (w *objectWriter) kind(markdown bool) {
	if markdown {
		w.text("description_kind", "markdown")
	} else {
		w.text("description_kind", "plain")
	}
}
