package cli

import (
	"bytes"
	"context"
	"os"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/plan/file"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/view"
)

var showCommand = &Command{
	Name: "show", Args: "[path]", Short: "Show the current state or a saved plan",
	Long: `Reads and outputs a Lethe state or plan file in a human-readable
form. If no path is specified, the current state will be shown.`,
	Flags: func(c *call) {
		c.jsonFlag()
		c.flags.BoolVar(&c.opts.showSecrets, "show-sensitive", false, "Show sensitive values.")
		c.flags.StringVar(&c.showState, "state", "", "Show this state `file`.")
		c.flags.StringVar(&c.showPlan, "plan", "", "Show this plan `file`.")
		c.varFlags()
	},
	Run: runShow,
}

func runShow(ctx context.Context, c *call) int {
	if !c.between(0, 1) {
		return c.ui.fail()
	}
	path := c.showState + c.showPlan
	if len(c.operands) == 1 {
		path = c.operands[0]
	}
	p, ok := c.open()
	if !ok {
		return c.ui.fail()
	}
	defer p.close()
	if path == "" {
		return p.showCurrent(ctx)
	}
	data, err := os.ReadFile(p.path(path))
	if err != nil {
		p.bag.Add(diag.Errorf("Failed to read the given file as a state or plan file", "%s.", err))
		return p.ui.fail()
	}
	if bytes.HasPrefix(data, []byte("PK")) {
		return p.showSaved(ctx, data)
	}
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] != '{' {
		p.bag.Add(diag.Errorf("Failed to read the given file as a state or plan file", "%s is neither: a state is a JSON object, a saved plan a zip archive.", path))
		return p.ui.fail()
	}
	s, ok := state.Read(data, &p.bag)
	if !ok {
		return p.ui.fail()
	}
	return p.showSnapshot(ctx, s)
}

func (p *project) showCurrent(ctx context.Context) int {
	s, ok := p.readState(ctx)
	if !ok {
		return p.ui.fail()
	}
	return p.showSnapshot(ctx, s)
}

func (p *project) showSnapshot(_ context.Context, s *state.Snapshot) int {
	schemas := p.schemas()
	if p.opts.json {
		// Nothing but the document goes to standard output.
		if err := view.WriteStateJSON(p.Stdout, s, schemas, Version); err != nil {
			p.bag.Add(diag.Errorf("Failed to marshal state to json", "%s.", err))
		}
		return p.doneQuiet()
	}
	switch {
	case s == nil:
		p.ui.print("No state.\n")
		return p.ui.done(exitOK)
	case s.Len() == 0 && len(s.Outputs) == 0:
		p.ui.print("The state file is empty. No resources are represented.\n")
		return p.ui.done(exitOK)
	}
	view.StateText(p.Stdout, s, schemas, p.viewOptions())
	return p.ui.done(exitOK)
}

// showSaved shows a saved plan, with the configuration that is inside it.
func (p *project) showSaved(ctx context.Context, data []byte) int {
	saved, ok := file.Read(bytes.NewReader(data), int64(len(data)), &p.bag)
	if !ok {
		return p.ui.fail()
	}
	p.recall(saved)
	if !p.loadSaved(ctx, saved) {
		return p.ui.fail()
	}
	if p.opts.json {
		hosts := p.engine.Hosts(p.tree, saved.Plan.Refreshed)
		if err := view.WritePlanJSON(p.Stdout, saved.Plan, p.program, p.schemas(), hosts.Of, Version); err != nil {
			p.bag.Add(diag.Errorf("Failed to marshal plan to json", "%s.", err))
		}
		return p.doneQuiet()
	}
	saved.Plan.Leases = p.engine.PreviewLeases(p.program, p.langOptions(false), saved.Plan)
	view.PlanText(p.Stdout, saved.Plan, p.schemas(), p.viewOptions())
	return p.ui.done(exitOK)
}

// doneQuiet ends a command whose standard output is a document: diagnostics go to standard error.
func (p *project) doneQuiet() int {
	human := view.NewHuman(p.Stderr, p.Stderr, p.viewOptions())
	human.Diagnostics(p.bag.List())
	human.Finish()
	if p.bag.HasErrors() {
		return exitError
	}
	return exitOK
}
