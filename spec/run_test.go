package spec

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	hardLimit   = 2 * time.Minute         // limit for every command
	bombTime    = 5 * time.Second         // of CPU time; see patience
	bombMemory  = 1 << 30                 // largest memory of a bomb, in bytes
	incomplete  = "Apply is not complete" // title of the warning with which an apply may exit with status 2
	bombStopped = 3 << 29                 // a command with this much memory is ended, to protect the machine
)

// A runner runs cases with one program.
type runner struct {
	bin     string
	product bool   // the program is Lethe, which has more checks than the peer
	plugins string // folder of the playground providers; "" if they are not built

	patience time.Duration // time limit of a bomb
}

// run runs all steps of a case in a new directory, and returns one outcome for each step.
func (r *runner) run(t *testing.T, k *kase) []*outcome {
	t.Helper()
	s := &stage{runner: r, k: k, top: t.TempDir(), home: shortDir(t)}
	s.dir = filepath.Join(s.top, filepath.FromSlash(k.set.dir))
	var all []*outcome
	for i, files := range k.steps {
		if i > 0 {
			s.clear(t)
		}
		s.write(t, files)
		s.out = &outcome{}
		s.step()
		all = append(all, s.out)
	}
	return all
}

// shortDir returns a directory for files of commands. Its path is short, so that the path of a socket fits.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "spec")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// text returns the outcome of all steps in the form of a `want` file. want is the expected result, which has the
// patterns for details.
func (r *runner) text(all []*outcome, want string) string {
	if len(all) == 1 {
		return all[0].text(want, r.product)
	}
	parts := strings.Split(want, "step ")
	var b strings.Builder
	for i, o := range all {
		part := ""
		for _, p := range parts {
			if strings.HasPrefix(p, fmt.Sprintf("%d\n", i+1)) {
				part = p
			}
		}
		fmt.Fprintf(&b, "step %d\n%s", i+1, o.text(part, r.product))
	}
	return b.String()
}

// stage is the state of a running case. top is the directory of the case, dir the working directory of commands in it,
// and home the directory for files of the commands. out is the outcome of the current step.
type stage struct {
	*runner
	k              *kase
	top, dir, home string
	out            *outcome
}

// clear removes the configuration, but not the files that commands have made.
func (s *stage) clear(t *testing.T) {
	t.Helper()
	for _, step := range s.k.steps {
		for name := range step {
			if err := os.Remove(filepath.Join(s.top, filepath.FromSlash(name))); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
	}
}

// write writes the files of a step, the sparse file of the settings, and the CLI configuration for the providers.
func (s *stage) write(t *testing.T, all files) {
	t.Helper()
	for name, text := range all {
		path := filepath.Join(s.top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, s.k.set.bytes(name, text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.sparse(t)
	if s.k.set.providers {
		rc := "provider_installation {\n  dev_overrides {\n"
		for _, name := range []string{"playground", "playground5", "rogue", "strict"} {
			rc += fmt.Sprintf("    %q = %q\n", "registry.opentofu.org/lethe/"+name, s.plugins)
		}
		if err := os.WriteFile(filepath.Join(s.home, "rc"), []byte(rc+"  }\n}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// sparse creates the huge file of the settings, which takes no space on disk. It does nothing if the settings have
// none.
func (s *stage) sparse(t *testing.T) {
	t.Helper()
	name, size, ok := strings.Cut(s.k.set.sparse, " ")
	if !ok {
		return
	}
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.top, name)
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, n); err != nil {
		t.Fatal(err)
	}
}

// step runs the commands of a user, and ends after the last command of the settings or after a failure.
func (s *stage) step() {
	set := &s.k.set
	switch {
	case set.providers: // they are overridden, and so not to be installed; modules are
		s.command("get")
	case !s.product || set.stop == "init" || s.installs():
		s.stream("init", "-json", "-input=false")
	}
	if s.finished("init") {
		return
	}
	s.validate()
	if s.finished("validate") {
		return
	}
	if set.planned || set.stop == "plan" {
		s.stream(slices.Concat([]string{"plan", "-json", "-input=false", "-out=plan.bin"}, set.vars, set.args)...)
		s.planned()
		if s.finished("plan") {
			return
		}
		s.stream("apply", "-json", "-input=false", "plan.bin")
	} else {
		s.stream(slices.Concat([]string{"apply", "-json", "-input=false", "-auto-approve"}, set.vars, set.args)...)
	}
	raw, err := os.ReadFile(filepath.Join(s.dir, "terraform.tfstate"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.unexpected("%v", err)
	}
	if s.out.outputs, err = stateOutputs(raw); err != nil {
		s.unexpected("the state: %v", err)
	}
	here := strings.NewReplacer(s.dir, "<dir>", s.home, "<home>")
	for i, l := range s.out.outputs {
		s.out.outputs[i] = here.Replace(l)
	}
}

// installable matches configurations for which init has work.
var installable = regexp.MustCompile(`module|required_providers|backend|cloud|provider`)

// installs reports whether init has work. If not, users do not need init, and the case runs faster.
func (s *stage) installs() bool {
	for _, files := range s.k.steps {
		for _, text := range files {
			if installable.MatchString(text) {
				return true
			}
		}
	}
	return len(s.k.steps) == 0
}

// finished reports whether the step ends after a command: the settings end with it, or there was a failure.
func (s *stage) finished(command string) bool { return s.k.set.stop == command || s.out.failed() }

// stream runs a command that writes a line of JSON for every event, and records diagnostics and, if the settings ask
// for them, the number of changes. Any other line is an unexpected result, except in init of the peer.
func (s *stage) stream(args ...string) {
	out := s.command(args...)
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var line struct {
			Type       string
			Diagnostic message
			Changes    map[string]any
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			if !s.product && args[0] == "init" { // the peer prints messages about backends as text
				continue
			}
			s.unexpected("%s wrote %.200q", args[0], lines.Text())
			continue
		}
		switch line.Type {
		case "diagnostic":
			s.message(line.Diagnostic)
		case "change_summary":
			if s.k.set.changes {
				c := line.Changes
				s.out.changes = fmt.Sprintf("%v added, %v changed, %v destroyed", c["add"], c["change"], c["remove"])
				if n := c["import"]; n != nil && n != 0.0 {
					s.out.changes += fmt.Sprintf(", %v imported", n)
				}
			}
		}
	}
}

// validate runs validate and records its diagnostics. If the result contradicts the diagnostics, it is unexpected.
func (s *stage) validate() {
	out := s.command("validate", "-json")
	var doc struct {
		Valid       bool
		Diagnostics []message
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		s.unexpected("validate wrote %.200q", out)
		return
	}
	for _, m := range doc.Diagnostics {
		s.message(m)
	}
	if doc.Valid == s.out.hasErrors() {
		s.unexpected("validate says valid = %v", doc.Valid)
	}
}

// planned records the planned outputs, if the settings ask for them and nothing has failed.
func (s *stage) planned() {
	if s.out.failed() || !s.k.set.planned {
		return
	}
	var err error
	if s.out.planned, err = plannedOutputs(s.command("show", "-json", "plan.bin")); err != nil {
		s.unexpected("show -json: %v", err)
	}
}

// heading matches the peer's heading of the mistakes that init finds, which has the form of a mistake.
var heading = regexp.MustCompile(`encountered problems during initiali[sz]ation`)

// message records a diagnostic with a path relative to the working directory. It ignores the warning about development
// overrides and the heading of init.
func (s *stage) message(m message) {
	if m.Summary == "Provider development overrides are in effect" || heading.MatchString(m.Summary) {
		return
	}
	if strings.HasPrefix(m.Summary, "Cycle: ") { // the peer's title contains the names, in any order
		m.Summary, m.Detail = "Cycle", m.Summary+"\n"+m.Detail
	}
	if m.Range != nil {
		m.Range.Filename = strings.TrimPrefix(filepath.ToSlash(m.Range.Filename), filepath.ToSlash(s.dir)+"/")
	}
	s.out.add(m)
}

func (s *stage) unexpected(format string, args ...any) {
	s.out.other = append(s.out.other, fmt.Sprintf(format, args...))
}

// command runs the program and returns its standard output. An exit status other than 0 and 1 and the end of the time
// limit are unexpected results. Lethe may exit with status 2 if an apply has left a later round. For a bomb, command
// also checks the time and the memory. Callers look for failures in the diagnostics, because it does not return the
// status.
func (s *stage) command(args ...string) []byte {
	ctx, cancel := context.WithTimeout(context.Background(), hardLimit)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, s.bin, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, &stdout, &stderr
	cmd.Env = slices.Concat(s.environ(), s.k.set.env)
	began := time.Now()
	var used int64
	var err error
	if !s.k.set.bomb {
		err = cmd.Run()
	} else {
		used, err = watched(cmd)
		s.measure(args[0], spent(cmd, began), used)
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		s.unexpected("%s took more than %s", args[0], hardLimit)
	case errors.As(err, &exit) && exit.ExitCode() == 1, err == nil:
	case exit != nil && exit.ExitCode() == 2 && s.product && bytes.Contains(stdout.Bytes(), []byte(incomplete)):
	default:
		s.unexpected("%s: %v\n%.2000s", args[0], err, stderr.String())
	}
	return stdout.Bytes()
}

// spent returns the CPU time of a command that started at began, or the wall time if that is smaller. Wall time passes
// without work on a busy machine.
func spent(cmd *exec.Cmd, began time.Time) time.Duration {
	took := time.Since(began)
	if p := cmd.ProcessState; p != nil {
		took = min(took, p.UserTime()+p.SystemTime())
	}
	return took
}

// patience returns the time limit of a bomb: bombTime, or more if harmless work takes more than a thirtieth of it on
// this machine.
func patience(t *testing.T, bin string) time.Duration {
	t.Helper()
	dir := t.TempDir()
	const harmless = `output "o" { value = length([for a in range(300) : join("", [for b in range(300) : format("%s-%d", a, b)])]) }`
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(harmless), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "validate")
	cmd.Dir = dir
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("validate: %v\n%s", err, out)
	}
	return max(bombTime, 30*spent(cmd, began))
}

// measure records an unexpected result if a command took more than the patience or used more than bombMemory bytes.
func (s *stage) measure(command string, took time.Duration, used int64) {
	if took > s.patience {
		s.unexpected("%s took %s", command, took.Round(time.Second/10))
	}
	if used > bombMemory {
		s.unexpected("%s took %d MB of memory", command, used>>20)
	}
}

// environ returns the environment of commands. PATH is its only variable of the user who runs the tests.
func (s *stage) environ() []string {
	rc := os.DevNull
	if s.k.set.providers {
		rc = filepath.Join(s.home, "rc")
	}
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "TMPDIR=" + s.home,
		"TF_CLI_CONFIG_FILE=" + rc, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1",
	}
}

func keys[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }
