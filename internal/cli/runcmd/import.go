package runcmd

import (
	"context"
	"fmt"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
)

// Import is `import`.
var Import = &base.Command{
	Name: "import", Args: "ADDR ID", Short: "Associate existing infrastructure with a Lethe resource",
	Long: `Import existing infrastructure into your Lethe state.

This will find and import the specified resource into your Lethe
state, allowing existing infrastructure to come under Lethe
management without having to be initially created by Lethe.`,
	Examples: [][2]string{
		{"lethe import aws_instance.web i-0abc", "Take over an object that exists already"},
		{`lethe import 'aws_instance.web["a"]' i-0abc`, "Likewise, as one of several"},
	},
	Setup: base.Flags(func(c *base.Call, f *importFlags) {
		c.Flags.StringVar(&f.Config, "config", "", "Read the configuration from this `directory`.")
		c.Flags.Bool("allow-missing-config", false, "Accepted for compatibility; configuration must be present.")
		c.RemoteFlag()
		f.OperationFlags(c)
	}, runImport),
}

type importFlags struct{ project.Options }

func runImport(ctx context.Context, c *base.Call, f *importFlags) int {
	to, err := addr.ParseInstance(c.Operands[0])
	switch {
	case err != nil:
		c.Bag.Add(diag.Errorf("Invalid import address", "%s.", err))
		return c.UI.Fail()
	case to.Mode != addr.Managed:
		c.Bag.Add(diag.Errorf("Invalid import address", "A managed resource address is required: importing into %s is not possible.", to))
		return c.UI.Fail()
	}
	p, ok := prepare(ctx, c, &f.Options, noImport, false, vet.CheckOptions{BodiesOnly: true, Incomplete: true}) // blocks that a message of import asks for need not be there yet
	if !ok {
		return c.UI.Fail()
	}
	return importOne(ctx, p, to, c.Operands[1])
}

// noImport is why nothing is imported without configuration.
const noImport = "An object is imported for a resource that the configuration has, and there is none here. To use the configuration of another directory, name it with -config."

func importOne(ctx context.Context, p *project.Project, to addr.Instance, id string) int {
	if _, ok := p.Program.Resource(to.Resource()); !ok {
		p.Bag.Add(undeclared(p, to))
		return p.UI.Fail()
	}
	p.Settles = to
	ws, ok := p.LockState(ctx, "", "import")
	if !ok {
		return p.UI.Fail()
	}
	if ws.Snapshot().Get(to.Current()) != nil {
		p.Bag.Add(diag.Errorf("Resource already managed by Lethe", "Lethe is already managing a remote object for %s. To import to this address you must first remove the existing object from the state.", to))
		return p.UI.Fail()
	}
	next, ok := p.Engine.Import(ctx, engine.Request{
		Program: p.Program, Options: p.LangOptions(), State: ws.Snapshot(), Refresh: true,
		Imports: []engine.Import{{To: to, ID: id}},
	}, p.Bag)
	if !ok || !ws.Save(next) {
		return p.UI.Fail()
	}
	imported(ws, to)
	p.UI.Diagnostics(p.Bag.List())
	p.Bag.Clear()
	p.UI.Print(p.Call.Renamed("\nImport successful!\n\nThe resources that were imported are shown above. These resources are now in\nyour Lethe state and will henceforth be managed by Lethe.\n\n"))
	return p.UI.Done(base.ExitOK)
}

// undeclared says that nothing can be imported to an address, since the configuration has no such block.
func undeclared(p *project.Project, to addr.Instance) diag.Diagnostic {
	module, found := to.Module.Module(), false
	var modules, resources []string
	p.Tree.Root.Walk(func(n *config.Node) {
		modules, found = append(modules, n.Path.String()), found || n.Path == module
	})
	if !found {
		return diag.Errorf("Import to non-existent module", "%s is not defined in the configuration. Please add configuration for this module before importing into it.%s", module, diag.DidYouMean(module.String(), modules))
	}
	for _, d := range p.Program.Decls() {
		if d.Kind == program.Resource && d.Resource.Mode == addr.Managed {
			resources = append(resources, d.Resource.String())
		}
	}
	return diag.Errorf(fmt.Sprintf("resource address %q does not exist in the configuration.", to), "Before importing this resource, please create its configuration in %s.%s For example:\n\nresource %q %q {\n  # (resource arguments)\n}", place(to), diag.DidYouMean(to.Resource().String(), resources), to.Type, to.Name)
}

func place(i addr.Instance) string {
	if i.Module.IsRoot() {
		return "the root module"
	}
	return i.Module.String()
}
