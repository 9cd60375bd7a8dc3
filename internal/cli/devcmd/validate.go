package devcmd

import (
	"context"
	"io"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/view"
)

// Validate is `validate`.
var Validate = &base.Command{
	Name: "validate", Counts: true, Short: "Check whether the configuration is valid",
	Long: `Validate the configuration files in a directory, referring only to the
configuration and not accessing any remote services such as remote state,
provider APIs, etc.`,
	Examples: [][2]string{
		{"lethe validate", "Check the module in this directory"},
		{"lethe validate -json", "Report what is wrong for editors and CI"},
	},
	Setup: base.Flags(func(c *base.Call, f *validateFlags) {
		c.DocumentFlags()
		f.VarFlags(c)
		c.Flags.BoolVar(&f.noTests, "no-tests", false, "Leave test files out.")
		f.TestsFlag(c)
		f.WarningFlags(c)
		c.Flags.BoolVar(&c.View.Compact, "compact-warnings", false, "Show warnings without their details.")
	}, runValidate),
}

type validateFlags struct {
	project.Options
	noTests bool
}

// runValidate reports everything that is wrong, and prints its whole result even after errors.
func runValidate(ctx context.Context, c *base.Call, f *validateFlags) int {
	if c.NoOperands() {
		validate(ctx, c, f)
	}
	alone, err := c.Document(func(w io.Writer) error { return view.WriteValidateJSON(w, c.Bag.List(), c.ViewOptions()) })
	if alone {
		if err != nil || c.Bag.HasErrors() {
			return base.ExitError
		}
		return base.ExitOK
	}
	code := c.UI.Done(base.ExitOK)
	if code == base.ExitOK {
		if c.Bag.Len() > 0 {
			c.UI.Print("Success! The configuration is valid, but there were some validation warnings as shown above.\n\n")
		} else {
			c.UI.Print("Success! The configuration is valid.\n\n")
		}
	}
	return code
}

func validate(ctx context.Context, c *base.Call, f *validateFlags) {
	p, ok := project.Open(c, &f.Options)
	if !ok {
		return
	}
	p.Load()
	if !f.noTests {
		p.Tests().Read()
	}
	p.Judge(ctx, vet.CheckOptions{Called: true})
	p.JudgeEncryption()
}
