package subprocess

import (
	"slices"
	"strings"
)

// Getenv looks a variable up in an environment of "name=value", where the last one counts; "" if it
// is not set.
func Getenv(env []string, name string) string {
	for _, e := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// PlanKey is the variable with the key that saved plans are sealed with.
const PlanKey = "LETHE_PLAN_KEY"

// keys are variables with keys that are for nobody but us: of saved plans, and of states and plans that are encrypted.
var keys = []string{PlanKey, "TF_ENCRYPTION", "AGE_IDENTITY"}

// Environ is the part of an environment that a program gets: what is withheld are the values of
// variables (TF_VAR_*) and arguments of commands (TF_CLI_ARGS*), among which there may be secrets,
// our keys, and what else the caller says.
func Environ(env []string, withheld func(name string) bool) []string {
	out := make([]string, 0, len(env)+8)
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(name, "TF_VAR_") && !strings.HasPrefix(name, "TF_CLI_ARGS") && !slices.Contains(keys, name) && (withheld == nil || !withheld(name)) {
			out = append(out, e)
		}
	}
	return out
}
