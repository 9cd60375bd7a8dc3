package cli

import (
	"context"
	"fmt"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
)

var importCommand = &Command{
	Name: "import", Args: "ADDR ID", Short: "Associate existing infrastructure with a Lethe resource",
	Long: `Import existing infrastructure into your Lethe state.

This will find and import the specified resource into your Lethe
state, allowing existing infrastructure to come under Lethe
management without having to be initially created by Lethe.`,
	Flags: func(c *call) {
		c.flags.StringVar(&c.configDir, "config", "", "Read the configuration from this `directory`.")
		c.flags.Bool("allow-missing-config", false, "Accepted for compatibility; configuration must be present.")
		c.remoteFlag()
		c.operationFlags()
	},
	Run: runImport,
}

func runImport(ctx context.Context, c *call) int {
	if !c.between(2, 2) {
		return c.ui.fail()
	}
	to, err := addr.ParseInstance(c.operands[0])
	switch {
	case err != nil:
		c.bag.Add(diag.Errorf("Invalid import address", "%s.", err))
		return c.ui.fail()
	case to.Mode != addr.Managed:
		c.bag.Add(diag.Errorf("Invalid import address", "A managed resource address is required: importing into %s is not possible.", to))
		return c.ui.fail()
	}
	p, ok := c.prepare(ctx, false)
	if !ok {
		return c.ui.fail()
	}
	defer p.close()
	return p.importOne(ctx, to, c.operands[1])
}

func (p *project) importOne(ctx context.Context, to addr.Instance, id string) int {
	if _, ok := p.program.Resource(to.Resource()); !ok {
		p.bag.Add(diag.Errorf(fmt.Sprintf("resource address %q does not exist in the configuration.", to), "Before importing this resource, please create its configuration in %s. For example:\n\nresource %q %q {\n  # (resource arguments)\n}", place(to), to.Type, to.Name))
		return p.ui.fail()
	}
	ws, ok := p.lockState(ctx, "", "import")
	if !ok {
		return p.ui.fail()
	}
	defer ws.Unlock()
	if ws.Snapshot().Get(to.Current()) != nil {
		p.bag.Add(diag.Errorf("Resource already managed by Lethe", "Lethe is already managing a remote object for %s. To import to this address you must first remove the existing object from the state.", to))
		return p.ui.fail()
	}
	next, ok := p.engine.Import(ctx, engine.Request{
		Program: p.program, Options: p.langOptions(false), State: ws.Snapshot(), Refresh: true,
		Imports: []engine.Import{{To: to, ID: id}},
	}, &p.bag)
	if !ok || !ws.Save(next) {
		return p.ui.fail()
	}
	p.ui.Diagnostics(p.bag.List())
	p.bag.Clear()
	p.ui.print("\nImport successful!\n\nThe resources that were imported are shown above. These resources are now in\nyour Lethe state and will henceforth be managed by Lethe.\n\n")
	return p.ui.done(exitOK)
}

func place(i addr.Instance) string {
	if i.Module.IsRoot() {
		return "the root module"
	}
	return i.Module.String()
}
