package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"github.com/lethe-iac/lethe/internal/limits"
	"runtime"

	"github.com/lethe-iac/lethe/internal/fetch"
)

// Version is the program's number. Its minor part is the level of the language that it speaks.
const Version = "1.12.0"

var versionCommand = &Command{
	Name: "version", Short: "Show the current Lethe version",
	Long:  "Displays the version of Lethe and all installed plugins.",
	Flags: func(c *call) { c.jsonFlag() },
	Run:   runVersion,
}

func runVersion(_ context.Context, c *call) int {
	selections := map[string]string{}
	lock, ok := fetch.ReadLockfile(c.Dir, limits.Limits{}, c.sources, &c.bag)
	if ok {
		for _, l := range lock.Providers() {
			selections[l.Provider.String()] = l.Version
		}
	}
	if c.opts.json {
		text, err := json.MarshalIndent(struct {
			Version    string            `json:"terraform_version"`
			Platform   string            `json:"platform"`
			Selections map[string]string `json:"provider_selections"`
			Outdated   bool              `json:"terraform_outdated"`
			Engine     string            `json:"engine"`
		}{Version, fetch.Platform(), selections, false, "lethe"}, "", "  ")
		if err != nil {
			panic(err)
		}
		c.ui.print(string(text) + "\n")
		return exitOK
	}
	is := ""
	if c.product() != "Lethe" {
		is = fmt.Sprintf("Lethe v%s, ", Version)
	}
	c.ui.print(fmt.Sprintf("%s v%s\non %s_%s\n%scompatible with OpenTofu v%s\n", c.product(), Version, runtime.GOOS, runtime.GOARCH, is, Version))
	for _, name := range sortedNames(selections) {
		c.ui.print(fmt.Sprintf("+ provider %s v%s\n", name, selections[name]))
	}
	return exitOK
}
