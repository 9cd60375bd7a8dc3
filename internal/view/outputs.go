package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// OutputsText writes root outputs, one "name = value" after the other. Sensitive ones are told of
// only, unless they are to be shown.
func OutputsText(w io.Writer, outs map[string]state.Output, o Options) error {
	for _, name := range slices.Sorted(maps.Keys(outs)) {
		text := "<sensitive>"
		if out := outs[name]; !out.Sensitive || o.ShowSensitive {
			text = ValueText(mark.Plain(out.Value.Raw), 0, o)
		}
		if _, err := fmt.Fprintf(w, "%s = %s\n", escapeLine(name), text); err != nil {
			return err
		}
	}
	return nil
}

// OutputText writes the value of one output.
func OutputText(w io.Writer, out state.Output, o Options) error {
	text := "<sensitive>"
	if !out.Sensitive || o.ShowSensitive {
		text = ValueText(mark.Plain(out.Value.Raw), 0, o)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// OutputRaw writes the value of one output as it is, without quotes and without a line break. The
// value goes where its user sends it, so it is not escaped.
func OutputRaw(w io.Writer, out state.Output) error {
	v := out.Value.Raw
	ty := v.Type()
	if !ty.IsPrimitiveType() || v.IsNull() || !v.IsKnown() {
		what := ty.FriendlyName()
		if v.IsNull() {
			what = "null"
		}
		//lint:ignore ST1005 the text is shown to users as it is, in the words of the peers
		return fmt.Errorf("The -raw option only supports strings, numbers, and boolean values, but this output value is %s.\n\nUse the -json option for machine-readable representations of output values that have complex types.", what)
	}
	text := ""
	switch ty {
	case cty.String:
		text = v.AsString()
	case cty.Number:
		text = numberText(v.AsBigFloat())
	default:
		text = fmt.Sprint(v.True())
	}
	_, err := io.WriteString(w, text)
	return err
}

// OutputsJSON writes root outputs as an object of {sensitive, type, value}.
func OutputsJSON(w io.Writer, outs map[string]state.Output) error {
	var b bytes.Buffer
	d := newDoc(&b)
	d.object(func() {
		for _, name := range slices.Sorted(maps.Keys(outs)) {
			o := outs[name]
			d.Key(name)
			d.object(func() {
				d.KeyBool("sensitive", o.Sensitive)
				d.Key("type")
				d.typeOf(o.Value.Raw.Type())
				d.Key("value")
				d.value(o.Value.Raw)
			})
		}
	})
	if err := d.end(); err != nil {
		return err
	}
	return indented(w, b.Bytes())
}

// indented writes JSON for eyes.
func indented(w io.Writer, b []byte) error {
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return err
	}
	_, err := w.Write(out.Bytes())
	return err
}

// OutputJSON writes the value of one output.
func OutputJSON(w io.Writer, out state.Output) error {
	d := newDoc(w)
	d.value(out.Value.Raw)
	return d.end()
}
