package backend

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

// WithoutInitVariable is the environment variable that permits the use of a backend that init has not set up.
const WithoutInitVariable = "LETHE_BACKEND_WITHOUT_INIT"

// notSetUp is the error about a backend that init has not set up.
func notSetUp(b *config.Backend) diag.Diagnostic {
	other := fmt.Sprintf(" To use complete backend blocks without init, set the environment variable %s to true, or backend_without_init = true in the CLI configuration.", WithoutInitVariable)
	if b.Store {
		other = " It also installs the provider of the state store, and locks its version."
	}
	return diag.Errorf(initRequired, "Reason: Initial configuration of the requested backend %q\n\nThe backend stores the states of this directory. It must be initialized first, because another backend could have no state, and all objects would be created again.\n\nRun \"lethe init\", with -backend-config for settings that the block lacks.%s\n\nNo changes to your existing configuration or state have been made.", b.Type, other)
}

// overtaken returns the error for a saved plan whose state has moved to another backend. places are sentences about
// both places.
func overtaken(places string) diag.Diagnostic {
	return diag.Errorf("Backend configuration changed", "%s\n\nThe plan is for the former backend. Make a new plan. If the state in the former backend is the right one, restore the backend block of the plan, run \"lethe init -reconfigure\", and apply the plan.", places)
}

// The titles of errors about a backend that init must set up: for the first time, and again. The words are Terraform's.
const (
	initRequired = "Backend initialization required, please run \"lethe init\""
	initAgain    = "Backend initialization required: please run \"lethe init\""
)

// uninitialized returns the error for a backend that init must set up. reason follows "Reason:". places are sentences
// about the former and the new place of the state.
func uninitialized(reason, places string) diag.Diagnostic {
	title := initRequired
	if !strings.HasPrefix(reason, "Initial") {
		title = initAgain
	}
	return diag.Errorf(title,
		"Reason: %s\n\n%s\n\nTo move the state, run: lethe init -migrate-state\nTo use the new backend without moving the state, run: lethe init -reconfigure\n\nNo changes to your existing configuration or state have been made.", reason, places)
}

// otherVersion returns the error for a state store whose provider now has another version than the recorded version. It
// returns false if the versions are equal, if no version is recorded (was is nil), or if the user has chosen the
// program of the provider.
func (s settings) otherVersion(was *pinned) (diag.Diagnostic, bool) {
	if was == nil || s.version == "" || was.Version == s.version {
		return diag.Diagnostic{}, false
	}
	return diag.Errorf(initAgain, "Reason: The version of the provider that stores the state has changed\n\nThe state store %q is of the provider %s. Its version was %s, and the lock file now selects %s. Another version may read the state in another way.\n\nTo use the selected version, run: lethe init\nTo use the former version, restore the lock file.", s.driver.Name, s.provider.ForDisplay(), cmp.Or(was.Version, "that of a development override"), s.version), true
}
