package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestInterruptEndsQuestions checks that an interrupt at a question ends the program without waiting for an answer, and
// that nothing is changed.
func TestInterruptEndsQuestions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config string
		args   []string
	}{
		"approval":           {`resource "playground_thing" "a" { name = "a" }`, []string{"apply"}},
		"destruction":        {`resource "playground_thing" "a" { name = "a" }`, []string{"destroy"}},
		"variable":           {`variable "v" {}`, []string{"plan"}},
		"ephemeral variable": {"variable \"v\" {\n  ephemeral = true\n}", []string{"apply"}},
		"provider":           {"provider \"rogue\" {}\nvariable \"token\" {}", []string{"plan"}},
	} {
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
			t.Run(name+"/"+sig.String(), func(t *testing.T) {
				t.Parallel()
				p := newProcess(t, c.config, "TF_INPUT=1")
				if name == "destruction" {
					if code, out := p.run("apply", "-auto-approve"); code != 0 {
						t.Fatal(out)
					}
				}
				in, answer, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				defer answer.Close()
				s := p.startWith(in, c.args...)
				p.printed(s, "Enter a value:")
				s.cmd.Process.Signal(sig)
				code, out := s.wait()
				if code != 1 || !strings.Contains(out, "Error: Interrupted") || strings.Contains(out, "not approved") || strings.Contains(out, "No value for required") {
					t.Errorf("exit code %d:\n%s", code, out)
				}
				if p.count("ApplyResourceChange") > 0 != (name == "destruction") || p.count("ApplyResourceChange", `"action":"delete"`) > 0 {
					t.Errorf("something was done:\n%s", out)
				}
			})
		}
	}
}

// hung are provider calls that never return, with configurations in which a lease (ephemeral resource) of another
// provider is open meanwhile.
var hung = []struct{ name, config, call, named string }{
	{"open", `
ephemeral "rogue_lease" "h" {
  name      = playground_secret.a.name
  misbehave = "Open=hang"
}
resource "playground_secret" "b" {
  name      = "b"
  secret_wo = "${ephemeral.playground_lease.l.token}${ephemeral.rogue_lease.h.token}"
}
`, "OpenEphemeralResource", "ephemeral.rogue_lease.h"},
	{"apply", `
resource "rogue_thing" "h" {
  name      = playground_secret.a.name
  secret_wo = ephemeral.playground_lease.l.token
  misbehave = "Apply=hang"
}
`, "ApplyResourceChange", "rogue_thing.h"},
	{"plan", `
resource "rogue_thing" "h" {
  name      = "h"
  secret_wo = ephemeral.playground_lease.l.token
  misbehave = "Plan=hang"
}
`, "PlanResourceChange", "rogue_thing.h"},
	{"configure", `
provider "rogue" {
  token     = ephemeral.playground_lease.l.token
  misbehave = "Configure=hang"
}
resource "rogue_thing" "h" {
  name = "h"
}
`, "ConfigureProvider", `provider["registry.opentofu.org/lethe/rogue"]`},
	{"stream", `
resource "rogue_thing" "h" {
  name      = playground_secret.a.name
  secret_wo = ephemeral.playground_lease.l.token
  lifecycle {
    action_trigger {
      events  = [after_create]
      actions = [action.rogue_act.h]
    }
  }
}
action "rogue_act" "h" {
  config {
    secret_wo = ephemeral.playground_lease.l.token
    stream    = "deaf"
  }
}
`, "InvokeAction", "action.rogue_act.h"},
	{"action", `
resource "playground_thing" "h" {
  name = "h"
  lifecycle {
    action_trigger {
      events  = [before_create]
      actions = [action.rogue_act.h]
    }
  }
}
action "rogue_act" "h" {
  config {
    secret_wo = ephemeral.playground_lease.l.token
    misbehave = "Invoke=hang"
  }
}
`, "InvokeAction", "action.rogue_act.h"},
	{"close", `
ephemeral "rogue_lease" "h" {
  name      = "h"
  misbehave = "Close=hang"
}
resource "playground_secret" "b" {
  name      = playground_secret.a.name
  secret_wo = "${ephemeral.playground_lease.l.token}${ephemeral.rogue_lease.h.token}"
}
`, "CloseEphemeralResource", "ephemeral.rogue_lease.h"},
	{"renew", `
ephemeral "rogue_lease" "h" {
  name      = "h"
  misbehave = "Open=renew:-1h; Renew=hang"
}
resource "playground_secret" "b" {
  name      = playground_secret.a.name
  delay     = "10m"
  secret_wo = "${ephemeral.playground_lease.l.token}${ephemeral.rogue_lease.h.token}"
}
`, "RenewEphemeralResource", "ephemeral.rogue_lease.h"},
}

// TestTwoInterruptsAbandonWhatHangs checks that a second interrupt abandons and names a provider call that never
// returns, and closes the leases of other providers. The next command reports the objects and leases that may exist.
func TestTwoInterruptsAbandonWhatHangs(t *testing.T) {
	t.Parallel()
	for _, h := range hung {
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			t.Run(h.name+"/"+sig.String(), func(t *testing.T) {
				t.Parallel()
				p := newProcess(t, `
ephemeral "playground_lease" "l" {
  name = "l"
}
resource "playground_secret" "a" {
  name      = "a"
  secret_wo = ephemeral.playground_lease.l.token
}
`+h.config)
				s := p.start("apply", "-auto-approve")
				p.seen(h.call, "rogue", `"phase":"begin"`)
				s.cmd.Process.Signal(sig)
				p.printed(s, "A second interrupt abandons")
				s.cmd.Process.Signal(sig)
				code, out := s.wait()
				_, after, _ := strings.Cut(out, "Two interrupts received.")
				if code != 1 || !strings.Contains(out, "Under way:\n") || !strings.Contains(after, h.named) {
					t.Errorf("exit code %d:\n%s", code, out)
				}
				if opened, closed := p.count("OpenEphemeralResource", "playground_lease", `"end"`), p.count("CloseEphemeralResource", "playground_lease", `"end"`); opened != closed && !strings.Contains(after, "ephemeral.playground_lease.l could not be closed") {
					t.Errorf("opened %d times, closed %d times:\n%s", opened, closed, out)
				}
				code, next := p.run("plan", "-var-file=/dev/null", "-refresh=false", "-target=playground_secret.a")
				switch {
				case code != 0:
					t.Errorf("the next plan:\n%s", next)
				case h.name == "apply" && (!strings.Contains(next, "Outcome unknown") || !strings.Contains(next, `rogue_thing.h: the outcome of "create" is unknown`)):
					t.Errorf("the next plan does not name the call:\n%s", next)
				case (h.name == "stream" || h.name == "action") && (!strings.Contains(next, "Action may not have ended") || !strings.Contains(next, "action.rogue_act.h (run ")):
					t.Errorf("the next plan does not name the action:\n%s", next)
				case (h.name == "open" || h.name == "close") && (!strings.Contains(next, "Leases left open") || !strings.Contains(next, "ephemeral.rogue_lease.h of lethe/rogue")):
					t.Errorf("the next plan does not name the lease:\n%s", next)
				}
				p.forgotten(out + next)
			})
		}
	}
}

// TestUnansweredIsNamed lets the provider die after it has created an object and before it answers. The error and the
// next plan must report that the object may exist.
func TestUnansweredIsNamed(t *testing.T) {
	t.Parallel()
	p := newProcess(t, `
variable "rule" { default = "Create=after-exit:3" }
resource "rogue_thing" "a" {
  name      = "a"
  misbehave = var.rule
}
resource "playground_thing" "b" {
  name = "b"
}
`)
	code, out := p.run("apply", "-auto-approve")
	if code != 1 || !strings.Contains(out, "rogue_thing.a may exist, because") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	for range 2 { // a plan does not recover the journal
		if code, out = p.run("plan"); code != 0 || !strings.Contains(out, `rogue_thing.a: the outcome of "create" is unknown`) || strings.Contains(out, "Recovered an interrupted run") || strings.Contains(out, "playground_thing.b: the outcome") {
			t.Errorf("exit code %d:\n%s", code, out)
		}
	}
	for _, s := range []struct {
		args string
		code int
		want string
	}{
		{"apply -auto-approve -var=rule=", 1, "Error: Object may exist already"},
		{"plan -var=rule= -out=p", 0, "Outcome unknown"},
		{"apply p", 1, "Error: Object may exist already"},
		{"apply -auto-approve -unknown=later", 1, "the only value is create"},
		{"apply -auto-approve -var=rule= -unknown=create", 0, "1 added"},
		{"plan -var=rule=", 0, "Outcome unknown"}, // the second object, which was created with -unknown=create, does not show whether the first object exists
		{"apply -auto-approve -var=rule= -replace=rogue_thing.a", 1, "Error: Object may exist already"},
		{"state resolve -absent rogue_thing.a", 0, "settled"},
		{"plan -var=rule=", 0, "No changes."},
	} {
		code, out := p.run(strings.Fields(s.args)...)
		if code != s.code || !strings.Contains(out, s.want) || s.want == "No changes." && strings.Contains(out, "Outcome unknown") {
			t.Errorf("%s: exit code %d:\n%s", s.args, code, out)
		}
	}
}

// TestLookForUnanswered loses the answer to the creation of an object whose identity is known before. The next plan
// imports by this identity, does not record the imported object, and reports whether the object exists.
func TestLookForUnanswered(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]string{
		"Create=after-exit:3": "Object of a lost run found",
		"Create=exit:3":       "No object of a lost run found",
	} {
		p := newProcess(t, `
variable "rule" { default = "" }
resource "rogue_thing" "a" {
  name      = "a"
  misbehave = var.rule
  secret_wo = ephemeral.playground_lease.l.token
}
ephemeral "playground_lease" "l" {
  name = "l"
}
`, "PLAYGROUND_ROGUE_SCHEMA=identity-name")
		code, all := p.run("apply", "-auto-approve", "-var=rule="+rule)
		if code != 1 || !strings.Contains(all, "rogue_thing.a may exist, because") {
			t.Errorf("exit code %d:\n%s", code, all)
		}
		code, out := p.run("plan")
		if all += out; code != 0 || !strings.Contains(out, want) || !strings.Contains(out, `identity name = "a"`) || strings.Contains(out, "Importing") || !strings.Contains(out, "1 to add") {
			t.Errorf("exit code %d:\n%s", code, out)
		}
		advice := "state resolve -absent rogue_thing.a"
		if strings.HasPrefix(want, "Object") {
			advice = "state resolve -id=a rogue_thing.a"
		}
		if !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(out, "│", "")), " "), advice) {
			t.Errorf("the advice is not %q:\n%s", advice, out)
		}
		code, out = p.run(strings.Fields(advice)...)
		if all += out; code != 0 {
			t.Errorf("%s: exit code %d:\n%s", advice, code, out)
		}
		code, out = p.run("plan")
		if all += out; code != 0 || strings.Contains(out, "lost run") || strings.Contains(out, "Outcome unknown") {
			t.Errorf("exit code %d:\n%s", code, out)
		}
		p.forgotten(all)
	}
}

// TestKilledNamesLeases kills the program, or makes it print its goroutines with SIGQUIT, while leases (ephemeral
// resources) are open and no keeper (second process) closes them. The next commands list the leases by address, until a
// command recovers the journal.
func TestKilledNamesLeases(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		rule string
		call string
	}{
		"apply": {[]string{"apply", "-auto-approve"}, "Apply=hang", "ApplyResourceChange"},
		"plan":  {[]string{"plan"}, "Plan=hang", "PlanResourceChange"},
	} {
		for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGQUIT} {
			t.Run(name+"/"+sig.String(), func(t *testing.T) {
				t.Parallel()
				p := newProcess(t, `
variable "rule" { default = "" }
ephemeral "playground_lease" "l" {
  for_each = toset(["x", "y"])
  name     = each.key
}
resource "rogue_thing" "a" {
  name      = "a"
  secret_wo = "${ephemeral.playground_lease.l["x"].token}${ephemeral.playground_lease.l["y"].token}"
  misbehave = var.rule
}
`, "LETHE_KEEPER=off")
				s := p.start(append(c.args, "-var=rule="+c.rule)...)
				p.seen(c.call, "rogue", `"phase":"begin"`)
				s.cmd.Process.Signal(sig)
				code, out := s.wait()
				if sig == syscall.SIGQUIT && (code != 1 || !strings.Contains(out, "goroutine profile") || strings.Contains(out, "(0x") || !strings.Contains(out, `Left open: ephemeral.playground_lease.l["x"]`)) {
					t.Errorf("exit code %d:\n%s", code, out)
				}
				for _, args := range [][]string{{"plan"}, {"apply", "-auto-approve", "-unknown=create"}} {
					code, next := p.run(args...)
					if code != 0 || !strings.Contains(next, "Leases left open") || !strings.Contains(next, `ephemeral.playground_lease.l["x"] of lethe/playground`) || !strings.Contains(next, `ephemeral.playground_lease.l["y"] of lethe/playground`) {
						t.Errorf("%s after it, exit code %d:\n%s", args[0], code, next)
					}
					out += next
				}
				code, next := p.run("plan")
				if code != 0 || strings.Contains(next, "Leases left open") {
					t.Errorf("plan after it was taken in, exit code %d:\n%s", code, next)
				}
				for n, left := range []int{2, 0} { // both leases are listed until the user removes them from the list
					code, list := p.run("leases", "list")
					if code != 0 || strings.Count(list, "ephemeral.playground_lease.l[") != left {
						t.Errorf("list %d, exit code %d:\n%s", n, code, list)
					}
					if left > 0 {
						p.run("leases", "close", "-auto-approve", `ephemeral.playground_lease.l["x"]`, `ephemeral.playground_lease.l["y"]`)
					}
				}
				p.run("state", "resolve", "-absent", "rogue_thing.a") // after a killed apply, the outcome of this call is unknown
				if _, err := os.Stat(filepath.Join(p.dir, "terraform.tfstate.journal")); err == nil {
					t.Error("there is still a journal")
				}
				p.forgotten(out + next)
			})
		}
	}
}

// TestTwoInterruptsKillWhatIgnoresThem checks that a child process that ignores signals does not keep a lease open.
func TestTwoInterruptsKillWhatIgnoresThem(t *testing.T) {
	t.Parallel()
	const stubborn = `trap '' TERM INT HUP; touch started; while true; do sleep 1; done`
	for name, config := range map[string]string{
		"provisioner": `
resource "playground_thing" "a" {
  name = "a"
  provisioner "local-exec" {
    command     = "` + stubborn + `"
    environment = { TOKEN = ephemeral.playground_lease.l.token }
  }
}
`,
		"lethe_exec": `
ephemeral "lethe_exec" "e" {
  open  = ["sh", "-c", "` + stubborn + `"]
  input = ephemeral.playground_lease.l.token
}
resource "playground_secret" "a" {
  name      = "a"
  secret_wo = ephemeral.lethe_exec.e.result
}
`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t, lease+config)
			s := p.start("apply", "-auto-approve")
			p.until("the program has started", func() bool {
				_, err := os.Stat(filepath.Join(p.dir, "started"))
				return err == nil
			})
			s.cmd.Process.Signal(syscall.SIGINT)
			p.printed(s, "A second interrupt abandons")
			s.cmd.Process.Signal(syscall.SIGINT)
			code, out := s.wait()
			left, _ := os.ReadDir(filepath.Join(p.dir, ".cloud/leases"))
			if code != 1 || len(left) > 0 && !strings.Contains(out, "Left open: ephemeral.playground_lease.l") && !strings.Contains(out, "ephemeral.playground_lease.l could not be closed") {
				t.Errorf("exit code %d, %d leases are left open:\n%s", code, len(left), out)
			}
			p.forgotten(out)
		})
	}
}
