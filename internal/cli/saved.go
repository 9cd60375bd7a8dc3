package cli

import (
	"bytes"
	"context"
	"os"
	"path"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/plan/file"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// applySaved applies a saved plan, without asking.
func applySaved(ctx context.Context, c *call, name string) int {
	if !c.savedFlags() {
		return c.ui.fail()
	}
	data, err := os.ReadFile(c.path(name))
	if err != nil {
		c.bag.Add(diag.Errorf("Failed to load \""+name+"\" as a plan file", "Error: %s.", err))
		return c.ui.fail()
	}
	saved, ok := file.Read(bytes.NewReader(data), int64(len(data)), &c.bag)
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
	if !p.loadSaved(ctx, saved) {
		return c.ui.fail()
	}
	ws, ok := p.workspaceState(ctx, "OperationTypeApply")
	if !ok {
		return c.ui.fail()
	}
	defer ws.unlock()
	if !p.fresh(ws, saved) || !p.mayApply(saved) {
		return c.ui.fail()
	}
	return p.carryOut(ctx, ws, saved.Plan)
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
func (p *project) fresh(ws *workspaceState, saved *file.Contents) bool {
	if d := file.Stale(saved.Plan, ws.snapshot, p.workspace()); d != nil {
		p.bag.Add(*d)
		return false
	}
	return true
}

// loadSaved takes configuration and variables from a saved plan.
func (p *project) loadSaved(ctx context.Context, saved *file.Contents) bool {
	files := config.Memory{}
	dirs := map[string]string{}
	for _, m := range saved.Config {
		dir := "m-" + m.Key
		dirs[m.Key] = dir
		for name, text := range m.Files {
			files[path.Join(dir, name)] = text
		}
	}
	o := config.Options{Files: files, Display: func(s string) string { return displaySaved(saved, s) }}
	ok := p.loadFrom("m-", o, func(at addr.Module, _ *config.Call, _ *config.Node, bag *diag.Bag) (string, string, string, bool) {
		for _, m := range saved.Config {
			if m.Key == keyOf(at) {
				return dirs[m.Key], m.Source, m.Version, true
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

// savedVariables takes the values of variables from the plan, except those of ephemeral ones: a
// plan does not hold them, and they are given again as for planning. Other values may be given
// again if they are the same.
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
		if isGiven && given.From == "-var" && !(isKept && sameVariable(v, given, kept.Value)) {
			p.bag.Add(diag.Errorf("Can't change variable when applying a saved plan", "The variable %s cannot be set using the -var and -var-file options when applying a saved plan file, because a saved plan includes the variable values that were set when it was created. To change it, make a new plan.", name))
			ok = false
		}
	}
	return ok
}

// sameVariable reports whether a value given on the command line is the one that a plan has.
func sameVariable(v *config.Variable, given lang.Given, kept cty.Value) bool {
	value := cty.StringVal(given.Text)
	if v.TypeGiven && !v.Type.IsPrimitiveType() {
		var ok bool
		if value, ok = config.ParseValue("-var", given.Text, config.Limits{}, &diag.Bag{}); !ok {
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

// displaySaved is how messages call a file of the configuration in a plan: as it was called when
// the plan was made.
func displaySaved(saved *file.Contents, name string) string {
	for _, m := range saved.Config {
		if dir := "m-" + m.Key; path.Dir(name) == dir {
			return path.Join(m.Dir, path.Base(name))
		}
	}
	return name
}
