package stores

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/lethe-iac/lethe/internal/subprocess/waittest"
)

// playground builds a provider of the tests at the first call, and returns the directory of its program.
var playground = sync.OnceValues(func() (string, error) {
	ours, err := lethe()
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-o", filepath.Dir(ours), "./cmd/terraform-provider-playground")
	cmd.Dir = "../providers"
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the provider: %w\n%s", err, out)
	}
	return filepath.Dir(ours), nil
})

// cloud is a configuration whose last object takes a while to create.
const cloud = `
terraform {
  required_providers {
    playground = {
      source = "lethe/playground"
    }
  }
}
variable "delay" {
  default = "0s"
}
resource "playground_thing" "first" {
  name = "first"
}
resource "playground_thing" "late" {
  name  = "late"
  delay = var.delay
  depends_on = [playground_thing.first]
}
resource "playground_thing" "other" {
  name = "other"
}
`

// fleet is a set of machines (working directories) with one state and one cloud (a directory with the objects of the
// provider).
type fleet struct {
	*testing.T
	program, bin, real string // the path of Lethe, the directory of the provider, and the directory of the cloud's objects
	p                  place
}

// newFleet returns a fleet with the state p and an empty cloud, without machines.
func newFleet(t *testing.T, p place) *fleet {
	ours, err := lethe()
	check(t, err)
	bin, err := playground()
	check(t, err)
	return &fleet{t, ours, bin, t.TempDir(), p}
}

// machine returns a new working directory with the configuration cloud, in which init has run.
func (f *fleet) machine() *directory {
	f.Helper()
	dir := f.TempDir()
	rc := filepath.Join(dir, ".rc")
	more := []byte{} // settings for the host of the backends remote and cloud
	for _, v := range f.p.env {
		if path, ok := strings.CutPrefix(v, "TF_CLI_CONFIG_FILE="); ok {
			var err error
			more, err = os.ReadFile(path)
			check(f.T, err)
		}
	}
	check(f.T, os.WriteFile(rc, append(more, []byte("provider_installation {\n  dev_overrides {\n    \"registry.opentofu.org/lethe/playground\" = \""+f.bin+"\"\n    \"registry.terraform.io/lethe/playground\" = \""+f.bin+"\"\n  }\n}\n")...), 0o600))
	u := &directory{f.T, f.program, dir, append(append(os.Environ(), f.p.env...), "TF_INPUT=0", "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_CLI_CONFIG_FILE="+rc,
		"PLAYGROUND_CLOUD="+f.real, "PLAYGROUND_IDS=name", "PLAYGROUND_ORPHAN=0s", "PLAYGROUND_LOG_BEGIN=1", "PLAYGROUND_LOG="+filepath.Join(dir, ".calls"))}
	u.configure(cloud + f.p.backend)
	u.run(0, "init")
	return u
}

// making starts an apply of the last object and its dependency on a machine, and waits until the provider is creating
// the last object. The argument delay is the time that the creation takes, for example "6s". keeper is the process ID
// of the run's keeper.
func (f *fleet) making(u *directory, delay string) (cmd *exec.Cmd, keeper int) {
	f.Helper()
	cmd = u.cmd("apply", "-auto-approve", "-target=playground_thing.late", "-var", "delay="+delay)
	check(f.T, cmd.Start())
	waittest.Until(f.T, "the last object is being created", func() bool {
		log, _ := os.ReadFile(filepath.Join(u.dir, ".calls"))
		return slices.ContainsFunc(bytes.Split(log, []byte("\n")), func(line []byte) bool {
			return bytes.Contains(line, []byte("ApplyResourceChange")) && bytes.Contains(line, []byte(`"phase":"begin"`)) && bytes.Contains(line, []byte("late"))
		})
	})
	if keeper = child(cmd.Process.Pid, "_keep"); keeper == 0 {
		f.Fatal("there is no keeper")
	}
	return cmd, keeper
}

// child returns the ID of a child process whose last command-line argument is last, or 0 if no such process exists. The
// parameter of is the ID of the parent process.
func child(of int, last string) int {
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range all {
		text, _ := os.ReadFile(stat)
		_, rest, _ := strings.Cut(string(text), ") ")
		args, _ := os.ReadFile(filepath.Join(filepath.Dir(stat), "cmdline"))
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(of) && bytes.HasSuffix(args, []byte("\x00"+last+"\x00")) {
			id, _ := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
			return id
		}
	}
	return 0
}

// loseWith kills an engine, waits for the end of its keeper, and removes their machine.
func loseWith(u *directory, cmd *exec.Cmd, keeper int) {
	u.Helper()
	check(u.T, cmd.Process.Kill())
	_ = cmd.Wait()
	gone(u.T, keeper)
	check(u.T, os.RemoveAll(u.dir))
}

// gone waits until a process has ended, even if its parent has not waited for it.
func gone(t *testing.T, id int) {
	t.Helper()
	waittest.Until(t, fmt.Sprintf("process %d has ended", id), func() bool {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
		_, rest, _ := strings.Cut(string(state), ") ")
		return err != nil || strings.HasPrefix(rest, "Z")
	})
}

// free releases the lock of a crashed run if the lock outlives the run.
func free(u *directory) {
	u.Helper()
	if out := u.run2("plan"); strings.Contains(out, "Error acquiring the state lock") {
		_, id, _ := strings.Cut(out, "ID: ")
		id, _, _ = strings.Cut(strings.TrimSpace(id), "\n")
		u.run(0, "force-unlock", "-force", strings.TrimSpace(id))
	}
}

// TestKeeperInS3 checks that the keeper of a crashed run uploads its records to the bucket, without credentials for the
// bucket.
func TestKeeperInS3(t *testing.T) {
	t.Parallel()
	b := &bucket{}
	url := startS3(t, b.around)
	t.Run("recorded", func(t *testing.T) {
		f := newFleet(t, s3Place(url, "a", journalOn))
		u := f.machine()
		cmd, keeper := f.making(u, "1500ms")
		loseWith(u, cmd, keeper)
		next := f.machine()
		free(next)
		out := next.run(0, "apply", "-auto-approve")
		wants(t, out, "Recovered an interrupted run", "2 changes were recovered", "1 added, 1 changed, 0 destroyed")
		if strings.Contains(out, "Outcome unknown") {
			t.Errorf("what the keeper recorded is not known:\n%s", out)
		}
		none(t, url)
	})
	t.Run("too late", func(t *testing.T) { // another run has written the state before the keeper's upload
		f := newFleet(t, s3Place(url, "b", journalOn))
		u := f.machine()
		cmd, keeper := f.making(u, "6s")
		check(t, cmd.Process.Kill())
		_ = cmd.Wait()
		next := f.machine()
		free(next)
		wants(t, next.run(0, "apply", "-auto-approve", "-target=playground_thing.other"), "Recovered an interrupted run", `playground_thing.late: the outcome of "create" is unknown`)
		none(t, url)
		if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", keeper)); err != nil || len(state) == 0 {
			t.Skip("the machine is too slow: the object was made before")
		}
		gone(t, keeper)
		check(t, os.RemoveAll(u.dir))
		out := f.machine().run(0, "apply", "-auto-approve")
		wants(t, out, "Recovered an interrupted run", "1 change was recovered", "0 added, 1 changed, 0 destroyed")
		none(t, url)
	})
	t.Run("both lost", func(t *testing.T) {
		f := newFleet(t, s3Place(url, "c", journalOn))
		u := f.machine()
		cmd, keeper := f.making(u, "1h")
		check(t, syscall.Kill(keeper, syscall.SIGKILL))
		loseWith(u, cmd, keeper)
		next := f.machine()
		free(next)
		wants(t, next.run(0, "plan"), "Recovered an interrupted run", "1 change was recovered", `playground_thing.late: the outcome of "create" is unknown`)
	})
	b.Lock()
	defer b.Unlock()
	for _, body := range b.bodies {
		if bytes.Contains(body, []byte("canary-4711")) {
			t.Error("a credential is in the bucket")
		}
	}
}

// TestClaimsOfKilledRun checks that the claims of a run (the parts of the state that it has locked) end with the run,
// although its keeper may still wait for a call. The next run on another machine reports the object of that call. It
// recovers the keeper's later records for each object separately.
func TestClaimsOfKilledRun(t *testing.T) {
	t.Parallel()
	port := startPostgres(t)
	f := newFleet(t, rowsPlace(port, "claims"))
	other := f.machine()
	other.run(0, "apply", "-auto-approve", "-target=playground_thing.other")
	u := f.machine()
	cmd, keeper := f.making(u, "10s")
	wants(t, other.run(1, "apply", "-auto-approve", "-target=playground_thing.late"), "Error acquiring the state lock", "playground_thing.late")
	check(t, cmd.Process.Kill())
	_ = cmd.Wait()
	wants(t, other.run(0, "plan", "-target=playground_thing.late", "-lock-timeout=1m"), "Recovered an interrupted run", `playground_thing.late: the outcome of "create" is unknown`)
	if claims := query(t, port, `SELECT count(*) FROM claims.states_claims`); claims != "0" && claims != "1" { // 0, or 1 until the next claim removes the claims of a dead run
		t.Errorf("there are %s claims", claims)
	}
	gone(t, keeper)
	// The object is not created again, because the run on its machine has recorded the result.
	wants(t, u.run(0, "apply", "-auto-approve", "-target=playground_thing.late", "-lock-timeout=1m"), "Recovered an interrupted run", "0 added, 1 changed, 0 destroyed")
	if out := other.run(0, "plan", "-lock-timeout=1m", "-detailed-exitcode"); strings.Contains(out, "unknown") || strings.Contains(out, "Recovered") {
		t.Errorf("it is taken in again:\n%s", out)
	}
}
