package initcmd

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/lethe-iac/lethe/internal/backend"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
)

// initBackend settles which store is used.
func (i *initialization) initBackend(ctx context.Context) bool {
	configured, ok := i.p.States().Init(ctx, backend.InitRequest{
		Overrides: i.f.backendConfig, Reconfigure: i.f.reconfigure, Migrate: i.f.migrate, ForceCopy: i.f.forceCopy,
		Lock: i.p.LockRequest(""), Setting: i.askSetting, Copies: i.askCopy, Rename: i.askName, Choose: i.askWorkspace, Unset: i.unset,
	})
	if configured != "" {
		i.p.UI.Step("backend_configured_success_message", fmt.Sprintf("\nSuccessfully configured the backend %q! Lethe will automatically\nuse this backend unless the backend configuration changes.", configured))
	}
	return ok
}

// unset says that states are kept in the directory from now on.
func (i *initialization) unset(was string) {
	i.p.UI.Step("backend_unset", fmt.Sprintf("\nSuccessfully unset the backend %q. Lethe will now operate locally.", was))
}

// askSetting asks for a setting of the backend.
func (i *initialization) askSetting(name, note string, secret bool) (string, bool) {
	if !i.p.MayAsk() {
		return "", false
	}
	return i.p.UI.Ask(base.Question{Title: name, Note: note, Secret: secret})
}

// askCopy asks whether existing states are to be copied to another backend.
func (i *initialization) askCopy(from, to string) (copies, answered bool) {
	if i.p.MayAsk() {
		text, ok := i.p.UI.Ask(base.Question{
			Title: "Do you want to copy existing state to the new backend?",
			Note:  fmt.Sprintf("Pre-existing state was found while migrating the previous %q backend to the\nnewly configured %q backend. Do you want to copy this state to the new %q\nbackend? Enter \"yes\" to copy and \"no\" to start with an empty state.", from, to, to),
		})
		if ok {
			return text == "yes", true
		}
	}
	if !i.p.Call.CutShort() {
		i.p.Bag.Add(diag.Errorf("Existing state would be left behind", "The previous backend %q has state, and no user can be asked whether it is to be copied to the newly configured %q. Use -force-copy to copy it, or -reconfigure to leave it where it is.", from, to))
	}
	return false, false
}

// askName asks what the default workspace is to be called in a backend that has none.
func (i *initialization) askName() string {
	if !i.p.MayAsk() {
		return ""
	}
	name, _ := i.p.UI.Ask(base.Question{
		Title: "Please provide a name for the default workspace:",
		Note:  "The new backend has no workspace \"default\". Its state is copied to one of the\nname that you enter.",
	})
	return name
}

// askWorkspace asks which workspace is to be selected: by its number, as Terraform does, or by its name.
func (i *initialization) askWorkspace(selected string, names []string) string {
	if !i.p.MayAsk() {
		return ""
	}
	note := "This is expected where the backend has other workspaces than this directory\nused so far. Please enter a number to select a workspace:\n"
	for n, name := range names {
		note += fmt.Sprintf("\n%d. %s", n+1, name)
	}
	text, _ := i.p.UI.Ask(base.Question{Title: fmt.Sprintf("The currently selected workspace (%s) does not exist.", selected), Note: note})
	if n, err := strconv.Atoi(text); err == nil && n > 0 && n <= len(names) {
		return names[n-1]
	}
	if slices.Contains(names, text) {
		return text
	}
	return ""
}
