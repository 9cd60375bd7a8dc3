package devcmd

import (
	"context"
	"errors"
	"io"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config/queryfile"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/lint"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/view"
)

// Validate is the command `validate`.
var Validate = &base.Command{
	Name: "validate", Counts: true, Short: "Check whether the configuration is valid",
	Long: `Validate the configuration files in a directory, referring only to the
configuration and not accessing any remote services such as remote state,
provider APIs, etc.`,
	Examples: [][2]string{
		{"lethe validate", "Check the module in this directory"},
		{"lethe validate -json", "Report mistakes as JSON, for editors and CI"},
		{"lethe validate -lint", "Find probable mistakes in a valid configuration, too"},
	},
	Setup: base.Flags(func(c *base.Call, f *validateFlags) {
		c.DocumentFlags()
		f.VarFlags(c)
		c.Flags.BoolVar(&f.noTests, "no-tests", false, "Leave test files out.")
		c.Flags.BoolVar(&f.query, "query", false, "Check query files, too.")
		f.TestsFlag(c)
		f.WarningFlags(c)
		c.Flags.Var(&f.lint, "lint", "Find unused declarations, literals that look like secrets and other probable mistakes, too. With -lint=json, print JSON.")
		c.Flags.BoolVar(&c.View.Compact, "compact-warnings", false, "Show warnings without their details.")
	}, runValidate),
}

type validateFlags struct {
	workdir.Options
	noTests bool
	query   bool
	lint    lintFlag
}

// lintFlag is the value of -lint: "true", "json", or "" if the flag is missing or false.
type lintFlag string

func (l *lintFlag) String() string   { return string(*l) }
func (l *lintFlag) IsBoolFlag() bool { return true }
func (l *lintFlag) Get() any         { return string(*l) }

// Set accepts "json", "true" and "false". Package flag passes "true" for -lint without a value. Set returns an error
// for any other value.
func (l *lintFlag) Set(s string) error {
	switch s {
	case "true", "json":
		*l = lintFlag(s)
	case "false":
		*l = ""
	default:
		return errors.New("the value may be json")
	}
	return nil
}

// runValidate validates the configuration. It prints its complete result even after errors.
func runValidate(ctx context.Context, c *base.Call, f *validateFlags) int {
	c.View.JSON = c.View.JSON || f.lint == "json"
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
		if len(c.View.Silence.Filter(c.Bag.List())) > 0 {
			c.UI.Print("Success! The configuration is valid, but there were some validation warnings as shown above.\n\n")
		} else {
			c.UI.Print("Success! The configuration is valid.\n\n")
		}
	}
	return code
}

func validate(ctx context.Context, c *base.Call, f *validateFlags) {
	s, ok := session.Open(c, &f.Options, operation.None)
	if !ok {
		return
	}
	s.Loader.Queries = f.query
	s.Loader.Load()
	var others []string
	if !f.noTests {
		for _, file := range s.Loader.ReadTests(&c.Bag) {
			others = append(others, string(c.Sources.Get(file.Name)))
		}
	}
	s.Judge(ctx, vet.CheckOptions{Called: true})
	s.JudgeEncryption()
	if f.lint != "" && s.Program != nil && !c.Bag.HasErrors() {
		if !f.query {
			others = append(others, queryfile.Texts(s.Dir.Root, s.Dir.LoadOptions())...)
		}
		report := lint.Check(s.Program, others)
		for _, text := range report.Secrets {
			c.Secrets.Add(text, secret.Origin{Kind: secret.Setting, Sensitive: true})
		}
		c.Bag.Add(report.Findings...)
	}
}
