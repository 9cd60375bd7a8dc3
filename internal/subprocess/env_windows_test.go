package subprocess

import (
	"slices"
	"testing"
)

// TestNamesWithoutCase checks that the case of the names of variables does not matter.
func TestNamesWithoutCase(t *testing.T) {
	env := []string{"Path=p", "tf_var_x=canary", "lethe_plan_key=canary", "Tf_Cli_Args=canary", "TF_LOG=a", "tf_log=b"}
	for name, want := range map[string]string{"PATH": "p", "TF_LOG": "b", "Lethe_Plan_Key": "canary", "TF": ""} {
		if got := Getenv(env, name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := Environ(env, func(name string) bool { return name == "TF_LOG" }); !slices.Equal(got, []string{"Path=p"}) {
		t.Errorf("passed on: %q", got)
	}
	if name, ok := CutPrefix("tf_var_x", "TF_VAR_"); !ok || name != "x" {
		t.Error(name, ok)
	}
}
