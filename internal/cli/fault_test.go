package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// faults are the failures that a test causes at each moment in points. The moments are around the opening and the
// closing of a lease (an ephemeral resource).
var faults = []struct {
	name    string
	signals []syscall.Signal // the signals to send; nil: the failure is an error of the provider, or a failed condition
}{
	{"error", nil},
	{"interrupt", []syscall.Signal{syscall.SIGINT}},
	{"two interrupts", []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}},
	{"SIGTERM", []syscall.Signal{syscall.SIGTERM}},
	{"SIGHUP", []syscall.Signal{syscall.SIGHUP}},
}

// points are moments before, during and after the time in which a lease is open. words are in the line of the call log
// that shows that the moment is reached. slow are settings that make the moment last until a signal has arrived. error
// are settings that cause a failure at the moment.
var points = []struct {
	name   string
	words  []string
	slow   string // lines of the configuration
	error  string
	opened int  // number of opened leases after such an error
	left   bool // the lease stays open after such an error
}{
	{"before open", []string{"ApplyResourceChange", `"key":"first"`, `"phase":"begin"`}, "first_takes = \"2s\"", "first_fails = \"create\"", 0, false},
	{"during open", []string{"OpenEphemeralResource", `"phase":"begin"`}, "open_takes = \"2s\"", "lease_fails = \"open-after\"", 1, false},
	{"after open", []string{"OpenEphemeralResource", `"end"`}, "consumer_takes = \"2s\"", "least = 1000", 1, false},
	{"during consumer", []string{"ApplyResourceChange", `"key":"a"`, `"phase":"begin"`}, "consumer_takes = \"2s\"", "consumer_fails = \"create\"", 1, false},
	{"during renew", []string{"RenewEphemeralResource", `"phase":"begin"`}, "renew_takes = \"2s\"\nconsumer_takes = \"15s\"", "lease_fails = \"renew\"\nconsumer_takes = \"15s\"", 1, false},
	{"during close", []string{"CloseEphemeralResource", `"phase":"begin"`}, "close_takes = \"2s\"", "lease_fails = \"close\"", 1, true},
}

// TestFaultsCloseLeases causes every failure in faults at every moment in points: errors, and each signal that asks the
// program to end, once and twice. Each opened lease must be closed, or be listed with its address, its provider and the
// reason. The exit code must be 1, unless the run was completed. Package engine tests panics.
func TestFaultsCloseLeases(t *testing.T) {
	t.Parallel()
	config := `
variable "first_fails" { default = null }
variable "lease_fails" { default = null }
variable "consumer_fails" { default = null }
variable "first_takes" { default = null }
variable "open_takes" { default = null }
variable "renew_takes" { default = null }
variable "consumer_takes" { default = null }
variable "close_takes" { default = null }
variable "least" { default = 1 }
resource "playground_thing" "first" {
  name    = "first"
  delay   = var.first_takes
  fail_on = var.first_fails
}
ephemeral "playground_lease" "l" {
  name        = "l"
  delay       = var.open_takes
  renew_after = "1s"
  renew_delay = var.renew_takes
  close_delay = var.close_takes
  fail_on     = var.lease_fails
  depends_on  = [playground_thing.first]
  lifecycle {
    postcondition {
      condition     = length(self.token) > var.least
      error_message = "Too short."
    }
  }
}
resource "playground_secret" "a" {
  name              = "a"
  secret_wo         = ephemeral.playground_lease.l.token
  secret_wo_version = 1
  delay             = var.consumer_takes
  fail_on           = var.consumer_fails
}
`
	for _, point := range points {
		for _, fault := range faults {
			t.Run(point.name+"/"+fault.name, func(t *testing.T) {
				t.Parallel()
				p := newProcess(t, config)
				settings := point.slow
				if fault.signals == nil {
					settings = point.error
				}
				p.write("terraform.tfvars", settings+"\n")
				s := p.start("apply", "-auto-approve", "-defer-ephemerals")
				if fault.signals != nil {
					p.seen(point.words...)
				}
				began := time.Now()
				for _, sig := range fault.signals {
					s.cmd.Process.Signal(sig)
					p.printed(s, "Interrupt received.")
				}
				code, out := s.wait()
				want := 1
				// After the second interrupt, a command has three seconds, even if it only has to end.
				cut := len(fault.signals) == 2 && code == 1 && time.Since(began) >= 3*time.Second
				if strings.Contains(out, "Apply complete!") && !cut { // the interrupt came too late to stop anything
					want = 0
				}
				if code != want || strings.Contains(out, "Interrupt received.") != (fault.signals != nil) {
					t.Errorf("exit code %d:\n%s", code, out)
				}
				left, _ := os.ReadDir(filepath.Join(p.dir, ".cloud/leases"))
				if fault.signals == nil && point.left {
					const listed = "ephemeral.playground_lease.l could not be closed by lethe/playground: Closing failed: close of \"l\" failed"
					if len(left) != 1 || !strings.Contains(out, listed) {
						t.Errorf("%d leases are left open, which the list does not say:\n%s", len(left), out)
					}
				} else if len(left) > 0 && (len(fault.signals) < 2 || !strings.Contains(out, "ephemeral.playground_lease.l could not be closed")) {
					t.Errorf("%d leases are left open:\n%s", len(left), out)
				}
				opened, closed := p.count("OpenEphemeralResource", `"end"`), p.count("CloseEphemeralResource", `"end"`)
				if fault.signals != nil { // two interrupts end the opening call with an error, so no lease exists
					opened -= p.count("OpenEphemeralResource", `"end"`, `"errors"`)
				}
				if opened != closed && len(left) == 0 || fault.signals == nil && opened != point.opened {
					t.Errorf("opened %d times, closed %d times:\n%s", opened, closed, out)
				}
				p.forgotten(out)
			})
		}
	}
}

// TestThirdInterruptNamesWhatIsLeft checks that the third interrupt ends the program at once, and that the program
// lists the open leases. If the keeper (a second process of Lethe) runs, it closes these leases.
func TestThirdInterruptNamesWhatIsLeft(t *testing.T) {
	t.Parallel()
	for _, keeper := range []string{"on", "off"} {
		t.Run(keeper, func(t *testing.T) {
			t.Parallel()
			endsAtOnce(t, keeper)
		})
	}
}

// interruptThrice sends three interrupts, each after the program has printed that it noticed the previous one.
func (s *started) interruptThrice() {
	for _, noticed := range []string{"Interrupt received.", "Two interrupts received."} {
		s.cmd.Process.Signal(syscall.SIGINT)
		s.printed(s, noticed)
	}
	s.cmd.Process.Signal(syscall.SIGINT)
}

func endsAtOnce(t *testing.T, keeper string) {
	p := newProcess(t, `
ephemeral "playground_lease" "l" {
  name = "l"
}
resource "rogue_thing" "a" {
  name      = "a"
  secret_wo = ephemeral.playground_lease.l.token
  misbehave = "Apply=hang"
}
`, "LETHE_KEEPER="+keeper)
	s := p.start("apply", "-auto-approve", "-defer-ephemerals")
	p.seen("ApplyResourceChange", `"phase":"begin"`)
	s.interruptThrice()
	code, out := s.wait()
	left, _ := os.ReadDir(filepath.Join(p.dir, ".cloud/leases"))
	if code != 1 || strings.Contains(out, "Left open: ephemeral.playground_lease.l") != (keeper == "off") || (len(left) > 0) != (keeper == "off") || !strings.Contains(out, "Unknown outcome: Lethe did not wait for the provider to finish with rogue_thing.a") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	p.forgotten(out)
	if _, out = p.run("plan"); !strings.Contains(out, "Outcome unknown") || !strings.Contains(out, "rogue_thing.a") {
		t.Errorf("the next plan does not name the call:\n%s", out)
	}
}

// TestThirdInterruptNamesOpenings checks that the program, at the third interrupt, also lists a lease that it was
// opening, because this lease may be open.
func TestThirdInterruptNamesOpenings(t *testing.T) {
	t.Parallel()
	p := newProcess(t, `
ephemeral "rogue_lease" "l" {
  name      = "l"
  misbehave = "Open=after-hang"
}
resource "rogue_thing" "a" {
  name      = "a"
  secret_wo = ephemeral.rogue_lease.l.token
}
`)
	s := p.start("plan")
	p.seen("OpenEphemeralResource", `"phase":"begin"`)
	s.interruptThrice()
	code, out := s.wait()
	if code != 1 || !strings.Contains(out, "Unknown outcome: Lethe did not wait until ephemeral.rogue_lease.l was opened.") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	p.forgotten(out)
}

// throughLease is a configuration in which a lease (an ephemeral resource) configures a provider.
const throughLease = `
ephemeral "playground_lease" "l" {
  name = "l"
}
provider "playground" {
  alias = "x"
  token = ephemeral.playground_lease.l.token
}
`

// TestNothingIsOpenWhileAsking checks that no lease is open while the program waits for approval.
func TestNothingIsOpenWhileAsking(t *testing.T) {
	t.Parallel()
	p := newProcess(t, throughLease+`
resource "playground_thing" "a" {
  provider = playground.x
  name     = "a"
}
`, "TF_INPUT=1")
	answer, question, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer question.Close()
	s := p.startWith(answer, "apply")
	p.printed(s, "Enter a value:")
	if opened, closed := p.count("OpenEphemeralResource", `"end"`), p.count("CloseEphemeralResource", `"end"`); opened != 1 || closed != 1 {
		t.Errorf("opened %d times, closed %d times before the answer", opened, closed)
	}
	if n := p.count(`"call":"start"`) - p.count(`"call":"exit"`); p.count("ConfigureProvider", `"secrets"`, `"end"`) != 1 || n > 1 {
		t.Errorf("%d processes live on", n)
	}
	if _, err := question.WriteString("yes\n"); err != nil {
		t.Fatal(err)
	}
	code, out := s.wait()
	if opened, closed := p.count("OpenEphemeralResource", `"end"`), p.count("CloseEphemeralResource", `"end"`); code != 0 || opened != 2 || closed != 2 {
		t.Errorf("exit code %d, opened %d times, closed %d times:\n%s", code, opened, closed, out)
	}
	p.forgotten(out)
}

// TestInterruptStopsProviders checks that the first interrupt stops the calls of providers. A provider process with an
// open lease is also stopped, and closes the lease afterwards.
func TestInterruptStopsProviders(t *testing.T) {
	t.Parallel()
	p := newProcess(t, throughLease+`
resource "playground_thing" "a" {
  provider = playground.x
  name     = "a"
  delay    = "10m"
}
resource "playground_secret" "b" {
  name      = "b"
  delay     = "10m"
  secret_wo = ephemeral.playground_lease.l.token
}
`)
	s := p.start("apply", "-auto-approve")
	p.seen("ApplyResourceChange", `"playground_thing"`, `"phase":"begin"`)
	p.seen("ApplyResourceChange", `"playground_secret"`, `"phase":"begin"`)
	s.cmd.Process.Signal(syscall.SIGINT)
	code, out := s.wait()
	if left, _ := os.ReadDir(filepath.Join(p.dir, ".cloud/leases")); code != 1 || len(left) > 0 || strings.Count(out, " was interrupted: context canceled") != 2 || !strings.Contains(out, "Error: Interrupted") {
		t.Errorf("exit code %d, %d leases are left open:\n%s", code, len(left), out)
	}
	p.forgotten(out)
}
