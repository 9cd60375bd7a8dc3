package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/diff"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// ValueText returns a value as the console and `output` write it: as an expression that results in the value. Lines
// after the first begin with indent spaces.
func ValueText(v mark.Value, indent int, o Options) string {
	t := valueText{o: o}
	t.value(v.Raw, masks(v, o.ShowSensitive), indent)
	return t.String()
}

type valueText struct {
	strings.Builder
	o Options
}

// masks returns the hidden parts of a value, each with the text that replaces it. If show is true, only ephemeral parts
// are hidden. A part that is both sensitive and ephemeral has the text for ephemeral values.
func masks(v mark.Value, show bool) *diff.Paths {
	t := &diff.Paths{}
	for _, a := range v.Marks {
		if show && a.Tag != mark.Ephemeral {
			continue
		}
		if at := t.Place(a.Path); at.Mask == "" || a.Tag == mark.Ephemeral {
			at.Mask = a.Tag.Mask()
		}
	}
	return t
}

func (t *valueText) value(v cty.Value, m *diff.Paths, indent int) {
	switch {
	case m != nil && m.Mask != "":
		t.WriteString(m.Mask)
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

// null writes a null together with its type.
func (t *valueText) null(ty cty.Type) {
	switch name := constructor(ty); {
	case ty == cty.DynamicPseudoType:
		t.WriteString("null")
	case name == "":
		fmt.Fprintf(t, "null /* %s */", ty.FriendlyName())
	case ty.IsCollectionType():
		fmt.Fprintf(t, "%s(null) /* of %s */", name, ty.ElementType().FriendlyName())
	default:
		t.WriteString(name + "(null)")
	}
}

// constructor returns the function that converts to a type, such as "tostring", or "" if no such function exists.
func constructor(ty cty.Type) string {
	switch {
	case ty == cty.String:
		return "tostring"
	case ty == cty.Number:
		return "tonumber"
	case ty == cty.Bool:
		return "tobool"
	case ty.IsListType():
		return "tolist"
	case ty.IsSetType():
		return "toset"
	case ty.IsMapType():
		return "tomap"
	}
	return ""
}

func (t *valueText) known(v cty.Value, m *diff.Paths, indent int) {
	switch ty := v.Type(); {
	case ty == cty.String:
		t.text(t.o.scrub(v.AsString()), indent)
	case ty == cty.Number:
		t.WriteString(ctyvalue.NumberText(v.AsBigFloat()))
	case ty == cty.Bool:
		fmt.Fprintf(t, "%t", v.True())
	case ty.IsCollectionType():
		t.WriteString(constructor(ty) + "(")
		t.parts(v, m, indent)
		t.WriteByte(')')
	case ctyvalue.IsDict(ty) || ctyvalue.IsSequence(ty):
		t.parts(v, m, indent)
	default:
		t.WriteString(EscapeLine(fmt.Sprintf("(%s)", ty.FriendlyName())))
	}
}

func (t *valueText) pad(n int) { t.WriteString(strings.Repeat(" ", n)) }

// parts writes the parts of a value, each on a separate line.
func (t *valueText) parts(v cty.Value, m *diff.Paths, indent int) {
	brackets, named := "[]", ctyvalue.IsDict(v.Type())
	if named {
		brackets = "{}"
	}
	if v.LengthInt() == 0 {
		t.WriteString(brackets)
		return
	}
	t.WriteString(brackets[:1] + "\n")
	if named {
		for name, e := range ctyvalue.Members(v) {
			t.pad(indent + 2)
			t.WriteString(quote(name) + " = ")
			t.value(e, m.At(name), indent+2)
			t.WriteByte('\n')
		}
	} else {
		for i, e := range ctyvalue.Items(v) {
			t.pad(indent + 2)
			t.value(e, m.At(strconv.Itoa(i)), indent+2)
			t.WriteString(",\n")
		}
	}
	t.pad(indent)
	t.WriteString(brackets[1:])
}

// text writes a string: as a heredoc if it has several lines.
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
