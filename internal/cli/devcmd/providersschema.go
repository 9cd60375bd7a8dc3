package devcmd

import (
	"context"
	"io"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/plugins"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
)

// ProvidersSchema is the command `providers schema`.
var ProvidersSchema = &base.Command{
	Name: "providers schema", Short: "Show schemas for the providers used in the configuration",
	Long: "Prints out a json representation of the schemas for all providers used\nin the current configuration.",
	Examples: [][2]string{
		{"lethe providers schema -json", "Print the schemas"},
	},
	Setup: base.Flags(func(c *base.Call, f *workdir.Options) {
		c.DocumentFlags()
		f.VarFlags(c)
	}, runProvidersSchema),
}

func runProvidersSchema(ctx context.Context, c *base.Call, f *workdir.Options) int {
	if !c.ForPrograms() {
		c.Bag.Add(diag.Errorf("The `-json` flag is required", "Schemas are only printed as JSON: lethe providers schema -json."))
		return c.UI.Fail()
	}
	s, ok := session.Open(c, f, operation.None)
	if !ok {
		return c.UI.Fail()
	}
	if !s.Loader.Load() {
		return c.UI.Fail()
	}
	s.Plugins.WarnOverrides()
	if !s.Installed() {
		return c.UI.DoneDocument()
	}
	s.Remember()
	var list []addr.Provider
	for _, n := range s.Loader.Needs() {
		list = append(list, n.Provider)
	}
	prior, ok := s.States.Read(ctx)
	if ok {
		for _, n := range plugins.StateNeeds(prior, s.Loader.Needs()) {
			list = append(list, n.Provider)
		}
	}
	hosts := s.Engine.Hosts(s.Loader.Tree, prior)
	if _, err := c.Document(func(w io.Writer) error { return jsondoc.WriteSchemas(w, list, s.Schemas(), hosts.Of) }); err != nil {
		c.Bag.Add(diag.Errorf("Failed to marshal provider schemas to json", "%s.", err))
	}
	return c.UI.DoneDocument()
}
