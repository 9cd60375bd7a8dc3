package subprocess

import (
	"runtime"
	"slices"
	"strings"
)

// Getenv returns the value of a variable in an environment of "name=value", or "" if it is not set. If the environment
// has several entries for the variable, the last counts. On Windows, the case of names does not matter.
func Getenv(env []string, name string) string {
	for _, e := range slices.Backward(env) {
		if n := len(name); len(e) > n && e[n] == '=' && sameName(e[:n], name) {
			return e[n+1:]
		}
	}
	return ""
}

func sameName(a, b string) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// CutPrefix returns the name of a variable without a prefix, and true if the name has the prefix. Otherwise it returns
// the name unchanged and false. On Windows, the case of the prefix does not matter.
func CutPrefix(name, prefix string) (rest string, found bool) {
	if len(name) < len(prefix) || !sameName(name[:len(prefix)], prefix) {
		return name, false
	}
	return name[len(prefix):], true
}

// PlanKey is the environment variable with the key that seals saved plans.
const PlanKey = "LETHE_PLAN_KEY"

// VersionKey is the environment variable with the key of the digests of lethe_secret_version.
const VersionKey = "LETHE_VERSION_KEY"

// keys are variables whose keys only Lethe needs: for saved plans, for encrypted states and plans, and for digests.
var keys = []string{PlanKey, VersionKey, "TF_ENCRYPTION", "AGE_IDENTITY"}

// Environ returns the environment for a program. It withholds values of variables (TF_VAR_*) and arguments of commands
// (TF_CLI_ARGS*), which may contain secrets, Lethe's keys, and the variables for which withheld returns true. withheld
// may be nil. On Windows, withheld receives names in capital letters, because the case of names does not matter there.
func Environ(env []string, withheld func(name string) bool) []string {
	out := make([]string, 0, len(env)+8)
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		if runtime.GOOS == "windows" {
			name = strings.ToUpper(name)
		}
		if !strings.HasPrefix(name, "TF_VAR_") && !strings.HasPrefix(name, "TF_CLI_ARGS") && !slices.Contains(keys, name) && (withheld == nil || !withheld(name)) {
			out = append(out, e)
		}
	}
	return out
}
