package logincmd

import (
	"context"
	"fmt"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Logout is the command `logout`.
var Logout = &base.Command{
	Name: "logout", Args: "<hostname>", Short: "Remove locally-stored credentials for a remote host",
	Long: "Removes the token that login saved for a host. It does not revoke the token\non the host.",
	Examples: [][2]string{
		{"lethe logout registry.acme.corp", "Remove the token from this machine"},
	},
	Setup: base.NoFlags(runLogout),
}

func runLogout(ctx context.Context, c *base.Call) int {
	a, ok := begin(c)
	if !ok {
		return c.UI.Fail()
	}
	found, err := a.kept.Forget(ctx, a.host)
	switch {
	case err != nil:
		c.Bag.Add(diag.Errorf("Failed to remove the token", "The token for %s cannot be removed: %s.", a.host, err))
	case !found:
		c.UI.Print(fmt.Sprintf("No credentials for %s are stored.\n", a.host))
	default:
		c.UI.Print(c.Renamed(fmt.Sprintf("Removing the stored credentials for %s from %s.\n\nSuccess! Lethe has removed the stored API token for %s.\n", a.host, a.kept.Keeper(), a.host)))
	}
	return c.UI.Done(base.ExitOK)
}
