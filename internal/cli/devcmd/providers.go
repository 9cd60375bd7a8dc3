package devcmd

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/config/lockfile"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/loader"
	"github.com/lethe-iac/lethe/internal/cli/plugins"
	"github.com/lethe-iac/lethe/internal/cli/states"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/state"
)

// Providers is the command `providers`.
var Providers = &base.Command{
	Name: "providers", Short: "Show the providers required for this configuration",
	Long: "Prints out a tree of modules in the referenced configuration annotated with\ntheir provider requirements.",
	Examples: [][2]string{
		{"lethe providers", "Show which modules need which providers"},
		{"lethe providers -json", "Print them as JSON"},
	},
	Setup: base.Flags(func(c *base.Call, f *workdir.Options) {
		f.TestsFlag(c)
		c.DocumentFlags()
		f.VarFlags(c)
	}, runProviders),
}

func runProviders(ctx context.Context, c *base.Call, f *workdir.Options) int {
	d, ok := workdir.Open(c, f)
	if !ok {
		return c.UI.Fail()
	}
	l := loader.New(d)
	if !l.Load() || !l.RequireFiles("The directory has no configuration files. Change to the right directory.") {
		return c.UI.Fail()
	}
	tests := l.ReadTests(&c.Bag)
	if !l.LoadTests(tests) {
		return c.UI.Fail()
	}
	s, ok := states.New(l).Read(ctx)
	hosts := plugins.New(d).Hosts(l.Tree, s)
	if c.ForPrograms() && c.UI.Into(providersDocument(l, tests, s, hosts)) {
		return c.UI.DoneDocument()
	}
	c.UI.Print("\nProviders required by configuration:\n.\n" + drawn(append(providerTree(l.Tree.Root, hosts), testTree(l, tests, hosts)...), "") + "\n")
	if ok && s.Len() > 0 {
		c.UI.Print("Providers required by state:\n\n")
		for _, n := range plugins.StateNeeds(s, nil) {
			c.UI.Print(fmt.Sprintf("    provider[%s]\n\n", n.Provider))
		}
	}
	return c.UI.Done(base.ExitOK)
}

// providerTree returns the requirements of a module and of its child modules as branches.
func providerTree(n *config.Node, hosts engine.Hosts) []branch {
	var out []branch
	for _, local := range slices.Sorted(maps.Keys(n.Module.Required)) {
		r := n.Module.Required[local]
		text := "provider[" + hosts.Of(r.Source).String() + "]"
		if c := lockfile.Constraint(r.Versions); c != "" {
			text += " " + c
		}
		out = append(out, branch{text: text})
	}
	for _, name := range slices.Sorted(maps.Keys(n.Children)) {
		out = append(out, branch{"module." + name, providerTree(n.Children[name], hosts)})
	}
	return out
}

// tested iterates over the runs of a test file that test a separate module, with the module of each run.
func tested(l *loader.Loader, f *testfile.File) iter.Seq2[*testfile.Run, *config.Node] {
	return func(yield func(*testfile.Run, *config.Node) bool) {
		for _, r := range f.Runs {
			if n := l.All().Children[testfile.Key(f, r)]; n != nil && !yield(r, n) {
				return
			}
		}
	}
}

// testTree returns one branch for each test file. Below it are the runs that test a separate module, with the
// requirements of that module.
func testTree(l *loader.Loader, files []*testfile.File, hosts engine.Hosts) []branch {
	var out []branch
	for _, f := range files {
		of := branch{text: f.Key()}
		for r, n := range tested(l, f) {
			of.below = append(of.below, branch{"run." + r.Name, providerTree(n, hosts)})
		}
		out = append(out, of)
	}
	return out
}

// requirement is a provider that a module or the state requires.
type requirement struct {
	Test       string `json:"test,omitempty"`           // the test file, if a run tests the module
	Run        string `json:"run,omitempty"`            // the run in the test file
	Module     string `json:"module_address,omitempty"` // "" for the root module, the module under test and the state
	Name       string `json:"name"`                     // the address of the provider: host/namespace/type
	Constraint string `json:"version_constraint,omitempty"`
}

// providersDocument returns the requirements of the configuration and the state for JSON. s is nil if the state is
// missing or cannot be read. hosts completes addresses of providers that name no host.
func providersDocument(l *loader.Loader, files []*testfile.File, s *state.Snapshot, hosts engine.Hosts) any {
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
				doc.Configuration = append(doc.Configuration, requirement{test, run, path, hosts.Of(r.Source).String(), lockfile.Constraint(r.Versions)})
			}
		})
	}
	add(l.Tree.Root, "", "")
	for _, f := range files {
		for r, n := range tested(l, f) {
			add(n, f.Name, r.Name)
		}
	}
	if s != nil {
		for _, n := range plugins.StateNeeds(s, nil) {
			doc.State = append(doc.State, requirement{Name: n.Provider.String()})
		}
	}
	return doc
}
