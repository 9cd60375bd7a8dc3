//go:build linux

package cli_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Each process is in a separate process group, so that the whole group can be killed.
func init() { ownGroup = &syscall.SysProcAttr{Setpgid: true} }

// twoLeases is a configuration with two leases (ephemeral resources) that are open from the first object to the last.
// The second lease is obtained with the first.
const twoLeases = `
ephemeral "playground_lease" "a" {
  name = "a"
}
ephemeral "playground_lease" "b" {
  name = "b-${ephemeral.playground_lease.a.id}"
}
resource "playground_secret" "s" {
  name      = "s"
  secret_wo = ephemeral.playground_lease.b.token
}
resource "playground_thing" "t" {
  count      = 60
  name       = "t-${count.index}"
  delay      = "10ms"
  depends_on = [playground_secret.s]
}
resource "playground_secret" "u" {
  name       = "u"
  depends_on = [playground_thing.t]
  secret_wo  = ephemeral.playground_lease.b.token
}
`

// TestLostEngine kills the program (but not its keeper, a second process) at random and at chosen moments, alone or
// with its process group. Afterwards no lease may be open, each created object must be in the state, and the next plan
// must print no warning.
func TestLostEngine(t *testing.T) {
	t.Parallel()
	times := 2
	if os.Getenv("LETHE_LONG") != "" {
		times = 150
	}
	for name, words := range map[string][]string{
		"opening": {"OpenEphemeralResource", `"phase":"begin"`}, "open": {"OpenEphemeralResource", `"end"`},
		"making": {"ApplyResourceChange", `"phase":"begin"`}, "made": {"ApplyResourceChange", "playground_thing", `"end"`},
		"closing": {"CloseEphemeralResource", `"phase":"begin"`}, "random": {"OpenEphemeralResource"},
	} {
		for n := range times {
			t.Run(fmt.Sprint(name, n), func(t *testing.T) {
				t.Parallel()
				p := newProcess(t, twoLeases)
				s := p.start("apply", "-auto-approve", "-parallelism=4")
				p.seen(words...)
				if name == "random" {
					time.Sleep(rand.N(600 * time.Millisecond)) // the test is about a kill at any moment
				}
				p.unseen(s.keeper(t))
				if n%2 == 0 {
					s.cmd.Process.Kill()
				} else {
					syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
				}
				_, out := s.wait()
				code, next := p.run("plan", "-no-color")
				if code != 0 || strings.Contains(next, "Outcome unknown") || strings.Contains(next, "Leases left open") || strings.Contains(next, "damaged") {
					t.Errorf("the next plan, exit code %d:\n%s", code, next)
				}
				p.whole(t)
				p.forgotten(out + next)
			})
		}
	}
}

// TestLostEngineOfContainer kills the engine process of a program that runs as process 1, whose end would end all
// processes of the container. The keeper (a third process) must close the leases. Process 1 forwards signals, and
// returns the exit code of the engine process.
func TestLostEngineOfContainer(t *testing.T) {
	t.Parallel()
	container := []string{"--pid", "--fork", "--mount-proc", "--kill-child"}
	if out, err := exec.Command("unshare", append(container, "true")...).CombinedOutput(); err != nil {
		t.Skipf("a process cannot have numbers of its own here: %s", out)
	}
	p := newProcess(t, twoLeases, "PLAYGROUND_DELAY=t-59:create=5s") // the creation of one object takes 5 s, so that each apply still runs when the test kills the program
	path, err := exec.LookPath("lethe")
	if err != nil {
		t.Fatal(err)
	}
	p.program = "unshare"
	start := func(args ...string) (s *started, first, engine int) {
		s = p.start(append(append(slices.Clone(container), path), args...)...)
		p.seen("ApplyResourceChange", `"t-59"`, `"phase":"begin"`)
		last := args[len(args)-1]
		first = child(s.cmd.Process.Pid, last)
		if engine = child(first, last); engine == 0 {
			t.Fatal("process 1 has started nothing")
		}
		return s, first, engine
	}
	closed := func(want, code int, out string) {
		t.Helper()
		if left, _ := os.ReadDir(filepath.Join(p.dir, ".cloud/leases")); code != want || len(left) > 0 {
			t.Errorf("exit code %d, %d leases are open:\n%s", code, len(left), out)
		}
		p.forgotten(out)
	}
	s, _, engine := start("apply", "-auto-approve", "-parallelism=4")
	p.unseen(child(engine, "_keep"))
	syscall.Kill(engine, syscall.SIGKILL)
	code, out := s.wait()
	closed(128+9, code, out)
	os.Remove(filepath.Join(p.dir, ".calls"))
	s, first, _ := start("apply", "-auto-approve", "-replace=playground_thing.t[59]")
	syscall.Kill(first, syscall.SIGTERM)
	code, out = s.wait()
	if closed(1, code, out); strings.Count(out, "Interrupt received") != 1 {
		t.Errorf("not interrupted once:\n%s", out)
	}
	if code, out := p.start(append(slices.Clone(container), path, "plan", "-detailed-exitcode")...).wait(); code != 2 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	p.program = ""
	p.whole(t)
}

// TestKeeperIsLocked checks that the memory of the keeper process is locked, and so is never swapped, if the limit of
// the system allows locking.
func TestKeeperIsLocked(t *testing.T) {
	t.Parallel()
	p := newProcess(t, lease+`
resource "rogue_thing" "a" {
  name      = "a"
  misbehave = "Plan=hang"
}
`)
	p.program = "prlimit"
	path, err := exec.LookPath("lethe")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(p.program, "--memlock=unlimited", "true").CombinedOutput(); err != nil {
		t.Skipf("the limit cannot be lifted here: %s", out)
	}
	s := p.start("--memlock=unlimited", path, "plan")
	p.seen("PlanResourceChange", `"phase":"begin"`)
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.keeper(t)))
	if locked := regexp.MustCompile(`VmLck:\s+[1-9]\d{3,} kB`); !locked.Match(status) {
		t.Errorf("it is not locked:\n%s", status)
	}
	s.cmd.Process.Kill()
	s.wait()
}

// TestLostKeeper kills the keeper, which ends its providers, too. The program must close the open leases with a new
// keeper and report the calls without an answer.
func TestLostKeeper(t *testing.T) {
	t.Parallel()
	p := newProcess(t, twoLeases)
	s := p.start("apply", "-auto-approve", "-parallelism=4")
	p.seen("ApplyResourceChange", "playground_thing", `"end"`)
	syscall.Kill(s.keeper(t), syscall.SIGKILL)
	code, out := s.wait()
	if code != 1 || strings.Count(out, "Warning: The keeper was lost") != 1 || strings.Contains(out, "left open") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if left, _ := os.ReadDir(filepath.Join(p.dir, ".cloud/leases")); len(left) > 0 {
		t.Errorf("%d leases are left open:\n%s", len(left), out)
	}
	p.known(t)
	p.forgotten(out)
}

// TestLostBoth kills the program and its keeper process. The next command must list the calls in progress and the open
// leases.
func TestLostBoth(t *testing.T) {
	t.Parallel()
	times := 1
	if whole() {
		times = 20
	}
	for range times {
		t.Run("", leavesBothStates)
	}
}

func leavesBothStates(t *testing.T) {
	t.Parallel()
	p := newProcess(t, twoLeases)
	s := p.start("apply", "-auto-approve", "-parallelism=4")
	p.seen("ApplyResourceChange", "playground_thing", `"end"`)
	keeper := s.keeper(t)
	s.cmd.Process.Kill()
	syscall.Kill(keeper, syscall.SIGKILL)
	_, out := s.wait()
	next := p.known(t)
	for _, lease := range []string{"a", "b"} {
		if !strings.Contains(next, "ephemeral.playground_lease."+lease+" of lethe/playground") {
			t.Errorf("the lease is not named:\n%s", next)
		}
	}
	list := func(want int) {
		t.Helper()
		code, text := p.run("leases", "list", "-json")
		if code != 0 || strings.Count(text, `"address":"ephemeral.playground_lease.`) != want {
			t.Errorf("of %d leases there are listed: %s", want, text)
		}
	}
	list(2)
	p.resolve(t, next)
	list(2)
	if code, text := p.run("leases", "close", "-auto-approve", "ephemeral.playground_lease.a"); code != 0 || !strings.Contains(text, "1 lease was removed from the list.") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
	list(1)
	if code, text := p.run("leases", "close", "-auto-approve", "ephemeral.playground_lease.a"); code != 1 || !strings.Contains(text, "No such lease") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
	if code, text := p.run("leases", "close", "-auto-approve", "ephemeral.playground_lease.b"); code != 0 {
		t.Errorf("exit code %d:\n%s", code, text)
	}
	list(0)
	if _, err := os.Stat(filepath.Join(p.dir, "terraform.tfstate.journal")); err == nil {
		t.Error("the journal stays, with nothing in it")
	}
	os.RemoveAll(filepath.Join(p.dir, ".cloud/leases"))
	p.whole(t)
	p.forgotten(out + next)
}

// resolve runs "state resolve" for each create call whose outcome is unknown according to the output in named. The
// option is -present if the object exists, and otherwise -absent.
func (p *process) resolve(t *testing.T, named string) {
	t.Helper()
	if code, text := p.run("state", "resolve", "-absent", "playground_thing.t[99]"); code != 1 || !strings.Contains(text, "Nothing to resolve") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
	for _, m := range regexp.MustCompile(`playground_thing\.t\[(\d+)\]: the outcome of "create"`).FindAllStringSubmatch(named, -1) {
		address, id, args := "playground_thing.t["+m[1]+"]", "thing-t-"+m[1], []string{"state", "resolve", "-no-color"}
		if _, err := os.Stat(filepath.Join(p.dir, ".cloud/playground_thing."+id+".json")); err == nil {
			code, text := p.run(append(args, "-present", address)...)
			if code != 1 || !strings.Contains(text, "ID needed") {
				t.Errorf("exit code %d:\n%s", code, text)
			}
			args = append(args, "-id="+id)
		} else {
			args = append(args, "-absent")
		}
		if code, text := p.run(append(args, address)...); code != 0 {
			t.Errorf("%v: exit code %d:\n%s", args, code, text)
		}
	}
	code, text := p.run("plan", "-no-color")
	if code != 0 || strings.Contains(text, "Outcome unknown") || strings.Contains(text, "Leases left open") { // an earlier command recovered the journal and reported the calls and leases
		t.Errorf("exit code %d:\n%s", code, text)
	}
}

// TestKilledTest kills the command test and its keeper process. The next run of test must list the existing objects,
// the calls in progress and the open leases.
func TestKilledTest(t *testing.T) {
	t.Parallel()
	p := newProcess(t, lease+`
variable "name" { default = "a" }
variable "rule" { default = "" }
variable "given" { default = "" }
resource "playground_secret" "s" {
  name      = var.name
  secret_wo = ephemeral.playground_lease.l.token
}
resource "rogue_thing" "a" {
  name       = var.name
  misbehave  = var.rule
  depends_on = [playground_secret.s]
  secret_wo  = ephemeral.playground_lease.l.token
}
`)
	if err := os.Mkdir(filepath.Join(p.dir, "setup"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.write("setup/main.tf", "output \"name\" { value = \"given\" }\n")
	p.write("a.tftest.hcl", `
run "setup" {
  module {
    source = "./setup"
  }
}
run "a" {
  variables {
    given = run.setup.name
  }
}
`)
	p.run("init")
	s := p.start("test", "-var=rule=Apply=hang")
	p.seen("ApplyResourceChange", "rogue_thing", `"phase":"begin"`)
	keeper := s.keeper(t)
	s.cmd.Process.Kill()
	syscall.Kill(keeper, syscall.SIGKILL)
	_, out := s.wait()
	left, _ := filepath.Glob(filepath.Join(p.dir, ".terraform/test/*-1.*"))
	for _, path := range left { // simulates a second killed test
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(strings.Replace(path, "-1.", "-2.", 1), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	code, next := p.run("test", "-no-color", "-var=name=b")
	for _, want := range []string{
		"Warning: Earlier tests left something", "exist:\n  playground_secret.s\n", `rogue_thing.a: the outcome of "create" is unknown`,
		"not closed:\n  ephemeral.playground_lease.l of", "The state of the remaining objects is in errored_test.tfstate", "in errored_test.2.tfstate", "2 passed, 0 failed",
	} {
		if code != 0 || !strings.Contains(next, want) {
			t.Errorf("exit code %d, without %q:\n%s", code, want, next)
		}
	}
	if code, text := p.run("test", "cleanup", "-repair", "-no-color"); code != 0 || !strings.Contains(text, "The objects of earlier tests are destroyed.") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
	if code, text := p.run("test", "-no-color", "-var=name=b"); code != 0 || strings.Contains(text, "left something") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
	if left, _ = filepath.Glob(filepath.Join(p.dir, ".terraform/test/*-*")); len(left) > 0 {
		t.Error("the journals stay")
	}
	p.forgotten(out + next)
}

// TestHungCallOfLostEngine: after a kill of the program, its keeper process waits for a provider call that changes an
// object, and the next command waits for the keeper. A signal to the keeper makes the keeper abandon the call.
func TestHungCallOfLostEngine(t *testing.T) {
	t.Parallel()
	p := newProcess(t, lease+`
variable "rule" { default = "Apply=hang" }
resource "rogue_thing" "a" {
  name      = "a"
  secret_wo = ephemeral.playground_lease.l.token
  misbehave = var.rule
}
`)
	s := p.start("apply", "-auto-approve")
	p.seen("ApplyResourceChange", `"phase":"begin"`)
	keeper := s.keeper(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE} {
		syscall.Kill(keeper, sig) // the keeper ignores signals while the program runs
	}
	s.cmd.Process.Kill()
	_, out := s.wait()
	waits := p.start("plan", "-no-color", "-var=rule=")
	time.Sleep(200 * time.Millisecond) // usually, the plan waits after this time; otherwise, the result is the same
	syscall.Kill(keeper, syscall.SIGTERM)
	code, next := waits.wait()
	if code != 0 || !strings.Contains(next, `rogue_thing.a: the outcome of "create" is unknown`) || strings.Contains(next, "Leases left open") {
		t.Errorf("the next plan, exit code %d:\n%s", code, next)
	}
	if left, _ := os.ReadDir(filepath.Join(p.dir, ".cloud/leases")); len(left) > 0 {
		t.Errorf("%d leases are left open:\n%s", len(left), next)
	}
	p.forgotten(out + next)
}

// TestCrashedProviderClosesLeases checks that a provider that crashes with an open lease is started again to close the
// lease, with and without a keeper process.
func TestCrashedProviderClosesLeases(t *testing.T) {
	t.Parallel()
	for _, env := range []string{"LETHE_KEEPER=on", "LETHE_KEEPER=off"} {
		t.Run(env, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t, `
provider "rogue" {
  token = "configured"
}
ephemeral "rogue_lease" "l" {
  name = "l"
}
resource "rogue_thing" "a" {
  name      = "a"
  secret_wo = ephemeral.rogue_lease.l.token
  misbehave = "Apply=exit:3"
}
`, env)
			code, out := p.run("apply", "-auto-approve")
			left, _ := os.ReadDir(filepath.Join(p.dir, ".cloud/leases"))
			if code != 1 || len(left) > 0 || strings.Contains(out, "left open") || !strings.Contains(out, "ephemeral.rogue_lease.l: Closing complete") {
				t.Errorf("exit code %d, %d leases are open:\n%s", code, len(left), out)
			}
			p.forgotten(out)
		})
	}
}

// TestNoKeeper checks that commands that cannot change objects or open leases start no keeper process, and that other
// commands start a keeper unless LETHE_KEEPER is off.
func TestNoKeeper(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config string
		args   []string
		env    string
		want   bool
	}{
		"plan":                {"", []string{"plan"}, "", false},
		"plan with ephemeral": {lease, []string{"plan"}, "", true},
		"apply":               {"", []string{"apply", "-auto-approve"}, "", true},
		"switched off":        {lease, []string{"apply", "-auto-approve"}, "LETHE_KEEPER=off", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t, c.config+`
resource "rogue_thing" "a" {
  name      = "a"
  misbehave = "Plan=hang"
}
`, c.env)
			s := p.start(c.args...)
			p.seen("PlanResourceChange", `"phase":"begin"`)
			if got := s.child("_keep") != 0; got != c.want {
				t.Errorf("a keeper: %v", got)
			}
			s.cmd.Process.Kill()
			s.wait()
		})
	}
}

// child returns the id of the child process of parent whose last argument is last, and 0 if there is no such process.
func child(parent int, last string) int {
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range all {
		text, _ := os.ReadFile(stat)
		_, rest, _ := strings.Cut(string(text), ") ")
		args, _ := os.ReadFile(filepath.Join(filepath.Dir(stat), "cmdline"))
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(parent) && bytes.HasSuffix(args, []byte("\x00"+last+"\x00")) {
			id, _ := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
			return id
		}
	}
	return 0
}

func (s *started) child(last string) int { return child(s.cmd.Process.Pid, last) }

// keeper returns the process id of the keeper of this process.
func (s *started) keeper(t *testing.T) int {
	t.Helper()
	id := s.child("_keep")
	if id == 0 {
		t.Fatal("there is no keeper")
	}
	return id
}

// unseen fails the test if the environment or the arguments of a process, which others may read in /proc, contain a
// secret.
func (p *process) unseen(id int) {
	p.t.Helper()
	for _, name := range []string{"environ", "cmdline"} {
		if text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", id, name)); bytes.Contains(text, []byte(canary)) {
			p.t.Errorf("a secret is in the %s of the keeper", name)
		}
	}
}

// whole applies the configuration again. It fails the test if a lease is open, if the apply fails, or if not all
// objects exist and are in the state.
func (p *process) whole(t *testing.T) {
	t.Helper()
	if left, _ := os.ReadDir(filepath.Join(p.dir, ".cloud/leases")); len(left) > 0 {
		t.Errorf("%d leases are left open", len(left))
	}
	code, out := p.run("apply", "-auto-approve", "-no-color")
	if code != 0 {
		t.Errorf("the next apply:\n%s", out)
	}
	made, _ := filepath.Glob(filepath.Join(p.dir, ".cloud/playground_*.json"))
	if _, list := p.run("state", "list"); len(made) != 62 || strings.Count(list, "\n") != 62 {
		t.Errorf("%d objects exist, the state has:\n%s", len(made), list)
	}
}

// known fails the test if an existing object is neither in the state nor reported by the next plan. It returns the
// output of that plan.
func (p *process) known(t *testing.T) string {
	t.Helper()
	made := p.settled()
	code, next := p.run("plan", "-no-color")
	if code != 0 {
		t.Errorf("the next plan:\n%s", next)
	}
	_, list := p.run("state", "pull")
	for _, name := range made {
		n, is := strings.CutPrefix(name, "t-")
		if is && !strings.Contains(list, `"`+name+`"`) && !strings.Contains(next, "playground_thing.t["+n+"]: the outcome") {
			t.Errorf("%s was made and is lost", name)
		}
	}
	return next
}
