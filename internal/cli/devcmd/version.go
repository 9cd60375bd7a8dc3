package devcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/fetch"
	"github.com/lethe-iac/lethe/internal/limits"
)

// Version is the command `version`.
var Version = &base.Command{
	Name: "version", Counts: true, Short: "Show the current Lethe version",
	Long: `Shows the version of the language (required_version is compared with it), the
release of Lethe, and the selected provider versions of the working directory.`,
	Examples: [][2]string{
		{"lethe version", "Show versions of Lethe and of providers"},
		{"lethe version -json", "Print them as JSON"},
	},
	Setup: jsonOnly(runVersion),
}

func runVersion(_ context.Context, c *base.Call) int {
	selections := map[string]string{}
	var broken diag.Bag // a broken lock file does not matter here
	lock, ok := fetch.ReadLockfile(c.Dir, limits.Limits{}, c.Sources, &broken)
	if ok {
		for _, l := range lock.Providers() {
			selections[l.Provider.String()] = l.Version
		}
	}
	if c.ForPrograms() {
		text, err := json.MarshalIndent(struct {
			Version    string            `json:"terraform_version"`
			Platform   string            `json:"platform"`
			Selections map[string]string `json:"provider_selections"`
			Outdated   bool              `json:"terraform_outdated"`
			Engine     string            `json:"engine"`
			Release    string            `json:"lethe_version"`
		}{base.Version, fetch.Platform(), selections, false, "lethe", base.Release}, "", "  ")
		if err != nil {
			panic(err)
		}
		alone, err := c.Document(func(w io.Writer) error { _, err := w.Write(append(text, '\n')); return err })
		if alone || err != nil {
			return c.UI.DoneDocument()
		}
	}
	c.UI.Print(fmt.Sprintf("%s v%s\non %s_%s\nLethe release %s, compatible with OpenTofu v%s\n", c.Product(), base.Version, runtime.GOOS, runtime.GOARCH, base.Release, base.Version))
	for _, name := range slices.Sorted(maps.Keys(selections)) {
		c.UI.Print(fmt.Sprintf("+ provider %s v%s\n", name, selections[name]))
	}
	return c.UI.DoneDocument()
}
