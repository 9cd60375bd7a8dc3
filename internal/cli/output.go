package cli

import (
	"context"
	"fmt"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/view"
)

var outputCommand = &Command{
	Name: "output", Args: "[NAME]", Short: "Show output values from your root module",
	Long: `Reads an output variable from a Lethe state file and prints
the value. With no additional arguments, output will display all
the outputs for the root module. If NAME is not specified, all
outputs are printed.`,
	Flags: func(c *call) {
		c.jsonFlag()
		c.flags.BoolVar(&c.raw, "raw", false, "Print the value of one output without quotes; only for strings, numbers and booleans.")
		c.flags.BoolVar(&c.opts.showSecrets, "show-sensitive", false, "Show sensitive values.")
		c.flags.StringVar(&c.opts.state, "state", "", "Read the state from this `file`.")
		c.varFlags()
	},
	Run: runOutput,
}

func runOutput(ctx context.Context, c *call) int {
	if !c.between(0, 1) || !c.rawFits() {
		return c.ui.fail()
	}
	p, ok := c.open()
	if !ok {
		return c.ui.fail()
	}
	defer p.close()
	s, ok := p.readState(ctx)
	if !ok {
		return c.ui.fail()
	}
	outputs := map[string]state.Output{}
	if s != nil {
		outputs = s.Outputs
	}
	o := view.Options{ShowSensitive: c.opts.showSecrets, Color: c.color()}
	if len(c.operands) == 1 {
		return c.oneOutput(outputs, c.operands[0], o)
	}
	switch {
	case c.opts.json:
		if err := view.OutputsJSON(c.Stdout, outputs); err != nil {
			return exitError
		}
	case len(outputs) == 0:
		c.bag.Add(noOutputs())
	default:
		view.OutputsText(c.Stdout, outputs, o)
	}
	return c.ui.done(exitOK)
}

func noOutputs() diag.Diagnostic {
	return diag.Warningf("No outputs found", "The state file either has no outputs defined, or all the defined outputs are empty. Please define an output in your configuration with the `output` keyword and run `lethe refresh` for it to become available. If you are using interpolation, please verify the interpolated value is not empty. You can use the `lethe console` command to assist.")
}

func (c *call) rawFits() bool {
	if c.raw && (c.opts.json || len(c.operands) != 1) {
		c.bag.Add(diag.Errorf("Invalid output format", "The -raw option prints one named output, and cannot be combined with -json."))
		return false
	}
	return true
}

func (c *call) oneOutput(outputs map[string]state.Output, name string, o view.Options) int {
	out, ok := outputs[name]
	if !ok {
		c.bag.Add(diag.Errorf(fmt.Sprintf("Output %q not found", name), "The output variable requested could not be found in the state file. If you recently added this to your configuration, be sure to run `lethe apply`, since the state won't be updated with new output variables until that command is run."))
		return c.ui.fail()
	}
	var err error
	switch {
	case c.raw:
		err = view.OutputRaw(c.Stdout, out)
	case c.opts.json:
		err = view.OutputJSON(c.Stdout, out)
	default:
		o.ShowSensitive = true // naming an output asks for its value
		err = view.OutputText(c.Stdout, out, o)
	}
	if err != nil {
		c.bag.Add(diag.Errorf("Unsupported value for raw output", "%s", err))
		return c.ui.fail()
	}
	return c.ui.done(exitOK)
}

// showOutputs prints the root outputs at the end of an apply.
func (p *project) showOutputs(s *state.Snapshot) {
	if p.command.Name == "destroy" || s == nil {
		return
	}
	p.ui.Outputs(s.Outputs)
}
