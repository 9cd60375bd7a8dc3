package initcmd

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/lethe-iac/lethe/internal/backend"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/operation"
)

// initBackend selects the backend and configures it. If the settings of the backend are invalid or the backend cannot
// be used, it reports an error and returns false.
func (i *initialization) initBackend(ctx context.Context) bool {
	configured, ok := i.states.Backend.Init(ctx, backend.InitRequest{
		Overrides: i.f.backendConfig, Reconfigure: i.f.reconfigure, Migrate: i.f.migrate, ForceCopy: i.f.forceCopy,
		Lock: i.states.Request(operation.None), Setting: i.askSetting, Copies: i.askCopy, Rename: i.askName, Choose: i.askWorkspace, Unset: i.unset,
	})
	if configured != "" {
		i.c.UI.Step("backend_configured_success_message", fmt.Sprintf("\nSuccessfully configured the backend %q! Lethe will automatically\nuse this backend unless the backend configuration changes.", configured))
	}
	return ok
}

// unset prints that the directory no longer uses its backend, and that its states are local now. The argument was is
// the type of the backend.
func (i *initialization) unset(was string) {
	i.c.UI.Step("backend_unset", fmt.Sprintf("\nSuccessfully unset the backend %q. Lethe will now operate locally.", was))
}

func (i *initialization) askSetting(name, note string, secret bool) (string, bool) {
	if !i.dir.MayAsk() {
		return "", false
	}
	return i.c.UI.Ask(base.Question{Title: name, Note: note, Secret: secret})
}

// askCopy asks whether to copy existing states from one backend to another. from and to are the types of the backends.
// copies is true if the user answered "yes". If no user can be asked or the user gives no answer, answered is false,
// and askCopy reports an error unless an interrupt came.
func (i *initialization) askCopy(from, to string) (copies, answered bool) {
	if i.dir.MayAsk() {
		text, ok := i.c.UI.Ask(base.Question{
			Title: "Do you want to copy existing state to the new backend?",
			Note:  fmt.Sprintf("Pre-existing state was found while migrating the previous %q backend to the\nnewly configured %q backend. Do you want to copy this state to the new %q\nbackend? Enter \"yes\" to copy and \"no\" to start with an empty state.", from, to, to),
		})
		if ok {
			return text == "yes", true
		}
	}
	if !i.c.Interrupted() {
		i.c.Bag.Add(diag.Errorf("Existing state would be left behind", "The previous backend %q has state, and input is off, so init cannot ask whether to copy it to %q. Use -force-copy to copy it, or -reconfigure to leave it there.", from, to))
	}
	return false, false
}

// askName asks for a new name for the default workspace. Package backend calls it if the new backend does not support
// the name "default". It returns "" if no user can be asked or the user gives no answer.
func (i *initialization) askName() string {
	if !i.dir.MayAsk() {
		return ""
	}
	name, _ := i.c.UI.Ask(base.Question{
		Title: "Please provide a name for the default workspace:",
		Note:  "The new backend has no workspace \"default\". Its state is copied to one of the\nname that you enter.",
	})
	return name
}

// askWorkspace asks which of the workspaces in names to select, because the selected workspace does not exist. An
// answer is the number of a workspace, from 1 as in Terraform, or its name. askWorkspace returns "" if no user can be
// asked or the answer is invalid.
func (i *initialization) askWorkspace(selected string, names []string) string {
	if !i.dir.MayAsk() {
		return ""
	}
	note := "This is expected if the backend has other workspaces than this directory\nhas used before. Please enter a number to select a workspace:\n"
	for n, name := range names {
		note += fmt.Sprintf("\n%d. %s", n+1, name)
	}
	text, _ := i.c.UI.Ask(base.Question{Title: fmt.Sprintf("The currently selected workspace (%s) does not exist.", selected), Note: note})
	if n, err := strconv.Atoi(text); err == nil && n > 0 && n <= len(names) {
		return names[n-1]
	}
	if slices.Contains(names, text) {
		return text
	}
	return ""
}
