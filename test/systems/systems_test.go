// Package systems checks that programs for different processors exchange plan files, states and journals.
package systems

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

// The canaries are secrets that no file and no output may contain.
const (
	secret     = "canary-7d31 of a write-only argument"
	passphrase = "canary-90ce of the encryption"
	planKey    = "canary-ab42 of the seal"
)

const encryption = `{"key_provider":{"pbkdf2":{"k":{"passphrase":"` + passphrase + `","iterations":200000}}},"method":{"aes_gcm":{"m":{"keys":"key_provider.pbkdf2.k"}}},"state":{"method":"method.aes_gcm.m","enforced":true},"plan":{"method":"method.aes_gcm.m","enforced":true}}`

// engine is a program for an architecture, with a provider for the same architecture.
type engine struct {
	arch string // a value of GOARCH
	dir  string // the directory of both programs
}

// binaries is the directory of the built programs.
var binaries string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "lethe-systems-*")
	if err != nil {
		panic(err)
	}
	binaries = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// engines builds the programs, unless an earlier test has built them, and returns an engine for each architecture that
// runs here. LETHE_ARCHITECTURES is a list of architectures, separated by commas, all of which must run here. Without
// it, the list is this machine's architecture, and 386 on amd64. engines skips the test if only one architecture runs
// here.
func engines(t *testing.T) []engine {
	t.Helper()
	named := os.Getenv("LETHE_ARCHITECTURES")
	list := strings.Split(named, ",")
	if named == "" {
		if list = []string{runtime.GOARCH}; runtime.GOARCH == "amd64" {
			list = append(list, "386")
		}
	}
	var out []engine
	for _, arch := range list {
		e := engine{arch, filepath.Join(binaries, arch)}
		e.build(t, "../..", "./cmd/lethe", "readonly")
		e.build(t, "../providers", "./cmd/terraform-provider-playground", "mod")
		text, err := exec.Command(filepath.Join(e.dir, "lethe"), "version").CombinedOutput()
		switch {
		case err == nil && bytes.Contains(text, []byte("_"+arch+"\n")):
			out = append(out, e)
		case named == "" && arch != runtime.GOARCH:
			t.Logf("%s does not run here: %v", arch, err)
		default:
			t.Fatalf("%s: %v\n%s", arch, err, text)
		}
	}
	if len(out) < 2 {
		t.Skip("this machine runs programs of one architecture")
	}
	return out
}

// build builds a package of the module in a directory, unless the program exists. mod is the value of the flag -mod of
// go build.
func (e engine) build(t *testing.T, module, pkg, mod string) {
	t.Helper()
	path := filepath.Join(e.dir, filepath.Base(pkg))
	if _, err := os.Stat(path); err == nil {
		return
	}
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, pkg)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod="+mod, "GOOS="+runtime.GOOS, "GOARCH="+e.arch, "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s for %s: %v\n%s", pkg, e.arch, err, out)
	}
}

// project is a directory with the configuration, in which the engines work one after the other.
type project struct {
	*testing.T
	dir, home string   // home contains the objects of the provider and the log of its calls
	env       []string // further variables of the engines, in the form NAME=VALUE
}

// newProject returns a project without a state. At the end of the test, it checks that no file of the project contains
// a secret.
func newProject(t *testing.T, env ...string) *project {
	t.Helper()
	p := &project{t, t.TempDir(), t.TempDir(), env}
	config, err := os.ReadFile("testdata/main.tf")
	if err == nil {
		err = os.WriteFile(filepath.Join(p.dir, "main.tf"), config, 0o600)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(p.home, "cloud"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.noSecret(p.dir); p.noSecret(p.home) })
	return p
}

// command returns a command of an engine in the project.
func (p *project) command(e engine, args ...string) *exec.Cmd {
	p.Helper()
	rc := filepath.Join(p.home, e.arch+".rc")
	text := "provider_installation {\n  dev_overrides {\n    \"lethe/playground\" = \"" + e.dir + "\"\n  }\n}\n"
	if err := os.WriteFile(rc, []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(e.dir, "lethe"), args...)
	cmd.Dir = p.dir
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "TF_CLI_CONFIG_FILE=" + rc, "TF_IN_AUTOMATION=1", "TF_INPUT=0",
		"TF_VAR_secret=" + secret, "LETHE_PLAN_KEY=" + planKey, "PLAYGROUND_CLOUD=" + filepath.Join(p.home, "cloud"),
		"PLAYGROUND_LOG=" + p.log(), "PLAYGROUND_LOG_BEGIN=1", "PLAYGROUND_IDS=name", "CHECKPOINT_DISABLE=1",
	}, p.env...)
	return cmd
}

// log returns the path of the provider's log of calls.
func (p *project) log() string { return filepath.Join(p.home, "calls.log") }

// run runs a command that must succeed, and returns its standard output. It checks that the output contains no secret.
func (p *project) run(e engine, args ...string) []byte {
	p.Helper()
	cmd := p.command(e, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		p.Fatalf("%s: lethe %v: %v\n%s%s", e.arch, args, err, out, &stderr)
	}
	p.noSecretIn(e.arch+": lethe "+args[0], append(stderr.Bytes(), out...))
	return out
}

// noSecretIn checks that a text contains no secret. The parameter of names the text in the message.
func (p *project) noSecretIn(of string, text []byte) {
	p.Helper()
	for _, canary := range []string{secret, passphrase, planKey} {
		if bytes.Contains(text, []byte(canary)) {
			p.Errorf("%s contains %q", of, canary)
		}
	}
}

// noSecret checks that no file in a directory contains a secret.
func (p *project) noSecret(dir string) {
	p.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		p.noSecretIn(path, text)
		return err
	})
	if err != nil {
		p.Error(err)
	}
}

// document runs a command and decodes its JSON output. Numbers are decoded as json.Number.
func (p *project) document(e engine, args ...string) map[string]any {
	p.Helper()
	var doc map[string]any
	d := json.NewDecoder(bytes.NewReader(p.run(e, args...)))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		p.Fatalf("%s: lethe %v: %v", e.arch, args, err)
	}
	return doc
}

// same checks that two engines print the same document.
func (p *project) same(a, b engine, args ...string) {
	p.Helper()
	one, other := p.document(a, args...), p.document(b, args...)
	if !reflect.DeepEqual(one, other) {
		p.Errorf("lethe %v differs:\n%s: %v\n%s: %v", args, a.arch, one, b.arch, other)
	}
}

// exchange creates a state and saves a plan with one engine, and applies the plan with the other. It returns the values
// after the first apply.
func (p *project) exchange(a, b engine) map[string]any {
	p.Helper()
	p.run(a, "apply", "-auto-approve", "-var=step=1")
	values := p.document(a, "output", "-json")
	p.run(b, "plan", "-detailed-exitcode", "-var=step=1") // fails with exit code 2 if the plan has changes
	p.run(a, "plan", "-out=saved", "-var=step=2")
	p.same(a, b, "show", "-json", "saved")
	p.run(b, "apply", "saved")
	p.same(a, b, "show", "-json")
	for _, e := range []engine{a, b} {
		p.run(e, "plan", "-detailed-exitcode", "-var=step=2")
	}
	p.run(b, "destroy", "-auto-approve", "-var=step=2")
	return values
}

func TestPlansAndStatesAreExchanged(t *testing.T) {
	list := engines(t)
	var first map[string]any
	for i, a := range list {
		for j, b := range list {
			if i == j {
				continue
			}
			t.Run(a.arch+" to "+b.arch, func(t *testing.T) {
				var env []string
				if j == (i+1)%len(list) { // each engine writes and reads encrypted files once
					env = []string{"TF_ENCRYPTION=" + encryption}
				}
				p := newProject(t, env...)
				values := p.exchange(a, b)
				if first == nil {
					first = values
				} else if !reflect.DeepEqual(first, values) {
					t.Errorf("%s computes\n%v\nand %s computes\n%v", list[0].arch, first, a.arch, values)
				}
			})
		}
	}
}

// TestJournalsAreExchanged kills an apply of one engine during its second object. The next engine continues from the
// journal: it creates no object twice.
func TestJournalsAreExchanged(t *testing.T) {
	list := engines(t)
	for i, a := range list {
		b := list[(i+1)%len(list)]
		t.Run(a.arch+" to "+b.arch, func(t *testing.T) {
			p := newProject(t)
			cmd := p.command(a, "apply", "-auto-approve", "-var=step=1")
			cmd.Env = append(cmd.Env, "PLAYGROUND_DELAY=second:create=5s")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			for !p.creating("second") {
				select {
				case err := <-ended:
					t.Fatalf("the apply ended too early: %v", err)
				case <-time.After(20 * time.Millisecond):
				}
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-ended
			p.run(b, "apply", "-auto-approve", "-var=step=1")
			p.run(b, "plan", "-detailed-exitcode", "-var=step=1")
			text, err := os.ReadFile(p.log())
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"first", "second"} {
				if n := began(t, text, name); n != 1 {
					t.Errorf("%s was created %d times", name, n)
				}
			}
		})
	}
}

// creating reports whether the provider has begun to create or change an object.
func (p *project) creating(name string) bool {
	text, err := os.ReadFile(p.log())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.Fatal(err)
	}
	return began(p.T, text, name) > 0
}

// began counts the calls in a log that began to create or change the object with a name. An incomplete last line is
// ignored.
func began(t *testing.T, log []byte, name string) (n int) {
	t.Helper()
	for line := range bytes.Lines(log) {
		var call struct{ Call, Key, Action, Phase string }
		if !bytes.HasSuffix(line, []byte("\n")) { // an incomplete line, which is being written
			continue
		}
		if err := json.Unmarshal(line, &call); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if call.Phase == "begin" && strings.HasPrefix(call.Call, "Apply") && call.Key == name {
			n++
		}
	}
	return n
}
