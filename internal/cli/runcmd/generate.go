package runcmd

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/plan"
)

// mayGenerate reports an error and returns false if the file of -generate-config-out exists already.
func (f *planFlags) mayGenerate(c *base.Call) bool {
	if f.generate == "" {
		return true
	}
	if _, err := os.Stat(c.Path(f.generate)); err == nil {
		c.Bag.Add(base.GeneratedExists())
		return false
	}
	return true
}

// request returns the plan request for the flags and the state of the execution. It reports an error and returns false
// if a flag is invalid.
func (o *execution) request() (engine.Request, bool) {
	req, ok := o.f.request(o.s, o.ws.Snapshot())
	req.Unanswered, req.Rewrite = unanswered(o.ws), o.values.objects()
	o.only.narrow(&req, o.ws)
	req.Earlier, req.Options.Now, req.Options.UUIDs = o.earlier, o.now, o.uuids
	return req, ok
}

// plan makes a plan. After errors, which it reports, it returns false; the result may be set nevertheless.
func (o *execution) plan(ctx context.Context) (*engine.Result, bool) {
	req, ok := o.request()
	if !ok {
		return nil, false
	}
	result, ok := o.s.Engine.Plan(ctx, req, &o.c.Bag)
	o.f.hintRounds(&o.c.Bag)
	o.recordInterruption(result)
	return result, ok
}

// recordInterruption records in the call that an interrupt ended the planning early. If r is nil, it does nothing.
func (o *execution) recordInterruption(r *engine.Result) {
	if r != nil && r.Interrupted {
		o.c.Interrupted()
	}
}

// planAndGenerate makes a plan. If -generate-config-out is set and import blocks name resources without configuration,
// it first generates the configuration of these resources, and then plans with this configuration. It returns false if
// an error was reported; the result may be set nevertheless.
func (o *execution) planAndGenerate(ctx context.Context) (*engine.Result, bool) {
	if o.f.generate == "" || len(o.s.Program.UndeclaredImports()) == 0 {
		return o.plan(ctx)
	}
	req, ok := o.request()
	if !ok {
		return nil, false
	}
	var bag diag.Bag
	made, ok := o.s.Engine.Generate(ctx, req, event.Discard, &bag)
	o.recordInterruption(made.Rest)
	switch {
	case !ok:
		o.c.Bag.Move(&bag)
		return made.Rest, false
	case len(made.Blocks) == 0:
		o.c.Bag.Move(&bag)
		return o.plan(ctx)
	}
	// The next plan repeats the diagnostics that still apply.
	if !o.addGenerated(ctx, made.Blocks) {
		return nil, false
	}
	result, ok := o.plan(ctx)
	if result != nil {
		showGenerated(result.Plan, made.Blocks)
	}
	return result, ok
}

// addGenerated writes generated resource blocks to the file of -generate-config-out, and adds them to the
// configuration. If a later step fails, the file remains, so that the user can correct it. addGenerated reports an
// error and returns false if a step fails.
func (o *execution) addGenerated(ctx context.Context, blocks map[addr.Resource]string) bool {
	var text bytes.Buffer
	text.WriteString("# __generated__ by Lethe\n# Please review these resources and move them into your main configuration files.\n")
	byName := map[string]string{}
	for r, block := range blocks {
		byName[r.String()] = block
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		text.WriteString("\n" + byName[name])
	}
	return o.writeGenerated(text.Bytes()) && o.s.Loader.LoadWith(o.generatedName(), text.Bytes()) && o.s.Compile(ctx, vet.CheckOptions{})
}

// generatedName returns the name of the generated file in the root module. If the file of -generate-config-out is in
// another directory, or is no configuration file, generatedName returns another name, because the module may have a
// file of the same name.
func (o *execution) generatedName() string {
	path := o.c.Path(o.f.generate)
	name := filepath.Base(path)
	if ext := filepath.Ext(name); filepath.Dir(path) == filepath.Clean(o.s.Dir.Root) && (ext == ".tf" || ext == ".tofu") {
		return name
	}
	return "generated_" + name + ".tf"
}

// showGenerated adds the generated blocks to the changes of a plan, so that the plan shows them. It omits a comment in
// the first line of a block.
func showGenerated(pl *plan.Plan, blocks map[addr.Resource]string) {
	for _, c := range pl.Changes {
		block := blocks[c.Object.Resource()]
		if strings.HasPrefix(block, "#") { // a comment that describes the origin of the block
			_, block, _ = strings.Cut(block, "\n")
		}
		c.Generated = strings.TrimSuffix(block, "\n")
	}
}

// writeGenerated writes generated configuration to the file of -generate-config-out and prints the name of the file. It
// reports an error and returns false if the file cannot be written.
func (o *execution) writeGenerated(text []byte) bool {
	f, err := os.OpenFile(o.c.Path(o.f.generate), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.Write(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		o.c.Bag.Add(diag.Errorf("Failed to create target generated file", "The file %s cannot be written: %s.", o.f.generate, disk.Reason(err)))
		return false
	}
	o.reportGenerated(o.f.generate)
	return true
}

// reportGenerated prints the name of the file with the generated configuration.
func (o *execution) reportGenerated(name string) {
	o.c.UI.Send(event.Note{Text: o.c.Renamed("\nLethe has generated configuration and written it to " + name + ". Please review the configuration and edit it as necessary before adding it to version control.")})
}
