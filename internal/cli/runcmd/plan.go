package runcmd

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/backend"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/plan/file"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/lethe-iac/lethe/internal/view"
)

// Plan is `plan`.
var Plan = &base.Command{
	Name: "plan", Stream: true, Short: "Show changes required by the current configuration",
	Long: `Generates a speculative execution plan, showing what actions Lethe
would take to apply the current configuration. This command will not
actually perform the planned actions.

You can optionally save the plan to a file, which you can then pass to
the "apply" command to perform exactly the actions described in the plan.`,
	Examples: [][2]string{
		{"lethe plan -out=tfplan", "Save the plan, for apply to carry out"},
		{"lethe plan -detailed-exitcode", "Exit with 2 if there are changes"},
		{"lethe plan -target=module.network", "Plan for a part, and what it needs"},
		{"lethe plan -replace='aws_instance.web[0]'", "Plan to replace one object"},
		{"lethe plan -refresh-only", "Show what changed outside"},
		{"lethe plan -var-file=prod.tfvars", "Set variables from a file"},
	},
	Setup: base.Flags(func(c *base.Call, f *planFlags) {
		f.define(c)
		c.Flags.StringVar(&f.out, "out", "", "Write the plan to this `file`.")
		c.Flags.BoolVar(&f.detailed, "detailed-exitcode", false, "Exit with 0 if nothing changes, 1 on errors, 2 if something changes.")
		c.Flags.StringVar(&f.generate, "generate-config-out", "", "Write configuration for imported objects that have none to this new `file`.")
	}, runPlan),
}

// noPlan is why there is no plan without configuration.
const noPlan = "Plan requires configuration to be present. Planning without a configuration would mark everything for destruction, which is normally not what is desired. If you would like to destroy everything, run plan with the -destroy option."

func runPlan(ctx context.Context, c *base.Call, f *planFlags) int {
	if !f.mayGenerate(c) || !f.maySave(c) {
		return c.UI.Fail()
	}
	o, ok := begin(ctx, c, f, "OperationTypePlan", f.unlessDestroying(noPlan), false)
	if !ok {
		return c.UI.Fail()
	}
	result, ok := o.planAndGenerate(ctx)
	if result == nil {
		return c.UI.Fail()
	}
	o.showPlan(result.Plan, view.PlanOptions{Saved: f.out})
	// A plan with errors is saved as well, for others may want to know of them; but not one in which a secret
	// was found.
	saved := f.out == "" || !ok && c.Secrets.Found() || o.savePlan(ctx, result)
	if !ok || !saved {
		return c.UI.Fail()
	}
	if f.detailed && result.Plan.Applyable() {
		return c.UI.Done(base.ExitChanges)
	}
	return c.UI.Done(base.ExitOK)
}

// unlessDestroying is a reason that does not hold where everything is to be destroyed.
func (f *planFlags) unlessDestroying(why string) string {
	if f.destroy {
		return ""
	}
	return why
}

// planAndGenerate plans; where configuration is missing for imports, and is to be made, twice.
func (o *operation) planAndGenerate(ctx context.Context) (*engine.Result, bool) {
	file := o.f.generate
	if file == "" || len(o.p.Program.UndeclaredImports()) == 0 {
		o.f.generate = ""
		return o.plan(ctx)
	}
	sink := o.p.Engine.Sink
	o.p.Engine.Sink = event.Discard // the second time will tell
	result, ok := o.plan(ctx)
	o.p.Engine.Sink = sink
	if result == nil || !ok {
		return result, ok
	}
	if len(result.Generated) == 0 {
		o.f.generate = ""
		return o.plan(ctx)
	}
	o.p.Bag.Clear()
	o.reportGenerated(file)
	return o.planGenerated(ctx, result.Generated)
}

// showPlan hands the plan to the view.
func (o *operation) showPlan(out *plan.Plan, how view.PlanOptions) {
	how.Schemas = o.p.Schemas()
	o.p.UI.Plan(out, how)
}

// savePlan writes the plan file.
func (o *operation) savePlan(ctx context.Context, r *engine.Result) bool {
	r.Plan.Ephemeral, r.Plan.Place, r.Plan.Settings = ephemeralGiven(o.p), o.p.Place, o.p.BackendSettings
	e, ok := o.p.States().Encryption()
	if !ok {
		return false
	}
	contents := &file.Contents{Plan: r.Plan, Config: o.snapshotConfig(), Lock: o.p.Lock.Bytes(), Version: base.Version, Schemas: described(o.p, r.Plan)}
	key := o.p.PlanKey.Make()
	err := disk.ReplaceBy(o.p.Call.FS(), o.p.Call.Path(o.f.out), func(w io.Writer) error {
		if !e.Plan.Encrypts() {
			return file.Write(w, contents, key)
		}
		var b bytes.Buffer // what is encrypted is so in one piece
		if err := file.Write(&b, contents, key); err != nil {
			return err
		}
		sealed, err := e.Plan.Seal(ctx, b.Bytes())
		if err == nil {
			_, err = w.Write(sealed)
		}
		return err
	})
	return o.f.saves(o.p.Call, err)
}

// saves reports that the plan file cannot be written, or could not be.
func (f *planFlags) saves(c *base.Call, err error) bool {
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to write plan file", "The plan could not be written to %s: %s.", f.out, disk.Reason(err)))
	}
	return err == nil
}

// maySave finds out before anything is planned whether there is a place for the plan file. No directory is made for it:
// it is misspelt.
func (f *planFlags) maySave(c *base.Call) bool {
	if f.out == "" {
		return true
	}
	path := c.Path(f.out)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return f.saves(c, syscall.EISDIR)
	}
	_, err := os.Stat(filepath.Dir(path))
	return f.saves(c, err)
}

// snapshotConfig is the configuration as it was read, for the plan file, without the secrets of backends, of those too
// that have no effect.
func (o *operation) snapshotConfig() []file.ConfigModule {
	var out []file.ConfigModule
	o.p.Tree.Root.Walk(func(n *config.Node) {
		var secrets []config.Constant
		for _, b := range append(n.Module.Overridden, n.Module.Stored()) {
			if b != nil {
				secrets = append(secrets, backend.SecretsOf(b)...)
			}
		}
		m := file.ConfigModule{Key: project.ModuleKey(n.Path), Source: n.Source, Version: n.Version, Dir: o.p.Display(n.Module.Dir), Led: n.Led, Files: map[string][]byte{}}
		for _, f := range n.Module.Files {
			m.Files[filepath.Base(f.Name)] = f.Bytes
			for _, s := range secrets {
				if at := s.Range; at.Filename == f.Name {
					m.Files[filepath.Base(f.Name)] = nulled(m.Files[filepath.Base(f.Name)], at.Start.Byte, at.End.Byte)
				}
			}
		}
		out = append(out, m)
	})
	return out
}

// nulled puts null in the place of a part of a file, in which all else stays where it is.
func nulled(text []byte, from, to int) []byte {
	const null = "null"
	if to-from < len(null) || to > len(text) {
		return text
	}
	text = bytes.Clone(text)
	for i := from + copy(text[from:], null); i < to; i++ {
		if text[i] != '\n' {
			text[i] = ' '
		}
	}
	return text
}

// described is how providers describe the types that have to do with a plan: those of the
// configuration, and those of objects that are or were.
func described(p *project.Project, pl *plan.Plan) map[addr.Provider][]byte {
	type name struct {
		mode addr.Mode
		typ  string
	}
	used := map[name]bool{}
	for _, d := range p.Program.Decls() {
		used[name{d.Resource.Mode, d.Resource.Type}] = true
	}
	for _, s := range []*state.Snapshot{pl.Previous, pl.Refreshed} {
		for o := range s.Objects() {
			used[name{o.Mode, o.Type}] = true
		}
	}
	out := map[addr.Provider][]byte{}
	for a, s := range p.Pool.Known() {
		if s.Part != nil {
			out[a] = s.Part(func(m addr.Mode, typ string) bool { return used[name{m, typ}] })
		}
	}
	return out
}

// ephemeralGiven names the ephemeral variables that have a value, for the plan file.
func ephemeralGiven(p *project.Project) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(p.Tree.Root.Module.Variables)) {
		if _, given := p.Vars.Given[name]; given && p.Tree.Root.Module.Variables[name].Ephemeral {
			out = append(out, name)
		}
	}
	return out
}
