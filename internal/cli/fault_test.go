package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSignalsCloseLeases interrupts the program at every point of a lease's life, once and twice,
// by every signal that asks it to end. Whatever was opened is closed.
func TestSignalsCloseLeases(t *testing.T) {
	config := `
ephemeral "playground_lease" "l" {
  name        = "l"
  delay       = "700ms"
  renew_after = "1s"
  renew_delay = "700ms"
  close_delay = "700ms"
}
resource "playground_secret" "a" {
  name              = "a"
  secret_wo         = ephemeral.playground_lease.l.token
  secret_wo_version = 1
  delay             = "2500ms"
}
`
	points := map[string][]string{
		"open":     {"OpenEphemeralResource", `"phase":"begin"`},
		"opened":   {"OpenEphemeralResource", `"end"`},
		"consumer": {"ApplyResourceChange", `"phase":"begin"`},
		"renew":    {"RenewEphemeralResource", `"phase":"begin"`},
		"close":    {"CloseEphemeralResource", `"phase":"begin"`},
	}
	for point, words := range points {
		for _, signals := range [][]syscall.Signal{{syscall.SIGINT}, {syscall.SIGTERM}, {syscall.SIGHUP}, {syscall.SIGINT, syscall.SIGTERM}} {
			t.Run(fmt.Sprintf("%s/%v", point, signals), func(t *testing.T) {
				t.Parallel()
				p := newProcess(t, config)
				s := p.start("apply", "-auto-approve", "-defer-ephemerals")
				p.seen(words...)
				for _, sig := range signals {
					s.cmd.Process.Signal(sig)
					time.Sleep(20 * time.Millisecond)
				}
				code, out := s.wait()
				if code != 1 || !strings.Contains(out, "Interrupt received.") {
					t.Errorf("exit code %d:\n%s", code, out)
				}
				if left, _ := os.ReadDir(filepath.Join(p.dir, ".cloud/leases")); len(left) > 0 {
					t.Errorf("%d leases are left open:\n%s", len(left), out)
				}
				p.forgotten(out)
			})
		}
	}
}

// TestThirdInterruptNamesWhatIsLeft ends the program at once, and it says what it leaves behind.
func TestThirdInterruptNamesWhatIsLeft(t *testing.T) {
	t.Parallel()
	p := newProcess(t, `
ephemeral "playground_lease" "l" {
  name = "l"
}
resource "playground_secret" "a" {
  name              = "a"
  secret_wo         = ephemeral.playground_lease.l.token
  secret_wo_version = 1
  delay             = "1m"
}
`)
	s := p.start("apply", "-auto-approve", "-defer-ephemerals")
	p.seen("ApplyResourceChange", `"phase":"begin"`)
	for range 3 {
		s.cmd.Process.Signal(syscall.SIGINT)
		time.Sleep(50 * time.Millisecond)
	}
	code, out := s.wait()
	if code != 1 || !strings.Contains(out, "Left open: ephemeral.playground_lease.l") || !strings.Contains(out, "Unknown outcome: the call for playground_secret.a") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	p.forgotten(out)
	if _, out = p.run("plan"); !strings.Contains(out, "Outcome unknown") || !strings.Contains(out, "playground_secret.a") {
		t.Errorf("the next plan does not name the call:\n%s", out)
	}
}
