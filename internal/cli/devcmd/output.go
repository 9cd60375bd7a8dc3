package devcmd

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/states"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/view"
)

// Output is the command `output`.
var Output = &base.Command{
	Name: "output", Args: "[NAME]", Short: "Show output values from your root module",
	Long: `Reads an output variable from a Lethe state file and prints
the value. With no additional arguments, output will display all
the outputs for the root module. If NAME is not specified, all
outputs are printed.`,
	Examples: [][2]string{
		{"lethe output", "Show all outputs"},
		{"lethe output -raw address", "Print one output for a script, without quotes"},
		{"lethe output -json", "Print all outputs as JSON"},
	},
	Setup: base.Flags(func(c *base.Call, f *workdir.Options) {
		c.DocumentFlags()
		c.Flags.BoolVar(&c.View.Raw, "raw", false, "Print the value of one output without quotes; only for strings, numbers and booleans.")
		c.SensitiveFlag()
		f.StateFlag(c)
		f.VarFlags(c)
	}, runOutput),
}

func runOutput(ctx context.Context, c *base.Call, f *workdir.Options) int {
	if !rawFits(c) {
		return c.UI.Fail()
	}
	st, ok := states.Open(c, f)
	if !ok {
		return c.UI.Fail()
	}
	s, ok := st.Read(ctx)
	if !ok {
		return c.UI.Fail()
	}
	outputs := map[string]state.Output{}
	if s != nil {
		outputs = s.Outputs
	}
	o := view.Options{ShowSensitive: c.View.ShowSecrets, Color: c.Color()}
	if len(c.Operands) == 1 {
		return oneOutput(c, outputs, c.Operands[0], o)
	}
	alone, err := c.Document(func(w io.Writer) error { return view.OutputsJSON(w, outputs) })
	switch {
	case err != nil:
		return base.ExitError
	case alone:
	case len(outputs) == 0:
		c.Bag.Add(diag.Warningf("No outputs found", "The state file either has no outputs defined, or all the defined outputs are empty. Please define an output in your configuration with the `output` keyword and run `lethe refresh` for it to become available. If you are using interpolation, please verify the interpolated value is not empty. You can use the `lethe console` command to assist."))
	default:
		view.OutputsText(c.Stdout, outputs, o)
	}
	return c.UI.Done(base.ExitOK)
}

func rawFits(c *base.Call) bool {
	switch {
	case c.View.Raw && c.View.JSON:
		c.Bag.Add(diag.Errorf("Invalid output format", "Use -raw, which prints one string, or -json, which prints a document, not both."))
	case c.View.Raw && len(c.Operands) != 1:
		c.Bag.Add(diag.Errorf("Output name required", "The -raw option prints one output. Name it: lethe output -raw NAME."))
	default:
		return true
	}
	return false
}

func oneOutput(c *base.Call, outputs map[string]state.Output, name string, o view.Options) int {
	out, ok := outputs[name]
	if !ok {
		c.Bag.Add(diag.Errorf(fmt.Sprintf("Output %q not found", name), "The state has no output of this name. If you have just added it to the configuration, run `lethe apply` first.%s", diag.DidYouMean(name, slices.Collect(maps.Keys(outputs)))))
		return c.UI.Fail()
	}
	alone, err := c.Document(func(w io.Writer) error { return view.OutputJSON(w, out) })
	switch {
	case alone:
	case c.View.Raw:
		err = view.OutputRaw(c.Stdout, out)
	default:
		o.ShowSensitive = true // a user who names an output wants its value, even if it is sensitive
		err = view.OutputText(c.Stdout, out, o)
	}
	if err != nil {
		c.Bag.Add(diag.Errorf("Unsupported value for raw output", "%s", err))
		return c.UI.Fail()
	}
	return c.UI.Done(base.ExitOK)
}
