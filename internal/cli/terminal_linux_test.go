package cli_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal returns both ends of a new terminal: the end of the user and the end of a program.
func terminal(t *testing.T) (user, program *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	fd := int(user.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return user, program
}

// TestTerminalGoesAway checks that closing the terminal during an apply acts like an interrupt. The program starts no
// new change and closes open leases (ephemeral resources). Afterwards the outcome of no provider call is unknown.
func TestTerminalGoesAway(t *testing.T) {
	t.Parallel()
	p := newProcess(t, lease+consumer("2s")+`
resource "playground_thing" "next" {
  name = playground_secret.a.name
}
`)
	user, program := terminal(t)
	path, err := exec.LookPath("lethe")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "apply", "-auto-approve")
	cmd.Dir, cmd.Env = p.dir, append(p.env, "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	program.Close()
	seen := make(chan bool)
	go func() {
		defer close(seen)
		var text strings.Builder
		for b := make([]byte, 4096); !strings.Contains(text.String(), "playground_secret.a: Creating"); {
			n, err := user.Read(b)
			if err != nil {
				return
			}
			text.Write(b[:n])
		}
	}()
	<-seen
	p.seen("ApplyResourceChange", `"phase":"begin"`)
	user.Close()
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("ended with %v", err)
	}
	if n := p.count("CloseEphemeralResource"); n < 2 {
		t.Errorf("%d leases were closed, not those of plan and apply", n)
	}
	if code, out := p.run("plan"); code != 0 || strings.Contains(out, "earlier run") {
		t.Errorf("the next plan ends with %d:\n%s", code, out)
	}
	if n := p.count("ApplyResourceChange", "playground_thing"); n > 0 {
		t.Error("something new was begun afterwards")
	}
}

// TestConsoleAtTerminal checks the keys of the console: ^C drops the typed text, and ^D ends the console. Invalid input
// is rejected without evaluation, and ephemeral values are not shown.
func TestConsoleAtTerminal(t *testing.T) {
	t.Parallel()
	p := newProcess(t, `
variable "e" {
  ephemeral = true
  default   = "canary-5c1d"
}
`)
	d := newDialog(t, p, "console")
	d.see("> ")
	for _, step := range []struct{ typed, want string }{
		{"[1,\r", "\r\n"},
		{"\x03", "(multi-line entry canceled)\r\n"},
		{"1 +\x03", "\n"},
		{"6 * 7\r", "42\r\n"},
		{"\"\xff\"\r", "Invalid character encoding"},
		{"7 * 7\r", "49\r\n"},
		{strings.Repeat("1+", 2100) + "1\r", "Expression too long"},
		{"8 * 7\r", "56\r\n"},
		{"[var.e]\r", "(ephemeral value)"},
	} {
		d.write(step.typed)
		d.see(step.want)
		prompt := "> "
		if step.typed == "[1,\r" {
			prompt = ": "
		}
		d.see(prompt) // the prompt shows that the console reads again
	}
	d.write("\x04")
	text, err := d.end()
	if err != nil {
		t.Errorf("ended with %v:\n%s", err, text)
	}
	if strings.Contains(text, "canary-5c1d") {
		t.Errorf("the ephemeral value is shown:\n%s", text)
	}
}

// TestSecretAtTerminal checks the input of a secret: the typed text is not shown, and its bytes are used unchanged. ^D
// ends the input without a value, and ^C ends the command.
func TestSecretAtTerminal(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"canary-77e0\r":             "No changes",
		"can\tar\xe4\r":             "No changes",
		"can\x15canary-77e1\x7f0\r": "No changes",
		"canary-77\r":               "is another one",
		"\x04":                      "No value for required variable",
		"can\x03":                   "Interrupt received",
	} {
		p := newProcess(t, `
variable "secret" {
  ephemeral = true
  validation {
    condition     = contains([sha1("canary-77e0"), "d1c85022d9eb377abffd43319e489abd0cfe5d56"], sha1(var.secret)) # of the bytes "can\tar\xe4"
    error_message = "It is another one."
  }
}
`)
		d := newDialog(t, p, "plan", "-input=true")
		d.see("Enter a value: ")
		d.write(typed)
		d.see(want)
		if text, _ := d.end(); strings.Contains(text, "can") {
			t.Errorf("%q is shown:\n%s", typed, text)
		}
	}
}

// TestInterruptedQuestion ends a command that waits for an answer, by a key or a signal. The command leaves no lock, no
// file and no directory, and the terminal has its former mode.
func TestInterruptedQuestion(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		config, command, typed string
		signal                 syscall.Signal
	}{
		"approval, interrupt key": {"", "apply", "\x03", 0},
		"approval, end key":       {"", "apply", "\x04", 0},
		"approval, quit key":      {"", "apply", "\x1c", 0},
		"approval, hangup":        {"", "apply", "", syscall.SIGHUP},
		"secret, interrupt key":   {"variable \"s\" {\n  sensitive = true\n}\n", "plan", "can\x03", 0},
		"secret, quit key":        {"variable \"s\" {\n  sensitive = true\n}\n", "plan", "can\x1a\x1c", 0},
		"secret, SIGTERM":         {"variable \"s\" {\n  sensitive = true\n}\n", "plan", "can", syscall.SIGTERM},
		"secret, SIGQUIT":         {"variable \"s\" {\n  sensitive = true\n}\n", "plan", "can", syscall.SIGQUIT},
	} {
		for _, workspace := range []string{"default", "w"} {
			p := newProcess(t, "resource \"terraform_data\" \"a\" {\n}\n"+x.config)
			p.env = append(p.env, "TF_WORKSPACE="+workspace)
			files := func() (out []string) {
				entries, err := os.ReadDir(p.dir)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					out = append(out, e.Name())
				}
				return out
			}
			mode := func(of *os.File) unix.Termios {
				m, err := unix.IoctlGetTermios(int(of.Fd()), unix.TCGETS)
				if err != nil {
					t.Fatal(err)
				}
				return *m
			}
			fresh, program := terminal(t)
			was := mode(fresh)
			fresh.Close()
			program.Close()
			before := files()
			d := newDialog(t, p, x.command, "-input=true")
			d.see("Enter a value: ")
			d.write(x.typed)
			if x.signal != 0 {
				if err := d.cmd.Process.Signal(x.signal); err != nil {
					t.Fatal(err)
				}
			}
			go func() {
				for more := range d.shown {
					d.text.WriteString(more)
				}
			}()
			if err := d.cmd.Wait(); err == nil || d.cmd.ProcessState.ExitCode() != 1 {
				t.Errorf("%s, %s: ended with %v", name, workspace, err)
			}
			if is := mode(d.user); is != was {
				t.Errorf("%s, %s: the terminal has the mode %+v, not %+v", name, workspace, is, was)
			}
			if after := files(); !slices.Equal(before, after) {
				t.Errorf("%s, %s: left behind: %v", name, workspace, after)
			}
			d.user.Close()
		}
	}
}

// TestProvisionerAtTerminal checks that a program that local-exec runs can ask questions at the terminal. A typed
// interrupt ends this program, even if the program ignores interrupts, and the command of Lethe.
func TestProvisionerAtTerminal(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ command, typed, want string }{
		"a question":              {`printf 'who? ' >/dev/tty; read x </dev/tty; echo "hello $x"`, "me\r", "hello me"},
		"an interrupt":            {`printf 'who? ' >/dev/tty; read x </dev/tty`, "\x03", "interrupted"},
		"an interrupt is ignored": {`trap '' INT; printf 'who? ' >/dev/tty; while :; do sleep 0.1; done`, "\x03", "interrupted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t, fmt.Sprintf("resource \"terraform_data\" \"a\" {\n  provisioner \"local-exec\" {\n    quiet   = true\n    command = %q\n  }\n}\n", x.command))
			d := newDialog(t, p, "apply", "-auto-approve")
			d.see("who? ")
			d.write(x.typed)
			d.see(x.want)
			text, err := d.end()
			if failed := err != nil; failed != (x.typed == "\x03") {
				t.Errorf("ended with %v:\n%s", err, text)
			}
		})
	}
}

// dialog is a command at a terminal.
type dialog struct {
	t     *testing.T
	cmd   *exec.Cmd
	user  *os.File        // the end of the user of the terminal
	shown chan string     // the texts that the terminal shows, in portions
	text  strings.Builder // all text that was shown
	from  int             // the start of the text that see has not matched yet
}

func newDialog(t *testing.T, p *process, args ...string) *dialog {
	t.Helper()
	user, program := terminal(t)
	path, err := exec.LookPath("lethe")
	if err != nil {
		t.Fatal(err)
	}
	d := &dialog{t: t, cmd: exec.Command(path, args...), user: user, shown: make(chan string, 100)}
	d.cmd.Dir, d.cmd.Env = p.dir, append(p.env, "TERM=xterm")
	d.cmd.Stdin, d.cmd.Stdout, d.cmd.Stderr = program, program, program
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.cmd.Process.Kill() })
	program.Close()
	go func() {
		defer close(d.shown)
		for b := make([]byte, 4096); ; {
			n, err := user.Read(b)
			if n > 0 {
				d.shown <- string(b[:n])
			}
			if err != nil {
				return
			}
		}
	}()
	return d
}

// see waits until the text is shown.
func (d *dialog) see(want string) {
	d.t.Helper()
	for !strings.Contains(d.text.String()[d.from:], want) {
		select {
		case more, open := <-d.shown:
			if d.text.WriteString(more); !open {
				d.t.Fatalf("ended without %q:\n%s", want, d.text.String())
			}
		case <-time.After(time.Minute):
			d.t.Fatalf("waited for %q:\n%s", want, d.text.String())
		}
	}
	d.from += strings.Index(d.text.String()[d.from:], want) + len(want)
}

func (d *dialog) write(typed string) {
	d.t.Helper()
	if _, err := d.user.WriteString(typed); err != nil {
		d.t.Fatal(err)
	}
}

// end waits for the end of the command, and returns all text that was shown.
func (d *dialog) end() (string, error) {
	err := d.cmd.Wait()
	d.user.Close()
	for more := range d.shown {
		d.text.WriteString(more)
	}
	return d.text.String(), err
}

// TestFold checks that -fold shows equal changes of one resource once on a terminal.
func TestFold(t *testing.T) {
	t.Parallel()
	p := newProcess(t, `
resource "terraform_data" "x" {
  for_each = toset(["a", "b", "c"])
  input    = "same"
}
`)
	path, err := exec.LookPath("lethe")
	if err != nil {
		t.Fatal(err)
	}
	for _, fold := range []bool{false, true} {
		user, program := terminal(t)
		cmd := exec.Command(path, "plan", fmt.Sprintf("-fold=%t", fold), "-no-color")
		cmd.Dir, cmd.Env = p.dir, append(p.env, "TERM=xterm")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		program.Close()
		text, _ := io.ReadAll(user) // reading after the end of a terminal returns an error
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, text)
		}
		user.Close()
		headings := strings.Count(string(text), "will be created")
		folded := strings.Contains(string(text), `(and 2 equal changes: terraform_data.x["b"], terraform_data.x["c"])`)
		if folded != fold || fold && headings != 1 || !fold && headings != 3 || !strings.Contains(string(text), "Plan: 3 to add") {
			t.Errorf("-fold=%t: %d headings in\n%s", fold, headings, text)
		}
	}
}
