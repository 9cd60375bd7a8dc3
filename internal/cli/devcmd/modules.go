package devcmd

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/loader"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/zclconf/go-cty/cty"
)

// Modules is the command `modules`.
var Modules = &base.Command{
	Name: "modules", Short: "Show all declared modules in a working directory",
	Long: "Prints out a list of all declared modules and their resolved versions.",
	Examples: [][2]string{
		{"lethe modules", "Show which modules call which"},
		{"lethe modules -json", "Print them as JSON"},
	},
	Setup: base.Flags(func(c *base.Call, f *workdir.Options) {
		c.DocumentFlags()
		f.VarFlags(c)
	}, runModules),
}

func runModules(_ context.Context, c *base.Call, f *workdir.Options) int {
	d, ok := workdir.Open(c, f)
	if !ok {
		return c.UI.DoneDocument()
	}
	l := loader.New(d)
	if !l.Load() {
		return c.UI.DoneDocument()
	}
	switch {
	case c.ForPrograms() && c.UI.Into(modulesDocument(l.Tree)):
	case len(l.Tree.Root.Children) == 0:
		c.UI.Print("No modules found in configuration.\n")
	default:
		c.UI.Print("\nModules declared by configuration:\n.\n" + drawn(moduleTree(l.Tree.Root), "") + "\n")
	}
	return c.UI.DoneDocument()
}

// modulesDocument returns the list of called modules, without the root module, for JSON.
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

// moduleTree returns the module calls of a module as branches, in the order of their names. The calls of a called
// module are below its branch.
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

// constraint returns the version argument of a call in parentheses, or "" if it is missing or not a constant string.
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
