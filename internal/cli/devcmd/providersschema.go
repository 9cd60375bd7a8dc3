package devcmd

import (
	"context"
	"io"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
)

// ProvidersSchema is `providers schema`.
var ProvidersSchema = &base.Command{
	Name: "providers schema", Short: "Show schemas for the providers used in the configuration",
	Long: "Prints out a json representation of the schemas for all providers used\nin the current configuration.",
	Examples: [][2]string{
		{"lethe providers schema -json", "Give the schemas to a program"},
	},
	Setup: base.Flags(func(c *base.Call, f *project.Options) {
		c.DocumentFlags()
		f.VarFlags(c)
	}, runProvidersSchema),
}

func runProvidersSchema(ctx context.Context, c *base.Call, f *project.Options) int {
	if !c.ForPrograms() {
		c.Bag.Add(diag.Errorf("The `-json` flag is required", "Schemas are only printed as JSON: lethe providers schema -json."))
		return c.UI.Fail()
	}
	p, ok := project.Open(c, f)
	if !ok {
		return c.UI.Fail()
	}
	if !p.Load() {
		return c.UI.Fail()
	}
	p.WarnOverrides()
	if !p.Installed() {
		return p.UI.DoneQuiet()
	}
	p.Remember()
	var list []addr.Provider
	for _, n := range p.Needs() {
		list = append(list, n.Provider)
	}
	s, ok := p.ReadState(ctx)
	if ok {
		for _, n := range project.StateNeeds(s, p.Needs()) {
			list = append(list, n.Provider)
		}
	}
	hosts := p.Engine.Hosts(p.Tree, s)
	if _, err := c.Document(func(w io.Writer) error { return jsondoc.WriteSchemas(w, list, p.Schemas(), hosts.Of) }); err != nil {
		c.Bag.Add(diag.Errorf("Failed to marshal provider schemas to json", "%s.", err))
	}
	return p.UI.DoneQuiet()
}
