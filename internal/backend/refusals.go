package backend

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
)

// WithoutInitVariable is the environment variable that permits the use of a backend that init has not set up.
const WithoutInitVariable = "LETHE_BACKEND_WITHOUT_INIT"

// notSetUp refuses to use a backend that init has not set up.
func (d *Directory) notSetUp(kind string) {
	d.Env.Bag.Add(diag.Errorf(initRequired, "Reason: Initial configuration of the requested backend %q\n\nThe \"backend\" says where the states of this directory are kept, and \"lethe init\" sets it up: it takes what the block does not have from -backend-config, opens the backend once, and remembers it in this directory. Without that, the state might be looked for in another place, where nothing is found, and everything would be created again.\n\nRun \"lethe init\", with the options that this configuration needs. To use backends without it, as far as their blocks say everything, set the environment variable %s to true, or backend_without_init = true in the CLI configuration.\n\nNo changes to your existing configuration or state have been made.", kind, WithoutInitVariable))
}

// overtaken refuses a saved plan for a place where the state was kept before.
func (d *Directory) overtaken(places string) {
	d.Env.Bag.Add(diag.Errorf("Backend configuration changed", "%s\n\nThe plan is for the former place. Make a new plan. Only if the state in the former place is the one in use: put the backend block back as it was when the plan was made, run \"lethe init -reconfigure\", and apply the plan then.", places))
}

// The titles of errors about a backend that init has to set up, for the first time and again, as Terraform words them.
const (
	initRequired = "Backend initialization required, please run \"lethe init\""
	initAgain    = "Backend initialization required: please run \"lethe init\""
)

func (d *Directory) uninitialized(reason, places string) {
	title := initRequired
	if !strings.HasPrefix(reason, "Initial") {
		title = initAgain
	}
	d.Env.Bag.Add(diag.Errorf(title,
		"Reason: %s\n\n%s\n\nTo move the state, run: lethe init -migrate-state\nTo use the backend as it is configured now, and leave the state where it is, run: lethe init -reconfigure\n\nNo changes to your existing configuration or state have been made.", reason, places))
}
