package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// ValueText writes a value as the console and `output` do: as an expression that would make it.
// Lines after the first begin with indent spaces.
func ValueText(v mark.Value, indent int, o Options) string {
	t := valueText{o: o, marks: markedTree(v, o.ShowSensitive)}
	t.value(v.Raw, t.marks, indent)
	return t.String()
}

type valueText struct {
	strings.Builder
	o     Options
	marks *marked
}

// marked is what is not to be shown of a value, and how it is told of instead.
type marked struct {
	text string
	kids map[string]*marked
}

func (m *marked) at(step string) *marked {
	if m == nil {
		return nil
	}
	return m.kids[step]
}

func markedTree(v mark.Value, show bool) *marked {
	var root *marked
	for _, a := range v.Marks {
		if show && a.Tag != mark.Ephemeral {
			continue
		}
		text := a.Tag.Mask()
		if root == nil {
			root = &marked{}
		}
		at := root
		for _, s := range a.Path {
			name, ok := stepName(s)
			if !ok {
				break
			}
			if at.kids == nil {
				at.kids = map[string]*marked{}
			}
			if at.kids[name] == nil {
				at.kids[name] = &marked{}
			}
			at = at.kids[name]
		}
		if at.text == "" || a.Tag == mark.Ephemeral {
			at.text = text
		}
	}
	return root
}

func (t *valueText) value(v cty.Value, m *marked, indent int) {
	switch {
	case m != nil && m.text != "":
		t.WriteString(m.text)
	case v == cty.NilVal:
		t.WriteString("null")
	case !v.IsKnown():
		t.WriteString("(known after apply)")
	case v.IsNull():
		t.null(v.Type())
	default:
		t.known(v, m, indent)
	}
}

// null writes a null that keeps its type.
func (t *valueText) null(ty cty.Type) {
	name := ""
	switch {
	case ty == cty.String:
		name = "tostring"
	case ty == cty.Number:
		name = "tonumber"
	case ty == cty.Bool:
		name = "tobool"
	case ty.IsListType():
		name = "tolist"
	case ty.IsSetType():
		name = "toset"
	case ty.IsMapType():
		name = "tomap"
	case ty == cty.DynamicPseudoType:
		t.WriteString("null")
		return
	default:
		fmt.Fprintf(t, "null /* %s */", ty.FriendlyName())
		return
	}
	t.WriteString(name + "(null)")
	if ty.IsCollectionType() {
		fmt.Fprintf(t, " /* of %s */", ty.ElementType().FriendlyName())
	}
}

func (t *valueText) known(v cty.Value, m *marked, indent int) {
	switch ty := v.Type(); {
	case ty == cty.String:
		t.text(t.o.scrub(v.AsString()), indent)
	case ty == cty.Number:
		t.WriteString(numberText(v.AsBigFloat()))
	case ty == cty.Bool:
		fmt.Fprintf(t, "%t", v.True())
	case ty.IsListType():
		t.call("tolist", v, m, indent)
	case ty.IsSetType():
		t.call("toset", v, m, indent)
	case ty.IsMapType():
		t.call("tomap", v, m, indent)
	case ty.IsTupleType():
		t.seq(v, m, indent)
	case ty.IsObjectType():
		t.dict(v, m, indent)
	default:
		t.WriteString(escapeLine(fmt.Sprintf("(%s)", ty.FriendlyName())))
	}
}

func (t *valueText) call(name string, v cty.Value, m *marked, indent int) {
	t.WriteString(name + "(")
	if v.Type().IsMapType() {
		t.dict(v, m, indent)
	} else {
		t.seq(v, m, indent)
	}
	t.WriteByte(')')
}

func (t *valueText) pad(n int) { t.WriteString(strings.Repeat(" ", n)) }

func (t *valueText) seq(v cty.Value, m *marked, indent int) {
	if v.LengthInt() == 0 {
		t.WriteString("[]")
		return
	}
	t.WriteString("[\n")
	for i, e := range ctyvalue.Items(v) {
		t.pad(indent + 2)
		t.value(e, m.at(itoa(i)), indent+2)
		t.WriteString(",\n")
	}
	t.pad(indent)
	t.WriteByte(']')
}

func (t *valueText) dict(v cty.Value, m *marked, indent int) {
	if v.LengthInt() == 0 {
		t.WriteString("{}")
		return
	}
	t.WriteString("{\n")
	for name, e := range ctyvalue.Members(v) {
		t.pad(indent + 2)
		t.WriteString(quote(name) + " = ")
		t.value(e, m.at(name), indent+2)
		t.WriteByte('\n')
	}
	t.pad(indent)
	t.WriteByte('}')
}

// text writes a string; one of several lines as a heredoc.
func (t *valueText) text(s string, indent int) {
	if !strings.Contains(s, "\n") {
		t.WriteString(quote(s))
		return
	}
	lines := strings.Split(s, "\n")
	end := "EOT"
	for slices.ContainsFunc(lines, func(l string) bool { return strings.TrimSpace(l) == end }) {
		end += "_"
	}
	if indent > 0 {
		t.WriteString("<<-" + end + "\n")
	} else {
		t.WriteString("<<" + end + "\n")
	}
	for _, l := range lines {
		t.pad(indent)
		t.WriteString(escape(l) + "\n")
	}
	t.pad(indent)
	t.WriteString(end)
}

// compact is a value on one line.
func compact(v cty.Value) string {
	switch {
	case v == cty.NilVal || v.IsNull():
		return "null"
	case !v.IsKnown():
		return "(known after apply)"
	}
	switch ty := v.Type(); {
	case ty == cty.String:
		return quote(v.AsString())
	case ty == cty.Number:
		return numberText(v.AsBigFloat())
	case ty == cty.Bool:
		return fmt.Sprint(v.True())
	case ty.IsObjectType() || ty.IsMapType():
		var parts []string
		for name, e := range ctyvalue.Members(v) {
			if !e.IsKnown() || !e.IsNull() {
				parts = append(parts, attrName(name)+" = "+compact(e))
			}
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	default:
		var parts []string
		for _, e := range ctyvalue.Items(v) {
			parts = append(parts, compact(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
}
