package devcmd

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/zclconf/go-cty/cty"
)

// Modules is `modules`.
var Modules = &base.Command{
	Name: "modules", Short: "Show all declared modules in a working directory",
	Long: "Prints out a list of all declared modules and their resolved versions.",
	Examples: [][2]string{
		{"lethe modules", "Show which modules call which"},
		{"lethe modules -json", "Give them to a program"},
	},
	Setup: base.Flags(func(c *base.Call, f *project.Options) {
		c.DocumentFlags()
		f.VarFlags(c)
	}, runModules),
}

func runModules(_ context.Context, c *base.Call, f *project.Options) int {
	p, ok := project.Open(c, f)
	if !ok || !p.Load() {
		return c.UI.DoneQuiet()
	}
	switch {
	case c.ForPrograms() && c.UI.Into(modulesDocument(p.Tree)):
	case len(p.Tree.Root.Children) == 0:
		c.UI.Print("No modules found in configuration.\n")
	default:
		c.UI.Print("\nModules declared by configuration:\n.\n" + drawn(moduleTree(p.Tree.Root), "") + "\n")
	}
	return c.UI.DoneQuiet()
}

// modulesDocument lists the modules for programs.
func modulesDocument(tree *config.Tree) any {
	type module struct {
		Key     string `json:"key"`
		Source  string `json:"source"`
		Version string `json:"version"`
	}
	var doc struct {
		Format  string   `json:"format_version"`
		Modules []module `json:"modules"`
	}
	doc.Format = "1.0"
	tree.Root.Walk(func(n *config.Node) {
		if n.Parent != nil {
			doc.Modules = append(doc.Modules, module{n.Call.Name, n.Source, n.Version})
		}
	})
	return doc
}

// moduleTree is what a module calls.
func moduleTree(n *config.Node) []branch {
	var out []branch
	for _, name := range slices.Sorted(maps.Keys(n.Children)) {
		child := n.Children[name]
		text := fmt.Sprintf("%q[%s]", name, child.Source)
		if child.Version != "" {
			text += " " + child.Version + constraint(child.Call)
		}
		out = append(out, branch{text, moduleTree(child)})
	}
	return out
}

// constraint is the version argument of a call, in brackets; "" where it has none that is plain text.
func constraint(c *config.Call) string {
	if c.Versions == nil {
		return ""
	}
	v, ds := c.Versions.Value(nil)
	if ds.HasErrors() || v.IsNull() || !v.Type().Equals(cty.String) {
		return ""
	}
	return " (" + v.AsString() + ")"
}
