package state

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

// terraform returns a function that runs Terraform in a directory with the given state. It skips the test if Terraform
// is not installed.
func terraform(t *testing.T) func(state []byte, args ...string) ([]byte, error) {
	t.Helper()
	path, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("Terraform is not on the PATH, so nobody can say whether it reads what we write")
	}
	dir := t.TempDir()
	return func(state []byte, args ...string) ([]byte, error) {
		if err := os.WriteFile(filepath.Join(dir, "terraform.tfstate"), state, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(path, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE=/dev/null", "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1")
		var out, problems bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &problems
		err := cmd.Run()
		if err != nil {
			t.Logf("terraform %s: %v\n%s\n%s", strings.Join(args, " "), err, problems.Bytes(), state)
		}
		return out.Bytes(), err
	}
}

// TestTerraformShowsOurs checks that terraform show prints Lethe's copy of a state like the original.
func TestTerraformShowsOurs(t *testing.T) {
	run := terraform(t)
	theirs := testdata(t, "terraform-1.11.4.tfstate")
	s := mustRead(t, theirs)
	show := func(data []byte) any {
		out, err := run(data, "show", "-json", "terraform.tfstate")
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(out, &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	if diff := cmp.Diff(show(theirs), show(mustWrite(t, s))); diff != "" {
		t.Error(diff)
	}

	var bag diag.Bag
	s, ok := s.Taint(parse(t, "terraform_data.one").Instance, &bag)
	if !ok {
		t.Fatal(bag.List())
	}
	s, _, _, ok = s.Mv(target(t, "module.m"), target(t, "module.other"), nil, &bag)
	if !ok {
		t.Fatal(bag.List())
	}
	s, _, ok = s.Remove([]addr.Target{target(t, "terraform_data.c[0]")}, &bag)
	if !ok {
		t.Fatal(bag.List())
	}
	next, _ := Next(mustRead(t, theirs), s, "1.12.0")
	out, err := run(mustWrite(t, next), "state", "list")
	if err != nil {
		t.Fatal(err)
	}
	want := `data.terraform_remote_state.r
terraform_data.c[1]
terraform_data.e["a"]
terraform_data.e["b\"q.<>"]
terraform_data.one
module.other["k1"].terraform_data.x[0]
module.other["k1"].terraform_data.x[1]
module.other["k1"].module.deep.terraform_data.y
`
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Error(diff)
	}
	if shown := show(mustWrite(t, next)); !strings.Contains(string(mustJSON(t, shown)), `"tainted":true`) {
		t.Error("the taint is not shown")
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTerraformPullsOurs checks that Terraform reads random states that Lethe writes, and returns them without the
// fields that Terraform does not know.
func TestTerraformPullsOurs(t *testing.T) {
	run := terraform(t)
	for seed := range 20 { // few examples, because each starts a process
		s := genSnapshot.Example(seed)
		data := mustWrite(t, s)
		out, err := run(data, "state", "pull")
		if err != nil {
			t.Fatal(err)
		}
		want, got := known(mustRead(t, data)), known(mustRead(t, out))
		if !Equal(want, got) {
			t.Fatalf("Terraform gives back something else: %s\n%s\n%s", difference(want, got), data, out)
		}
	}
}

// known returns a snapshot without the fields that Terraform 1.11 drops.
func known(s *Snapshot) *Snapshot {
	e := s.Edit()
	for o, old := range s.Objects() {
		n := *old
		n.Extra, n.Identity, n.IdentitySchema, n.SkipDestroy, n.Protected = nil, nil, 0, false, false
		e.Put(o, &n)
	}
	for name, o := range s.Outputs {
		o.Deprecated = ""
		e.Output(name, o)
	}
	e.Head().Extra = nil
	return e.Done()
}
