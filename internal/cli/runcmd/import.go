package runcmd

import (
	"context"
	"fmt"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/operation"
)

// Import is the command `import`.
var Import = &base.Command{
	Name: "import", Stream: true, Args: "ADDR ID", Short: "Associate existing infrastructure with a Lethe resource",
	Long: `Import existing infrastructure into your Lethe state.

This will find and import the specified resource into your Lethe
state, allowing existing infrastructure to come under Lethe
management without having to be initially created by Lethe.`,
	Examples: [][2]string{
		{"lethe import aws_instance.web i-0abc", "Import an existing object"},
		{`lethe import 'aws_instance.web["a"]' i-0abc`, "Import into one instance of several"},
	},
	Setup: base.Flags(func(c *base.Call, f *importFlags) {
		c.Flags.StringVar(&f.Config, "config", "", "Read the configuration from this `directory`.")
		c.Flags.Bool("allow-missing-config", false, "Accepted for compatibility. Configuration must be present.")
		c.RemoteFlag()
		f.OperationFlags(c)
	}, runImport),
}

type importFlags struct{ workdir.Options }

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
	s, ok := prepare(ctx, c, &f.Options, operation.Import, noImport, vet.CheckOptions{BodiesOnly: true, Incomplete: true}) // BodiesOnly and Incomplete: the configuration may lack the blocks that an error of import asks the user to add
	if !ok {
		return c.UI.Fail()
	}
	return importOne(ctx, s, to, c.Operands[1])
}

// noImport is the error text for an import in a directory without configuration.
const noImport = "Import needs the configuration of the resource, but the directory has no configuration files. To read another directory, use -config=DIR."

// importOne imports an object, saves the state, and returns the exit code. id is the ID of the object, and to is its
// new address. importOne reports an error if the configuration has no resource at the address, or the state has an
// object there.
func importOne(ctx context.Context, s *session.Session, to addr.Instance, id string) int {
	c := s.Dir.Call
	if _, ok := s.Program.Resource(to.Resource()); !ok {
		c.Bag.Add(undeclared(s, to))
		return c.UI.Fail()
	}
	ws, ok := s.LockToSettle(ctx, to)
	if !ok {
		return c.UI.Fail()
	}
	if ws.Snapshot().Get(to.Current()) != nil {
		c.Bag.Add(diag.Errorf("Resource already managed by Lethe", "Lethe already manages an object for %s. To import another object to this address, first remove the existing object from the state: lethe state rm", to))
		return c.UI.Fail()
	}
	next, ok := s.Engine.Import(ctx, engine.Request{
		Program: s.Program, Options: s.FrameOptions(), State: ws.Snapshot(), Refresh: true,
		Imports: []engine.Import{{To: to, ID: id}},
	}, &c.Bag)
	if !ok || !ws.Save(next) {
		return c.UI.Fail()
	}
	imported(ws, to)
	c.UI.Diagnostics(c.Bag.List())
	c.Bag.Clear()
	c.UI.Line(c.Renamed("\nImport successful!\n\nThe resources that were imported are shown above. These resources are now in\nyour Lethe state and will henceforth be managed by Lethe.\n"))
	return c.UI.Done(base.ExitOK)
}

// undeclared returns the error for an import to an address without a resource block, or in a module without a module
// block.
func undeclared(s *session.Session, to addr.Instance) diag.Diagnostic {
	module, found := to.Module.Module(), false
	var modules, resources []string
	s.Loader.Tree.Root.Walk(func(n *config.Node) {
		modules, found = append(modules, n.Path.String()), found || n.Path == module
	})
	if !found {
		return diag.Errorf("Import to non-existent module", "%s is not in the configuration. Add a module block for it before importing into it.%s", module, diag.DidYouMean(module.String(), modules))
	}
	for _, d := range s.Program.Decls() {
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
