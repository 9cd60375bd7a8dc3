package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	win "golang.org/x/sys/windows"
)

// Each process is in a separate process group, so that Ctrl-Break reaches only one process.
func init() { ownGroup = &syscall.SysProcAttr{CreationFlags: win.CREATE_NEW_PROCESS_GROUP} }

// leased is a configuration with a lease (an ephemeral resource) that is open from the first object to the last.
const leased = `
ephemeral "playground_lease" "a" {
  name = "a"
}
resource "playground_secret" "s" {
  name      = "s"
  secret_wo = ephemeral.playground_lease.a.token
}
resource "playground_thing" "t" {
  count      = 3
  name       = "t-${count.index}"
  delay      = "2s"
  depends_on = [playground_secret.s]
}
resource "playground_secret" "u" {
  name       = "u"
  depends_on = [playground_thing.t]
  secret_wo  = ephemeral.playground_lease.a.token
}
`

// children returns the identifiers of the processes that a process has started, by the names of their programs.
func children(t *testing.T, parent int) map[string]int {
	t.Helper()
	all, err := win.CreateToolhelp32Snapshot(win.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer win.CloseHandle(all)
	out := map[string]int{}
	entry := win.ProcessEntry32{}
	entry.Size = uint32(unsafe.Sizeof(entry))
	for err = win.Process32First(all, &entry); err == nil; err = win.Process32Next(all, &entry) {
		if entry.ParentProcessID == uint32(parent) {
			out[win.UTF16ToString(entry.ExeFile[:])] = int(entry.ProcessID)
		}
	}
	return out
}

// wholeAgain fails the test if a lease is open, if the next plan has a warning, or if the next apply loses an object.
// printed is the output of the command before.
func (p *process) wholeAgain(t *testing.T, printed string) {
	t.Helper()
	code, next := p.run("plan", "-no-color")
	if code != 0 || strings.Contains(next, "Outcome unknown") || strings.Contains(next, "Leases left open") || strings.Contains(next, "damaged") {
		t.Errorf("the next plan, exit code %d:\n%s", code, next)
	}
	if left, _ := os.ReadDir(filepath.Join(p.dir, ".cloud", "leases")); len(left) > 0 {
		t.Errorf("%d leases are left open", len(left))
	}
	if code, out := p.run("apply", "-auto-approve", "-no-color"); code != 0 {
		t.Errorf("the next apply:\n%s", out)
	}
	made, _ := filepath.Glob(filepath.Join(p.dir, ".cloud", "playground_*.json"))
	if _, list := p.run("state", "list"); len(made) != 5 || strings.Count(list, "\n") != 5 {
		t.Errorf("%d objects exist, the state has:\n%s", len(made), list)
	}
	p.forgotten(printed + next)
}

// TestKilledEngine kills the program at chosen moments. Its keeper, a second process, must record the calls in progress
// and close the lease.
func TestKilledEngine(t *testing.T) {
	t.Parallel()
	for name, words := range map[string][]string{
		"opening": {"OpenEphemeralResource", `"phase":"begin"`},
		"making":  {"ApplyResourceChange", "playground_thing", `"phase":"begin"`},
		"made":    {"ApplyResourceChange", "playground_thing", `"end"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t, leased)
			s := p.start("apply", "-auto-approve", "-parallelism=2")
			p.seen(words...)
			s.cmd.Process.Kill()
			_, out := s.wait()
			p.wholeAgain(t, out)
		})
	}
}

// TestKilledKeeper kills the keeper process, which also ends the providers. The program must close the lease with a new
// keeper.
func TestKilledKeeper(t *testing.T) {
	t.Parallel()
	p := newProcess(t, leased)
	s := p.start("apply", "-auto-approve", "-parallelism=1")
	p.seen("ApplyResourceChange", "playground_thing", `"end"`)
	keeper, err := os.FindProcess(children(t, s.cmd.Process.Pid)["lethe.exe"])
	if err != nil {
		t.Fatal(err)
	}
	providers := children(t, keeper.Pid)
	keeper.Kill()
	code, out := s.wait()
	if code != 1 || strings.Count(out, "Warning: The keeper was lost") != 1 || strings.Contains(out, "left open") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if left, _ := os.ReadDir(filepath.Join(p.dir, ".cloud", "leases")); len(left) > 0 {
		t.Errorf("%d leases are left open:\n%s", len(left), out)
	}
	for name, id := range providers {
		if process, err := win.OpenProcess(win.SYNCHRONIZE, false, uint32(id)); err == nil {
			if at, _ := win.WaitForSingleObject(process, 10_000); at != win.WAIT_OBJECT_0 {
				t.Errorf("%s still runs", name)
			}
			win.CloseHandle(process)
		}
	}
	p.forgotten(out)
}

// TestCtrlBreak sends Ctrl-Break to the program. The program must finish the calls in progress, close the lease, and
// save the state.
func TestCtrlBreak(t *testing.T) {
	t.Parallel()
	p := newProcess(t, leased)
	s := p.start("apply", "-auto-approve", "-parallelism=1")
	p.seen("ApplyResourceChange", "playground_thing", `"phase":"begin"`)
	if err := win.GenerateConsoleCtrlEvent(win.CTRL_BREAK_EVENT, uint32(s.cmd.Process.Pid)); err != nil {
		s.cmd.Process.Kill()
		t.Skip("this process has no console: ", err)
	}
	code, out := s.wait()
	if code != 1 || !strings.Contains(out, "Interrupt received") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	p.wholeAgain(t, out)
}
