// Package secretscmd defines the commands about secrets that are stored unencrypted.
//
//	secretscmd.go  the command secrets, which lists them
//	baseline.go    the flags of secrets, and its baseline: the accepted findings
//	move.go        the command secrets move, which edits the configuration
//	edit.go        the edits and the plan of secrets move, and the check of the plan
//	targets.go     the secrets that secrets move moves
//	scrub.go       the command secrets scrub, which removes values from copies of the state
//	copies.go      the changes of the copies by secrets scrub
//	services.go    places that only a user can clean
//	places.go      collects the contents of the places for an audit
package secretscmd

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/audit"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/savedplan"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/view/stateview"
	"github.com/zclconf/go-cty/cty"
)

// Secrets is the command `secrets`.
var Secrets = &base.Command{
	Name: "secrets", Args: "[plan-file...]", Short: "List secrets that are stored in clear",
	Long: `Lists the secrets that are stored in clear in the state, in its backups, earlier
versions and journals, in states that could not be stored, and in the given plan
files. It prints addresses and attributes, and never a value or its digest. The
same label (#3) means the same value, inside one report. For each secret it prints
why it counts as one, where it is stored, and how to store it no longer.

The exit code is 2 if a secret is stored in clear, and 0 if none is. The command
takes no lock and changes nothing.`,
	Examples: [][2]string{
		{"lethe secrets", "List the stored secrets of the selected workspace"},
		{"lethe secrets tfplan", "Examine a saved plan, too"},
		{"lethe secrets -baseline-out=secrets.json", "Accept the secrets that are stored now"},
		{"lethe secrets -baseline=secrets.json -fail-on=new", "Fail if another secret is stored"},
	},
	Setup:  base.Flags(defineSecrets, runSecrets),
	Result: true,
}

func defineSecrets(c *base.Call, f *secretsFlags) {
	f.VarFlags(c)
	f.StateFlag(c)
	c.DocumentFlags()
	c.Flags.StringVar(&f.baseline, "baseline", "", "Compare with the accepted secrets in this `file`.")
	c.Flags.StringVar(&f.baselineOut, "baseline-out", "", "Write the secrets to this `file`, as accepted.")
	c.Flags.StringVar(&f.failOn, "fail-on", failOnAny, "Exit with 2 for `which` secrets: any, or new, which the baseline lacks.")
}

func runSecrets(ctx context.Context, c *base.Call, f *secretsFlags) int {
	accepted, ok := f.accepted(c)
	if !ok {
		return c.UI.Fail()
	}
	s, ok := session.Open(c, &f.Options, operation.None)
	if !ok {
		return c.UI.Fail()
	}
	x := &collection{session: s, plans: savedplan.New(s)}
	r, ok := x.audit(ctx, c.Operands)
	if !ok {
		return c.UI.Fail()
	}
	found := stateview.Secrets{Report: r, Accepted: accepted, Hints: x.hints}
	alone, err := c.Document(found.JSON)
	if err == nil && !alone {
		err = found.Text(c.Stdout)
	}
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to show the secrets", "%s.", err))
	}
	f.accept(c, r)
	if code := c.UI.DoneDocument(); code != base.ExitOK {
		return code
	}
	if found.Fails(f.failOn == failOnNew) {
		return base.ExitChanges
	}
	return base.ExitOK
}

// audit collects the contents of all places (the state, its copies and the given plan files) and searches them for
// secrets. It returns false after an error.
func (x *collection) audit(ctx context.Context, plans []string) (*audit.Report, bool) {
	x.begin(ctx)
	if !x.state(ctx, len(plans) > 0) || !x.savedPlans(ctx, plans) {
		return nil, false
	}
	return x.report(ctx)
}

// begin creates x.auditor, which finds secrets in states.
func (x *collection) begin(ctx context.Context) {
	s := x.session
	x.auditor = audit.New(audit.Inputs{
		Schemas: func(p addr.Provider) (*provider.Schemas, error) { return s.SchemasOf(ctx, p) },
		Alternatives: func(p addr.Provider, typ string, of *schema.Schema, config cty.Value) ([]object.Alternative, error) {
			return s.Engine.Alternatives(ctx, p, typ, of, config)
		},
	})
}

// report searches the collected contents for secrets. It returns false after an error.
func (x *collection) report(ctx context.Context) (*audit.Report, bool) {
	r, err := x.auditor.Report(ctx)
	if err != nil {
		x.session.Dir.Call.Bag.Add(diag.Errorf("Failed to examine the state", "%s.", err))
	}
	return r, err == nil
}
