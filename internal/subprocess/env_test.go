package subprocess

import (
	"slices"
	"testing"
)

func TestEnvironment(t *testing.T) {
	env := []string{"A=1", "TF_VAR_secret=x", "TF_CLI_ARGS_plan=-var=secret=x", "TF_CLI_ARGS=-no-color", "LETHE_PLAN_KEY=k", "LETHE_VERSION_KEY=k", "TF_ENCRYPTION=k", "AGE_IDENTITY=k", "B=2", "A=3", "C"}
	for name, want := range map[string]string{"A": "3", "B": "2", "C": "", "D": ""} {
		if got := Getenv(env, name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	got := Environ(env, func(name string) bool { return name == "B" })
	if want := []string{"A=1", "A=3", "C"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := Environ(env, nil); len(got) != 4 {
		t.Errorf("%q", got)
	}
}
