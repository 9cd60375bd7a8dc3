package workspacecmd

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// List is the command `workspace list`.
var List = &base.Command{
	Name: "workspace list", Short: "List workspaces",
	Long:   "List workspaces. A star marks the selected workspace.",
	Result: true,
	Examples: [][2]string{
		{"lethe workspace list -json", "Print the workspaces as JSON"},
	},
	Setup: base.Flags(func(c *base.Call, f *workdir.Options) {
		f.VarFlags(c)
		c.DocumentFlags()
	}, runList),
}

func runList(ctx context.Context, c *base.Call, f *workdir.Options) int {
	env := workdir.Workspaces(c)
	if !env.CheckName(env.Selected()) {
		return c.UI.Fail()
	}
	_, names, ok := open(ctx, c, f)
	if !ok {
		return c.UI.Fail()
	}
	if w := env.Selected(); !slices.Contains(names, w) && w != store.Default { // the workspace will be created when a command stores a state in it
		names = append(names, w)
	}
	if c.ForPrograms() && c.UI.Into(listDocument(names, env.Selected())) {
		return c.UI.DoneDocument()
	}
	for _, n := range names {
		mark := "  "
		if n == env.Selected() {
			mark = "* "
		}
		c.UI.Print(mark + n + "\n")
	}
	c.UI.Print("\n")
	if c.Getenv(workspace.Variable) != "" {
		c.UI.Print("The active workspace is being overridden using the TF_WORKSPACE environment\nvariable.\n\n")
	}
	return c.UI.Done(base.ExitOK)
}

// listDocument returns the JSON document that lists workspaces by their names. The argument selected is the selected
// workspace.
func listDocument(names []string, selected string) any {
	type entry struct {
		Name      string `json:"name"`
		IsCurrent bool   `json:"is_current"`
	}
	doc := struct {
		FormatVersion string  `json:"format_version"`
		Workspaces    []entry `json:"workspaces"`
		Diagnostics   []any   `json:"diagnostics"`
	}{"1.0", []entry{}, []any{}}
	for _, n := range names {
		doc.Workspaces = append(doc.Workspaces, entry{n, n == selected})
	}
	return doc
}
