package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/view"
)

var providersCommand = &Command{
	Name: "providers", Short: "Show the providers required for this configuration",
	Long: "Prints out a tree of modules in the referenced configuration annotated with\ntheir provider requirements.",
	Flags: func(c *call) {
		c.flags.String("test-directory", "tests", "Accepted for compatibility: the `directory` of test files.")
		c.varFlags()
	},
	Run: runProviders,
}

func runProviders(ctx context.Context, c *call) int {
	if len(c.operands) > 0 { // providers lock and its kind: to list instead would look like success
		c.bag.Add(diag.Errorf("Too many command line arguments", "Lethe has no command named %q, and the command providers takes no arguments.", "providers "+c.operands[0]))
		return c.ui.fail()
	}
	p, ok := c.open()
	if !ok {
		return c.ui.fail()
	}
	defer p.close()
	if !p.load() || !p.checkEmpty() {
		return c.ui.fail()
	}
	s, ok := p.readState(ctx)
	hosts := p.engine.Hosts(p.tree, s)
	c.ui.print("\nProviders required by configuration:\n.\n" + providerTree(p.tree.Root, hosts, "") + "\n")
	if ok && s.Len() > 0 {
		c.ui.print("Providers required by state:\n\n")
		for _, n := range stateNeeds(s, nil) {
			c.ui.print(fmt.Sprintf("    provider[%s]\n\n", n.Provider))
		}
	}
	return c.ui.done(exitOK)
}

// providerTree draws the requirements of a module and what it calls.
func providerTree(n *config.Node, hosts engine.Hosts, indent string) string {
	var lines []string
	for _, local := range sortedNames(n.Module.Required) {
		r := n.Module.Required[local]
		text := "provider[" + hosts.Of(r.Source).String() + "]"
		if c := config.Constraint(r.Versions); c != "" {
			text += " " + c
		}
		lines = append(lines, text)
	}
	var b strings.Builder
	children := sortedNames(n.Children)
	total := len(lines) + len(children)
	branch := func(i int) (string, string) {
		if i == total-1 {
			return "└── ", "    "
		}
		return "├── ", "│   "
	}
	for i, l := range lines {
		mark, _ := branch(i)
		b.WriteString(indent + mark + l + "\n")
	}
	for i, name := range children {
		mark, deeper := branch(len(lines) + i)
		b.WriteString(indent + mark + "module." + name + "\n")
		b.WriteString(providerTree(n.Children[name], hosts, indent+deeper))
	}
	return b.String()
}

var providersSchemaCommand = &Command{
	Name: "providers schema", Short: "Show schemas for the providers used in the configuration",
	Long:  "Prints out a json representation of the schemas for all providers used\nin the current configuration.",
	Flags: func(c *call) { c.jsonFlag(); c.varFlags() },
	Run:   runProvidersSchema,
}

func runProvidersSchema(ctx context.Context, c *call) int {
	if !c.opts.json {
		c.bag.Add(diag.Errorf("The `-json` flag is required", "Schemas are only printed as JSON: lethe providers schema -json."))
		return c.ui.fail()
	}
	p, ok := c.open()
	if !ok {
		return c.ui.fail()
	}
	defer p.close()
	if !p.load() {
		return c.ui.fail()
	}
	p.warnOverrides()
	if !p.installed() {
		return p.doneQuiet()
	}
	var list []addr.Provider
	for _, n := range p.needs() {
		list = append(list, n.Provider)
	}
	s, ok := p.readState(ctx)
	if ok {
		for _, n := range stateNeeds(s, p.needs()) {
			list = append(list, n.Provider)
		}
	}
	hosts := p.engine.Hosts(p.tree, s)
	if err := view.WriteSchemasJSON(c.Stdout, list, p.schemas(), hosts.Of); err != nil {
		c.bag.Add(diag.Errorf("Failed to marshal provider schemas to json", "%s.", err))
	}
	return p.doneQuiet()
}

// schemaSource asks the pool for schemas and keeps what they say about failures.
type schemaSource struct{ p *project }

func (p *project) schemas() schemaSource { return schemaSource{p} }

// Of gives a provider's schemas, nil if they cannot be had.
func (s schemaSource) Of(a addr.Provider) *provider.Schemas {
	schemas, ds := s.p.pool.Schemas(context.Background(), a)
	s.p.bag.Add(ds...)
	if ds.HasErrors() {
		return nil
	}
	return schemas
}

var metadataCommand = &Command{
	Name: "metadata functions", Short: "Show signatures and descriptions for the available functions",
	Long:  "Prints out a json representation of the available function signatures.",
	Flags: func(c *call) { c.jsonFlag() },
	Run: func(_ context.Context, c *call) int {
		if !c.opts.json {
			c.bag.Add(diag.Errorf("The `-json` flag is required", "Function signatures are only printed as JSON: lethe metadata functions -json."))
			return c.ui.fail()
		}
		if err := view.WriteFunctionsJSON(c.Stdout); err != nil {
			return exitError
		}
		return exitOK
	},
}
