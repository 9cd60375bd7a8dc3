package cli

import (
	"bytes"
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/plan/file"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/workspace"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// applySaved applies a saved plan, without asking.
func applySaved(ctx context.Context, c *call, name string) int {
	if !c.savedFlags() {
		return c.ui.fail()
	}
	saved, ok := c.readPlan(name)
	if !ok {
		return c.ui.fail()
	}
	if d := saved.WrittenBy(Version); d != nil {
		c.bag.Add(*d)
		return c.ui.fail()
	}
	p, ok := c.open()
	if !ok {
		return c.ui.fail()
	}
	defer p.close()
	p.applying = true
	p.supplies()
	if !p.loadSaved(ctx, saved) || !p.ephemeralAgain(saved.Plan.Ephemeral) {
		return c.ui.fail()
	}
	ws, ok := p.lockState(ctx, "", "OperationTypeApply")
	if !ok {
		return c.ui.fail()
	}
	defer ws.Unlock()
	if !p.fresh(ws, saved) || !p.mayApply(saved) {
		return c.ui.fail()
	}
	p.ui.Plan(saved.Plan, view.PlanOptions{Applying: true, Earlier: true})
	return p.carryOut(ctx, ws, saved.Plan)
}

// readPlan reads a plan file.
func (c *call) readPlan(name string) (*file.Contents, bool) {
	data, err := os.ReadFile(c.path(name))
	if err != nil {
		c.bag.Add(diag.Errorf("Failed to load \""+name+"\" as a plan file", "Error: %s.", err))
		return nil, false
	}
	return file.Read(bytes.NewReader(data), int64(len(data)), &c.bag)
}

// savedFlags refuses what would change a plan that is already made. -refresh changes nothing: it
// is about planning, and provider test suites give it with every plan.
func (c *call) savedFlags() bool {
	o := &c.opts
	if o.destroy || o.refreshOnly || len(o.targets)+len(o.excludes)+len(o.replace) > 0 {
		c.bag.Add(diag.Errorf("Can't change plan options when applying a saved plan", "The mode, targets and other planning options were decided when the plan was made. Make a new plan to change them."))
		return false
	}
	return true
}

// mayApply refuses plans that ended with errors.
func (p *project) mayApply(saved *file.Contents) bool {
	if !saved.Plan.Errored {
		return true
	}
	p.bag.Add(diag.Errorf("Cannot apply incomplete plan", "Lethe encountered an error when generating this plan, so it cannot be applied."))
	return false
}

// fresh refuses a plan that was made for another state than the one at hand.
func (p *project) fresh(ws *workspace.State, saved *file.Contents) bool {
	if d := file.Stale(saved.Plan, ws.Snapshot(), p.workspaces().Selected()); d != nil {
		p.bag.Add(*d)
		return false
	}
	return true
}

// loadSaved takes configuration and variables from a saved plan. Its files lie where they were when
// the plan was made, so that path.module and the files that expressions read are the same.
func (p *project) loadSaved(ctx context.Context, saved *file.Contents) bool {
	files := config.Memory{}
	for _, m := range saved.Config {
		for name, text := range m.Files {
			files[path.Join(filepath.ToSlash(p.path(m.Dir)), name)] = text
		}
	}
	o := p.loadOptions()
	o.Files = files
	ok := p.loadFrom(filepath.ToSlash(p.dir), o, func(at addr.Module, _ *config.Call, _ *config.Node, bag *diag.Bag) (string, string, string, bool) {
		for _, m := range saved.Config {
			if m.Key == keyOf(at) {
				return filepath.ToSlash(p.path(m.Dir)), m.Source, m.Version, true
			}
		}
		bag.Add(diag.Errorf("Invalid plan file", "The plan has no configuration for %s.", at))
		return "", "", "", false
	})
	if !ok {
		return false
	}
	// What is in a plan was checked when the plan was made; files beside it may be gone.
	return p.savedVariables(saved.Plan.Variables) && p.compileAs(ctx, lang.CheckOptions{BodiesOnly: true})
}

// described is how providers describe the types that have to do with a plan: those of the
// configuration, and those of objects that are or were.
func (p *project) described(pl *plan.Plan) map[addr.Provider][]byte {
	type name struct {
		mode addr.Mode
		typ  string
	}
	used := map[name]bool{}
	for _, d := range p.program.Decls() {
		used[name{d.Resource.Mode, d.Resource.Type}] = true
	}
	for _, s := range []*state.Snapshot{pl.Previous, pl.Refreshed} {
		for o := range s.Objects() {
			used[name{o.Mode, o.Type}] = true
		}
	}
	out := map[addr.Provider][]byte{}
	for a, s := range p.pool.Known() {
		if s.Part != nil {
			out[a] = s.Part(func(m addr.Mode, typ string) bool { return used[name{m, typ}] })
		}
	}
	return out
}

// recall takes how providers described themselves when a plan was made, so that nobody has to start
// them.
func (p *project) recall(saved *file.Contents) {
	for a, part := range saved.Schemas {
		if s := wire.Described(part, a); s != nil {
			p.pool.Know(a, s)
		}
	}
}

// ephemeralGiven names the ephemeral variables that have a value, for the plan file.
func (p *project) ephemeralGiven() []string {
	var out []string
	for _, name := range sortedNames(p.tree.Root.Module.Variables) {
		if _, given := p.vars[name]; given && p.tree.Root.Module.Variables[name].Ephemeral {
			out = append(out, name)
		}
	}
	return out
}

// ephemeralAgain holds the ephemeral variables that are given now against those that were given
// when the plan was made. The same ones have to be, their values may differ: a plan has nothing
// that was made of them.
func (p *project) ephemeralAgain(planned []string) bool {
	ok := true
	for _, name := range p.ephemeralGiven() {
		if !slices.Contains(planned, name) {
			p.bag.Add(diag.Errorf("Ephemeral variable was not set during planning", "The ephemeral variable %q has a value now (from %s), and had none when this plan was made, so that the plan may not fit it. Apply without a value for it, or make a new plan with one.", name, p.vars[name].From).At(p.declared(name).Range))
			ok = false
		}
	}
	for _, name := range planned {
		v := p.declared(name)
		if _, given := p.vars[name]; given || v == nil {
			continue
		}
		if ok && p.mayAsk() && p.askVariable(v) {
			continue
		}
		if !p.cutShort() {
			p.bag.Add(diag.Errorf("No value for required variable", "The ephemeral variable %q was set when this plan was made. Plans do not hold values of ephemeral variables, so that it has to be set again, by any of the ways to set a variable: -var, -var-file, TF_VAR_%s or a variables file. The value may differ.", name, name).At(v.Range))
		}
		ok = false
	}
	return ok
}

// savedVariables takes the values of variables from the plan, except those of ephemeral ones, which
// a plan does not hold. Other values may be given again if they are the same.
func (p *project) savedVariables(values map[string]plan.Variable) bool {
	if !p.collectVariables() {
		return false
	}
	ok := true
	for name, v := range p.tree.Root.Module.Variables {
		if v.Ephemeral {
			continue
		}
		given, isGiven := p.vars[name]
		delete(p.vars, name)
		kept, isKept := values[name]
		if isKept {
			p.vars[name] = lang.Given{Value: kept.Value, From: "the saved plan"}
		}
		if isGiven && given.From == "-var" && !(isKept && p.sameVariable(v, given, kept.Value)) {
			p.bag.Add(diag.Errorf("Can't change variable when applying a saved plan", "The variable %s cannot be set using the -var and -var-file options when applying a saved plan file, because a saved plan includes the variable values that were set when it was created. To change it, make a new plan.", name))
			ok = false
		}
	}
	return ok
}

// sameVariable reports whether a value given on the command line is the one that a plan has.
func (p *project) sameVariable(v *config.Variable, given lang.Given, kept cty.Value) bool {
	value := cty.StringVal(given.Text)
	if v.TypeGiven && !v.Type.IsPrimitiveType() {
		var ok bool
		if value, ok = config.ParseValue("-var", given.Text, p.limits.config, &diag.Bag{}); !ok {
			return false
		}
	}
	a, err1 := convert.Convert(value, v.Type.WithoutOptionalAttributesDeep())
	b, err2 := convert.Convert(kept, v.Type.WithoutOptionalAttributesDeep())
	return err1 == nil && err2 == nil && a.RawEquals(b)
}

func keyOf(m addr.Module) string {
	key := ""
	for i, name := range m.Path() {
		if i > 0 {
			key += "."
		}
		key += name
	}
	return key
}
