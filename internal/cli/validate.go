package cli

import (
	"context"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/view"
)

var validateCommand = &Command{
	Name: "validate", Short: "Check whether the configuration is valid",
	Long: `Validate the configuration files in a directory, referring only to the
configuration and not accessing any remote services such as remote state,
provider APIs, etc.`,
	Flags: func(c *call) {
		c.jsonFlag()
		c.varFlags()
		c.flags.BoolVar(&c.setup.noTests, "no-tests", false, "Leave test files out.")
		c.flags.StringVar(&c.setup.testDir, "test-directory", "tests", "The `directory` of test files.")
		c.gatherFlags()
		c.flags.BoolVar(&c.opts.compact, "compact-warnings", false, "Show warnings without their details.")
	},
	Run: runValidate,
}

// runValidate reports everything that is wrong, and prints its whole result even after errors.
func runValidate(ctx context.Context, c *call) int {
	if c.noOperands() {
		c.validate(ctx)
	}
	if c.opts.json {
		if err := view.WriteValidateJSON(c.Stdout, c.bag.List(), c.sources); err != nil {
			return exitError
		}
		if c.bag.HasErrors() {
			return exitError
		}
		return exitOK
	}
	code := c.ui.done(exitOK)
	if code == exitOK {
		if c.bag.Len() > 0 {
			c.ui.print("Success! The configuration is valid, but there were some validation warnings as shown above.\n\n")
		} else {
			c.ui.print("Success! The configuration is valid.\n\n")
		}
	}
	return code
}

func (c *call) validate(ctx context.Context) {
	p, ok := c.open()
	if !ok {
		return
	}
	defer p.close()
	p.load()
	if !p.setup.noTests {
		config.CheckTests([]string{p.root, p.path(p.setup.testDir)}, p.loadOptions(), p.sources, &p.bag)
	}
	p.judge(ctx)
}

// judge says all that is wrong with the configuration that was loaded, whatever was found so far. What
// only follows from a mistake that was reported is not said: see config.Module.MayDeclare and
// diag.Bag.Enough.
func (p *project) judge(ctx context.Context) {
	if p.tree.Closed || ctx.Err() != nil {
		return
	}
	p.collectVariables()
	if b := p.tree.Root.Module.Backend; b != nil {
		o := p.staticOptions()
		o.Validate = true
		lang.Static(p.tree.Root.Module, p.vars, o).Lasting(b.Body, "backend "+b.Type, &p.bag)
	}
	if p.program == nil {
		p.compile(ctx)
	}
	if p.program != nil {
		p.engine.Validate(ctx, p.program, p.langOptions(false), &p.bag)
	}
}
