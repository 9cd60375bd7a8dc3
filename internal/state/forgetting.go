package state

import (
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
)

// Forgetting is the setting that decides which results of data sources are omitted from states, plan files and
// journals.
type Forgetting uint8

// The settings.
const (
	ForgetNone      Forgetting = iota // all results are stored
	ForgetSensitive                   // results with sensitive parts are not stored
	ForgetAll                         // no result is stored
)

var forgettingNames = [...]string{"none", "sensitive", "all"}

// ParseForgetting returns the setting with a name: "none", "sensitive" or "all". It returns an error for other names.
func ParseForgetting(name string) (Forgetting, error) {
	i := slices.Index(forgettingNames[:], name)
	if i < 0 {
		return ForgetNone, fmt.Errorf("must be \"sensitive\", \"all\" or \"none\", not %q. It selects the results of data sources that are not stored", name)
	}
	return Forgetting(i), nil
}

// Forgets reports whether the result of a data source is not stored. sensitive is true if the result or the schema has
// sensitive parts. The sensitive outputs of another state have no marks, so terraform_remote_state counts as sensitive.
func (f Forgetting) Forgets(res addr.Resource, sensitive bool) bool {
	switch {
	case res.Mode != addr.Data || f == ForgetNone:
		return false
	case f == ForgetAll:
		return true
	}
	return sensitive || res.Type == "terraform_remote_state"
}
