package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/plan/file"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/workspace"
)

var planCommand = &Command{
	Name: "plan", Stream: true, Short: "Show changes required by the current configuration",
	Long: `Generates a speculative execution plan, showing what actions Lethe
would take to apply the current configuration. This command will not
actually perform the planned actions.

You can optionally save the plan to a file, which you can then pass to
the "apply" command to perform exactly the actions described in the plan.`,
	Flags: func(c *call) {
		c.planFlags()
		c.flags.StringVar(&c.opts.out, "out", "", "Write the plan to this `file`.")
		c.flags.BoolVar(&c.opts.detailed, "detailed-exitcode", false, "Exit with 0 if nothing changes, 1 on errors, 2 if something changes.")
		c.flags.StringVar(&c.opts.generate, "generate-config-out", "", "Write configuration for imported objects that have none to this new `file`.")
	},
	Run: runPlan,
}

func runPlan(ctx context.Context, c *call) int {
	if !c.noOperands() || !c.mayGenerate() {
		return c.ui.fail()
	}
	p, ok := c.prepare(ctx, false)
	if !ok {
		return c.ui.fail()
	}
	defer p.close()
	ws, ok := p.lockState(ctx, "", "OperationTypePlan")
	if !ok {
		return c.ui.fail()
	}
	defer ws.Unlock()
	result, ok := p.planAndGenerate(ctx, ws)
	if result == nil {
		return c.ui.fail()
	}
	p.showPlan(result.Plan, view.PlanOptions{Saved: c.opts.out})
	saved := c.opts.out == "" || p.savePlan(result) // with errors, too: others may want to know of them
	if !ok || !saved {
		return c.ui.fail()
	}
	if c.opts.detailed && result.Plan.Applyable() {
		return c.ui.done(exitChanges)
	}
	return c.ui.done(exitOK)
}

// planAndGenerate plans; where configuration is missing for imports, and is to be made, twice.
func (p *project) planAndGenerate(ctx context.Context, ws *workspace.State) (*engine.Result, bool) {
	file := p.opts.generate
	if file == "" || len(p.program.UndeclaredImports()) == 0 {
		p.opts.generate = ""
		return p.plan(ctx, ws)
	}
	sink := p.engine.Sink
	p.engine.Sink = event.Discard // the second time will tell
	result, ok := p.plan(ctx, ws)
	p.engine.Sink = sink
	if result == nil || !ok {
		return result, ok
	}
	if len(result.Generated) == 0 {
		p.opts.generate = ""
		return p.plan(ctx, ws)
	}
	p.bag.Clear()
	p.toldGenerated(file)
	return p.planGenerated(ctx, ws, result.Generated)
}

// prepare opens the working directory and compiles its configuration, with all variables at hand.
// It fails with all that is wrong with it.
func (c *call) prepare(ctx context.Context, applying bool) (*project, bool) {
	p, ok := c.open()
	if !ok {
		return nil, false
	}
	if p.ready(ctx, applying) {
		return p, true
	}
	p.close()
	return nil, false
}

// ready loads and compiles the configuration, and asks for what is missing.
func (p *project) ready(ctx context.Context, applying bool) bool {
	loaded := p.load()
	if len(p.tree.Root.Module.Files) == 0 && !loaded { // a directory that cannot be read was told of
		return false
	}
	if !p.checkEmpty() {
		return false
	}
	p.supplies()
	given := p.collectVariables()
	if loaded && given && p.askVariables() && p.compile(ctx) {
		p.applying = applying
		return true
	}
	p.engine.Supply = nil // there is no use in answers
	p.judge(ctx)
	if !given {
		p.leaveUnset() // they may be set in what could not be read
	}
	if p.program != nil {
		lang.NewFrame(p.program, p.langOptions(applying), &p.bag) // for what is wrong with the values of variables
	}
	return false
}

// checkEmpty refuses a directory without configuration.
func (p *project) checkEmpty() bool {
	if len(p.tree.Root.Module.Files) > 0 || p.opts.destroy || p.command.Name == "refresh" {
		return true
	}
	why := "Plan requires configuration to be present. Planning without a configuration would mark everything for destruction, which is normally not what is desired. If you would like to destroy everything, run plan with the -destroy option."
	switch p.command.Name {
	case "apply":
		why = "Apply requires configuration to be present. Applying without a configuration would mark everything for destruction, which is normally not what is desired. If you would like to destroy everything, run \"lethe destroy\"."
	case "providers":
		why = "What a configuration requires is in its files, and there are none here."
	case "import":
		why = "An object is imported for a resource that the configuration has, and there is none here. To use the configuration of another directory, name it with -config."
	}
	p.bag.Add(diag.Errorf("No configuration files", "%s Otherwise, create a Lethe configuration file (.tf file) and try again.", why))
	return false
}

// request is the planning request that the flags ask for.
func (p *project) request(s *state.Snapshot) (engine.Request, bool) {
	req := engine.Request{
		Program: p.program, Options: p.langOptions(p.applying), State: s,
		Refresh: p.opts.refresh, Backend: p.storeType,
		Generate:        p.opts.generate != "",
		DeferEphemerals: p.defersEphemerals(),
	}
	var ok bool
	if req.SpareDeposed, ok = p.sparesDeposed(); !ok {
		return req, false
	}
	var ok1, ok2, ok3 bool
	req.Targets, ok1 = p.addresses("target", p.opts.targets, p.opts.targetFiles)
	req.Excludes, ok2 = p.addresses("exclude", p.opts.excludes, p.opts.excludeFiles)
	req.Replace, ok3 = p.replaced()
	switch {
	case p.opts.destroy && p.opts.refreshOnly:
		p.bag.Add(diag.Errorf("Incompatible plan mode options", "The -destroy and -refresh-only options are mutually-exclusive: a plan either destroys or only refreshes."))
		return req, false
	case len(p.opts.replace) > 0 && (p.opts.destroy || p.opts.refreshOnly):
		p.bag.Add(diag.Errorf("Unsupported plan mode", "Forcing resource instance replacement (with -replace=...) is allowed only in normal planning mode, not together with -destroy or -refresh-only."))
		return req, false
	case p.opts.refreshOnly && !p.opts.refresh:
		p.bag.Add(diag.Errorf("Incompatible refresh options", "It doesn't make sense to use -refresh-only at the same time as -refresh=false, because Lethe would have nothing to do."))
		return req, false
	case p.opts.destroy:
		req.Mode = plan.Destroy
	case p.opts.refreshOnly:
		req.Mode = plan.RefreshOnly
	}
	return req, ok1 && ok2 && ok3
}

func (p *project) plan(ctx context.Context, ws *workspace.State) (*engine.Result, bool) {
	req, ok := p.request(ws.Snapshot())
	if !ok {
		return nil, false
	}
	result, ok := p.engine.Plan(ctx, req, &p.bag)
	if result != nil && result.Cut {
		p.cutShort()
	}
	return result, ok
}

// showPlan hands the plan to the view.
func (p *project) showPlan(out *plan.Plan, o view.PlanOptions) {
	o.Schemas = p.schemas()
	p.ui.Plan(out, o)
}

// savePlan writes the plan file.
func (p *project) savePlan(r *engine.Result) bool {
	r.Plan.Ephemeral = p.ephemeralGiven()
	var b bytes.Buffer
	path := p.path(p.opts.out)
	_, err := os.Stat(filepath.Dir(path)) // no directory is made for it: it is misspelt
	if err == nil {
		err = file.Write(&b, &file.Contents{Plan: r.Plan, Config: p.snapshotConfig(), Lock: p.lock.Bytes(), Version: Version, Schemas: p.described(r.Plan)})
	}
	if err == nil {
		err = disk.Replace(p.files(), path, b.Bytes())
	}
	if err != nil {
		p.bag.Add(diag.Errorf("Failed to write plan file", "The plan could not be written to %s: %s.", p.opts.out, disk.Reason(err)))
		return false
	}
	return true
}

// snapshotConfig is the configuration as it was read, for the plan file.
func (p *project) snapshotConfig() []file.ConfigModule {
	var out []file.ConfigModule
	p.tree.Root.Walk(func(n *config.Node) {
		m := file.ConfigModule{Key: moduleKey(n), Source: n.Source, Version: n.Version, Dir: p.display(n.Module.Dir), Files: map[string][]byte{}}
		for _, f := range n.Module.Files {
			m.Files[filepath.Base(f.Name)] = f.Bytes
		}
		out = append(out, m)
	})
	return out
}

func moduleKey(n *config.Node) string {
	key := ""
	for i, name := range n.Path.Path() {
		if i > 0 {
			key += "."
		}
		key += name
	}
	return key
}

// mayGenerate refuses to make configuration where there is a file already.
func (c *call) mayGenerate() bool {
	if c.opts.generate == "" {
		return true
	}
	if _, err := os.Stat(c.path(c.opts.generate)); err == nil {
		c.bag.Add(diag.Errorf("Target generated file already exists", "Lethe can only write generated config into a new file. Either choose a different target location or move all existing configuration out of the target file, delete it and try again."))
		return false
	}
	return true
}

// planGenerated plans again with the configuration that was made for imported resources without
// any, and writes it to the file that was asked for: also if planning fails, so that it can be put
// right.
func (p *project) planGenerated(ctx context.Context, ws *workspace.State, made map[addr.Resource]string) (*engine.Result, bool) {
	var text bytes.Buffer
	text.WriteString("# __generated__ by Lethe\n# Please review these resources and move them into your main configuration files.\n")
	byName := map[string]string{}
	for r, block := range made {
		byName[r.String()] = block
	}
	for _, name := range sortedNames(byName) {
		text.WriteString("\n" + byName[name])
	}
	if !p.writeGenerated(text.Bytes()) {
		return nil, false
	}
	o := p.loadOptions()
	o.Files = config.With(nil, p.root, filepath.Base(p.opts.generate), text.Bytes())
	if !p.loadFrom(p.root, o, p.resolve) || !p.compile(ctx) {
		return nil, false
	}
	p.opts.generate = ""
	result, ok := p.plan(ctx, ws)
	if result != nil {
		for _, c := range result.Plan.Changes {
			block := made[c.Object.Resource()]
			if strings.HasPrefix(block, "#") { // a comment that says where it is from
				_, block, _ = strings.Cut(block, "\n")
			}
			c.Generated = strings.TrimSuffix(block, "\n")
		}
	}
	return result, ok
}

func (p *project) writeGenerated(text []byte) bool {
	f, err := os.OpenFile(p.path(p.opts.generate), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.Write(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		p.bag.Add(diag.Errorf("Failed to write generated configuration", "%s.", err))
		return false
	}
	return true
}

// toldGenerated says where the generated configuration is.
func (p *project) toldGenerated(name string) {
	p.ui.Tell(event.Note{Text: "\nLethe has generated configuration and written it to " + name + ". Please review the configuration and edit it as necessary before adding it to version control."})
}
