package backend

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
)

// WithoutInitVariable is the environment variable that permits the use of a backend that init has not set up.
const WithoutInitVariable = "LETHE_BACKEND_WITHOUT_INIT"

// notSetUp is the error about a backend that init has not set up.
func notSetUp(kind string) diag.Diagnostic {
	return diag.Errorf(initRequired, "Reason: Initial configuration of the requested backend %q\n\nThe backend stores the states of this directory. It must be initialized first, because another backend could have no state, and all objects would be created again.\n\nRun \"lethe init\", with -backend-config for settings that the block lacks. To use complete backend blocks without init, set the environment variable %s to true, or backend_without_init = true in the CLI configuration.\n\nNo changes to your existing configuration or state have been made.", kind, WithoutInitVariable)
}

// overtaken is the error about a saved plan for a former place of the state.
func overtaken(places string) diag.Diagnostic {
	return diag.Errorf("Backend configuration changed", "%s\n\nThe plan is for the former backend. Make a new plan. If the state in the former backend is the right one, restore the backend block of the plan, run \"lethe init -reconfigure\", and apply the plan.", places)
}

// The titles of errors about a backend that init has to set up, for the first time and again, as Terraform words them.
const (
	initRequired = "Backend initialization required, please run \"lethe init\""
	initAgain    = "Backend initialization required: please run \"lethe init\""
)

// uninitialized is the error about a backend that init must set up, for a reason. places are sentences about where the
// state was and will be.
func uninitialized(reason, places string) diag.Diagnostic {
	title := initRequired
	if !strings.HasPrefix(reason, "Initial") {
		title = initAgain
	}
	return diag.Errorf(title,
		"Reason: %s\n\n%s\n\nTo move the state, run: lethe init -migrate-state\nTo use the new backend without moving the state, run: lethe init -reconfigure\n\nNo changes to your existing configuration or state have been made.", reason, places)
}
