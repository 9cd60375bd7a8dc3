package devcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/lethe-iac/lethe/internal/limits"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/fetch"
)

// Version is `version`.
var Version = &base.Command{
	Name: "version", Short: "Show the current Lethe version",
	Long: `Displays the level of the language that Lethe speaks, which is what
required_version is held against, its own release, and the plugins that the
working directory has selected.`,
	Setup: jsonOnly(runVersion),
}

func runVersion(_ context.Context, c *base.Call) int {
	selections := map[string]string{}
	lock, ok := fetch.ReadLockfile(c.Dir, limits.Limits{}, c.Sources, &c.Bag)
	if ok {
		for _, l := range lock.Providers() {
			selections[l.Provider.String()] = l.Version
		}
	}
	if c.View.JSON {
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
		c.UI.Print(string(text) + "\n")
		return base.ExitOK
	}
	c.UI.Print(fmt.Sprintf("%s v%s\non %s_%s\nLethe release %s, compatible with OpenTofu v%s\n", c.Product(), base.Version, runtime.GOOS, runtime.GOARCH, base.Release, base.Version))
	for _, name := range slices.Sorted(maps.Keys(selections)) {
		c.UI.Print(fmt.Sprintf("+ provider %s v%s\n", name, selections[name]))
	}
	return base.ExitOK
}
