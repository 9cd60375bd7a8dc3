package devcmd

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/state"
)

// Providers is `providers`.
var Providers = &base.Command{
	Name: "providers", Short: "Show the providers required for this configuration",
	Long: "Prints out a tree of modules in the referenced configuration annotated with\ntheir provider requirements.",
	Examples: [][2]string{
		{"lethe providers", "Show which modules need which providers"},
		{"lethe providers -json", "Give them to a program"},
	},
	Setup: base.Flags(func(c *base.Call, f *project.Options) {
		f.TestsFlag(c)
		c.DocumentFlags()
		f.VarFlags(c)
	}, runProviders),
}

func runProviders(ctx context.Context, c *base.Call, f *project.Options) int {
	p, ok := project.Open(c, f)
	if !ok {
		return c.UI.Fail()
	}
	if !p.Load() || !p.RequireFiles("What a configuration requires is in its files, and there are none here.") {
		return c.UI.Fail()
	}
	tests := p.Tests().Read()
	if !p.Tests().Load(tests) {
		return c.UI.Fail()
	}
	s, ok := p.ReadState(ctx)
	hosts := p.Engine.Hosts(p.Tree, s)
	if c.ForPrograms() && c.UI.Into(providersDocument(p, tests, s, hosts)) {
		return c.UI.DoneQuiet()
	}
	c.UI.Print("\nProviders required by configuration:\n.\n" + drawn(append(providerTree(p.Tree.Root, hosts), testTree(p, tests, hosts)...), "") + "\n")
	if ok && s.Len() > 0 {
		c.UI.Print("Providers required by state:\n\n")
		for _, n := range project.StateNeeds(s, nil) {
			c.UI.Print(fmt.Sprintf("    provider[%s]\n\n", n.Provider))
		}
	}
	return c.UI.Done(base.ExitOK)
}

// providerTree is what a module requires, and what the modules do that it calls.
func providerTree(n *config.Node, hosts engine.Hosts) []branch {
	var out []branch
	for _, local := range slices.Sorted(maps.Keys(n.Module.Required)) {
		r := n.Module.Required[local]
		text := "provider[" + hosts.Of(r.Source).String() + "]"
		if c := config.Constraint(r.Versions); c != "" {
			text += " " + c
		}
		out = append(out, branch{text: text})
	}
	for _, name := range slices.Sorted(maps.Keys(n.Children)) {
		out = append(out, branch{"module." + name, providerTree(n.Children[name], hosts)})
	}
	return out
}

// tested gives the runs of a test file that test a module of their own, with that.
func tested(p *project.Project, f *testfile.File) iter.Seq2[*testfile.Run, *config.Node] {
	return func(yield func(*testfile.Run, *config.Node) bool) {
		for _, r := range f.Runs {
			if n := p.All().Children[testfile.Key(f, r)]; n != nil && !yield(r, n) {
				return
			}
		}
	}
}

// testTree is what the modules require that runs of test files test.
func testTree(p *project.Project, files []*testfile.File, hosts engine.Hosts) []branch {
	var out []branch
	for _, f := range files {
		of := branch{text: f.Key()}
		for r, n := range tested(p, f) {
			of.below = append(of.below, branch{"run." + r.Name, providerTree(n, hosts)})
		}
		out = append(out, of)
	}
	return out
}

// requirement is a provider that a module requires, or the state.
type requirement struct {
	Test       string `json:"test,omitempty"` // the file of the run that tests the module
	Run        string `json:"run,omitempty"`
	Module     string `json:"module_address,omitempty"`
	Name       string `json:"name"` // of the provider: host/namespace/type
	Constraint string `json:"version_constraint,omitempty"`
}

// providersDocument is what the configuration and the state require, for programs. s is nil where there is no state that
// can be read.
func providersDocument(p *project.Project, files []*testfile.File, s *state.Snapshot, hosts engine.Hosts) any {
	doc := struct {
		FormatVersion string        `json:"format_version"`
		Configuration []requirement `json:"configuration"`
		State         []requirement `json:"state"`
	}{"1.0", []requirement{}, []requirement{}}
	add := func(top *config.Node, test, run string) {
		top.Walk(func(n *config.Node) {
			path := strings.TrimPrefix(strings.TrimPrefix(n.Path.String(), top.Path.String()), ".")
			for _, local := range slices.Sorted(maps.Keys(n.Module.Required)) {
				r := n.Module.Required[local]
				doc.Configuration = append(doc.Configuration, requirement{test, run, path, hosts.Of(r.Source).String(), config.Constraint(r.Versions)})
			}
		})
	}
	add(p.Tree.Root, "", "")
	for _, f := range files {
		for r, n := range tested(p, f) {
			add(n, f.Name, r.Name)
		}
	}
	if s != nil {
		for _, n := range project.StateNeeds(s, nil) {
			doc.State = append(doc.State, requirement{Name: n.Provider.String()})
		}
	}
	return doc
}
