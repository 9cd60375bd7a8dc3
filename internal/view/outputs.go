package view

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// OutputsText writes root outputs as lines "name = value", with "<sensitive>" for the values that o hides.
func OutputsText(w io.Writer, outs map[string]state.Output, o Options) error {
	for _, name := range slices.Sorted(maps.Keys(outs)) {
		if _, err := fmt.Fprintf(w, "%s = ", EscapeLine(name)); err != nil {
			return err
		}
		if err := OutputText(w, outs[name], o); err != nil {
			return err
		}
	}
	return nil
}

// OutputText writes the value of one output, or "<sensitive>" for a sensitive output without o.ShowSensitive.
func OutputText(w io.Writer, out state.Output, o Options) error {
	text := "<sensitive>"
	if !out.Sensitive || o.ShowSensitive {
		text = ValueText(mark.Plain(out.Value.Raw), 0, o)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// OutputRaw writes the value of one output without quotes, escapes and a line break: the user decides where the output
// goes. It returns an error if the value is no known string, number or boolean.
func OutputRaw(w io.Writer, out state.Output) error {
	v := out.Value.Raw
	ty := v.Type()
	if !ty.IsPrimitiveType() || v.IsNull() || !v.IsKnown() {
		what := ty.FriendlyName()
		if v.IsNull() {
			what = "null"
		}
		//lint:ignore ST1005 users see the text unchanged, in the words of Terraform and OpenTofu
		return fmt.Errorf("The -raw option only supports strings, numbers, and boolean values, but this output value is %s.\n\nUse the -json option for machine-readable representations of output values that have complex types.", what)
	}
	text, err := convert.Convert(v, cty.String)
	if err == nil {
		_, err = io.WriteString(w, text.AsString())
	}
	return err
}

// OutputsJSON writes root outputs as an indented document. It contains sensitive values.
func OutputsJSON(w io.Writer, outs map[string]state.Output) error {
	return jsondoc.Write(w, jsondoc.Members(outs, outputDocumentOf), jsondoc.LaidOut)
}

// outputDocument is a root output. In the event stream of -json, a sensitive output has no value.
type outputDocument struct {
	Sensitive bool         `json:"sensitive"`
	Type      jsondoc.Type `json:"type"`
	Value     jsonValue    `json:"value,omitzero"`
}

func outputDocumentOf(o state.Output) outputDocument {
	v := o.Value.Raw
	if v == cty.NilVal {
		v = cty.NullVal(cty.DynamicPseudoType)
	}
	return outputDocument{o.Sensitive, jsondoc.Type(v.Type()), jsonValue(v)}
}

// OutputJSON writes the value of one output as JSON, even if the output is sensitive.
func OutputJSON(w io.Writer, out state.Output) error {
	return jsondoc.Write(w, jsonValue(out.Value.Raw), jsondoc.OneLine)
}
