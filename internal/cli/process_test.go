package cli_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/lethe-iac/lethe/internal/subprocess/waittest"
)

// process is a directory with a configuration in which the program runs as separate processes, for tests that act at
// certain moments of a run.
type process struct {
	t   testing.TB
	dir string
	env []string

	program string // the program to run instead of lethe; "" means lethe
}

const requirePlayground = "terraform {\n  required_providers {\n    playground = {\n      source = \"lethe/playground\"\n    }\n    rogue = {\n      source = \"lethe/rogue\"\n    }\n  }\n}\n"

// newProcess creates a directory with a configuration that may use the providers lethe/playground and lethe/rogue. env
// has variables of the environment in addition to the variables that the test providers need.
func newProcess(t *testing.T, config string, env ...string) *process {
	t.Helper()
	return newProcessFor(t, config, env...)
}

func newProcessFor(t testing.TB, config string, env ...string) *process {
	t.Helper()
	bin, err := playground()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, dir: t.TempDir()}
	rc := "provider_installation {\n  dev_overrides {\n"
	for _, host := range []string{"registry.opentofu.org", "registry.terraform.io"} {
		for _, name := range []string{"playground", "playground5", "rogue"} {
			rc += fmt.Sprintf("    %q = %q\n", host+"/lethe/"+name, bin)
		}
	}
	p.write(".rc", rc+"  }\n}\n")
	p.write("main.tf", requirePlayground+config)
	if err := os.MkdirAll(filepath.Join(p.dir, ".cloud"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TMPDIR=" + bin, "CHECKPOINT_DISABLE=1", "TF_INPUT=0",
		"TF_CLI_CONFIG_FILE=" + filepath.Join(p.dir, ".rc"), "PLAYGROUND_LOG=" + filepath.Join(p.dir, ".calls"), "PLAYGROUND_LOG_BEGIN=1",
		"PLAYGROUND_CLOUD=" + filepath.Join(p.dir, ".cloud"), "PLAYGROUND_CANARY=" + canary, "PLAYGROUND_IDS=name", "PLAYGROUND_ORPHAN=0s",
	}, env...)
	return p
}

func (p *process) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// canary is in every secret that the playground provider returns.
const canary = "canary-9e41"

// ownGroup puts a process into a separate process group, on systems that have process groups.
var ownGroup *syscall.SysProcAttr

// started is a running process.
type started struct {
	*process
	cmd    *exec.Cmd
	output shared // standard output and standard error
}

// shared is a buffer that can be read while it is written.
type shared struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (p *process) start(args ...string) *started {
	p.t.Helper()
	return p.startWith(nil, args...)
}

// startWith starts the program with standard input from a file. The parameter in may be nil.
func (p *process) startWith(in *os.File, args ...string) *started {
	p.t.Helper()
	s := p.command(args...)
	if in != nil {
		s.cmd.Stdin = in
		defer in.Close()
	}
	if err := s.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { s.cmd.Process.Kill() })
	return s
}

// command returns the program with these arguments, before its start.
func (p *process) command(args ...string) *started {
	p.t.Helper()
	path, err := exec.LookPath(cmp.Or(p.program, "lethe"))
	if err != nil {
		p.t.Fatal(err)
	}
	s := &started{process: p, cmd: exec.Command(path, args...)}
	s.cmd.Dir, s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = p.dir, p.env, &s.output, &s.output
	s.cmd.SysProcAttr = ownGroup
	return s
}

// wait waits for the end of the process. It returns the exit code, which is -1 after a signal, and the output.
func (s *started) wait() (int, string) {
	s.t.Helper()
	var exit *exec.ExitError
	if err := s.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return s.cmd.ProcessState.ExitCode(), s.output.String()
}

func (p *process) run(args ...string) (int, string) {
	p.t.Helper()
	return p.start(args...).wait()
}

// seen waits until the call log has a line with all the words.
func (p *process) seen(words ...string) {
	p.t.Helper()
	p.until(fmt.Sprintf("a call with %q is logged", words), func() bool { return p.count(words...) > 0 })
}

// until waits for a condition.
func (p *process) until(condition string, holds func() bool) {
	p.t.Helper()
	waittest.Until(p.t, condition, holds)
}

// printed waits until the program has printed text.
func (p *process) printed(s *started, text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("%q is printed", text), func() bool { return strings.Contains(s.output.String(), text) })
}

// count returns the number of lines in the call log that contain all the words.
func (p *process) count(words ...string) int {
	log, _ := os.ReadFile(filepath.Join(p.dir, ".calls"))
	n := 0
	for _, line := range strings.Split(string(log), "\n") {
		all := line != ""
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			n++
		}
	}
	return n
}

// forgotten fails the test if a secret is in a file of the directory or in the output.
func (p *process) forgotten(printed string) {
	p.t.Helper()
	if strings.Contains(printed, canary) {
		p.t.Errorf("a secret was printed:\n%s", printed)
	}
	err := filepath.WalkDir(p.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(canary)) {
			p.t.Errorf("a secret is in %s", path)
		}
		return err
	})
	if err != nil {
		p.t.Error(err)
	}
}
