package cli_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli"
	"github.com/lethe-iac/lethe/internal/disk/disktest"
	"github.com/lethe-iac/lethe/internal/provider/builtin/lethe"
	"github.com/lethe-iac/lethe/internal/provider/keeper"
	"github.com/lethe-iac/lethe/internal/provider/plugin"
	"github.com/lethe-iac/lethe/internal/sshconn/sshdtest"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/subprocess"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets scripts run this test binary as the program. Each `lethe` in a script is a separate process.
func TestMain(m *testing.M) {
	testscript.Main(tidy{m}, map[string]func(){
		"peer": peer, "xdg-open": browser, "terraform-provider-lethe_v0.1.0": hosted,
		"lethe": func() {
			if code, first := keeper.First(os.Args, os.Environ()); first {
				os.Exit(code)
			}
			cli.Collect()
			store.Hurry(20) // waits for services are 20 times as short as for a user
			args, dir := calledFrom(os.Args[1:])
			stdout, stderr := recorded(os.Stdout), recorded(os.Stderr)
			os.Exit(cli.Main(cli.Env{
				Args: args, Program: os.Args[0], Stdin: os.Stdin, Stdout: stdout, Stderr: stderr,
				Dir: dir, Environ: os.Environ(), Now: time.Now, Signals: cli.Signals(), Hide: subprocess.Hide, Enter: os.Chdir,
				Keeper: func() (*keeper.Process, error) { return keeper.Spawn(os.Args[0], os.Environ()) },
			}))
		},
	})
}

// hosted runs the built-in provider as a plugin program, which another program such as Terraform starts.
func hosted() {
	dir, err := os.Getwd()
	if err != nil || !plugin.Hosted(os.Args) {
		fmt.Fprintln(os.Stderr, "not started as a plugin", err)
		os.Exit(1)
	}
	os.Exit(plugin.Serve(lethe.New(lethe.Options{Address: addr.Published(), Dir: dir})))
}

// tidy removes the programs that the tests have built.
type tidy struct{ *testing.M }

func (m tidy) Run() int {
	// A program that nohup starts ignores hang-ups, and so do its child processes. If this process handles SIGHUP, the
	// programs of the tests receive the signal.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	// Tests wait for processes most of the time, so more tests than processors run in parallel. An option of the
	// command line overrides this number. Tests are parallel at the top level, too, so that the processors work while
	// the last scripts of one test wait.
	_ = flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0)))
	code := m.M.Run()
	if builtIn != "" {
		os.RemoveAll(builtIn)
	}
	return code
}

// TestScripts runs the scripts in testdata/script, each of which shows one behaviour. A script is in a folder for its
// subject. A single script runs with -run 'TestScripts/^folder$/^name$'.
func TestScripts(t *testing.T) {
	t.Parallel()
	p := params(setup)
	p.UpdateScripts = os.Getenv("UPDATE_SCRIPTS") != ""
	p.Cmds["sshd"] = sshd(t)
	servers(t, p)
	runScripts(t, p, scripts(t))
}

// servers adds the script commands that run servers.
func servers(t *testing.T, p testscript.Params) {
	p.Cmds["registry"], p.Cmds["git"], p.Cmds["stateserver"], p.Cmds["tfe"] = registryOf(t), git, stateServerOf(t), tfe
}

// script is one of the files that TestScripts runs.
type script struct {
	folder, name string // name without .txtar
	file         string
	text         []byte
}

// scripts returns the scripts, sorted by name.
func scripts(t *testing.T) []script {
	t.Helper()
	files, err := filepath.Glob("testdata/script/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	if strays, _ := filepath.Glob("testdata/script/*.txtar"); len(strays) > 0 {
		t.Errorf("these belong into a folder: %s", strays)
	}
	var out []script
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, script{filepath.Base(filepath.Dir(f)), strings.TrimSuffix(filepath.Base(f), ".txtar"), f, text})
	}
	return out
}

// runScripts runs scripts in parallel, each as a subtest of the test of its folder. It skips scripts that cannot run on
// this system. It also skips a slow script, unless LETHE_WIDE or LETHE_LONG is set or -run names the script.
func runScripts(t *testing.T, p testscript.Params, list []script) {
	by, skipped := map[string][]string{}, map[string]string{}
	for _, s := range list {
		by[s.folder] = append(by[s.folder], s.file)
		name := s.folder + "/" + s.name
		if skipped[name] = unrunnable(s); skipped[name] == "" && slowness(s) != "" && !wide() && !named(s.name) {
			skipped[name] = slowness(s) + ": LETHE_WIDE=1 runs it"
		}
	}
	for folder, files := range by {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			p := p
			p.Files = files
			setup := p.Setup
			p.Setup = func(e *testscript.Env) error {
				if reason := skipped[folder+"/"+strings.TrimPrefix(filepath.Base(e.WorkDir), "script-")]; reason != "" {
					e.T().Skip(reason)
				}
				return setup(e)
			}
			testscript.Run(t, p)
		})
	}
}

func params(setup func(*testscript.Env) error) testscript.Params {
	return testscript.Params{
		Setup:               setup,
		RequireExplicitExec: true,
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "peer":
				_, err := exec.LookPath("terraform")
				return err == nil, nil
			case "sshd":
				return sshdtest.Installed() != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"calls":  calls,
			"absent": absent,
			"await":  await,
			"keeps":  keeps,
			"dial":   dial,
			"private": func(ts *testscript.TestScript, _ bool, args []string) {
				for _, name := range args { // only the owner may read these files
					ts.Check(disktest.Private(ts.MkAbs(name)))
				}
			},
			"combine": func(ts *testscript.TestScript, _ bool, _ []string) {
				_, err := combined()
				ts.Check(err)
			},
		},
	}
}

func setup(e *testscript.Env) error {
	return setupFor(e, "registry.opentofu.org")
}

func setupFor(e *testscript.Env, host string) error {
	bin, err := playground()
	if err != nil {
		return err
	}
	rc := filepath.Join(e.WorkDir, ".rc")
	text := "provider_installation {\n  dev_overrides {\n"
	for _, name := range []string{"playground", "playground5", "rogue", "strict"} {
		text += fmt.Sprintf("    %q = %q\n", host+"/lethe/"+name, bin)
	}
	text += fmt.Sprintf("    %q = %q\n", host+"/lethe/combine", filepath.Join(bin, "combine"))
	if err := os.WriteFile(rc, []byte(text+"  }\n}\n"), 0o600); err != nil {
		return err
	}
	e.Setenv("TF_CLI_CONFIG_FILE", rc)
	e.Setenv("TMPDIR", bin) // short, because the path of a provider's socket has at most 108 bytes
	watch(e)
	e.Setenv("PLAYGROUND_LOG", filepath.Join(e.WorkDir, ".calls"))
	e.Setenv("PLAYGROUND_CLOUD", filepath.Join(e.WorkDir, ".cloud"))
	e.Setenv("COMBINE_CLOUD", filepath.Join(e.WorkDir, ".cloud"))
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		return err
	}
	e.Setenv("EXAMPLES", examples)
	e.Setenv("PLATFORM", runtime.GOOS+"_"+runtime.GOARCH) // the platform in the form that provider mirrors use, such as linux_amd64
	e.Setenv("TF_IN_AUTOMATION", "")
	e.Setenv("TF_INPUT", "0")
	e.Setenv("HTTPS_PROXY", "http://127.0.0.1:1") // no request leaves this machine: requests to other hosts fail at once
	e.Setenv("TF_REGISTRY_DISCOVERY_RETRY", "0")  // requests to a registry are not repeated after seconds
	e.Setenv("CHECKPOINT_DISABLE", "1")
	return os.MkdirAll(filepath.Join(e.WorkDir, ".cloud"), 0o755)
}

// builtIn is the directory of the built providers, "" before they are built.
var builtIn string

// playground builds the test providers, which are in the module test/providers, once, and returns the directory of
// their programs. If LETHE_TEST_PROVIDERS names a directory, the programs are built there and remain, so that the next
// run links only changed providers.
var playground = sync.OnceValues(func() (string, error) {
	dir := os.Getenv("LETHE_TEST_PROVIDERS")
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "lethe-playground-*"); err != nil {
			return "", err
		}
		builtIn = dir
	}
	if _, err := exec.LookPath("go"); err != nil && builtIn == "" {
		return filepath.Abs(dir) // the providers were built on another system
	}
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir, "./cmd/...")
	cmd.Dir = "../../test/providers"
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
	// go test repeats a cached test if a file that the test reads has changed. It does not see which files go build
	// reads, so this walk reads the directories of the sources.
	_ = filepath.WalkDir(cmd.Dir, func(string, fs.DirEntry, error) error { return nil })
	if out, err := cmd.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("building the playground providers: %w\n%s", err, out)
	}
	return dir, nil
})

// combined builds the provider of the random scenarios in test/combine, in the directory of the other providers. The
// scripts that were derived from these scenarios use this provider.
var combined = sync.OnceValues(func() (string, error) {
	bin, err := playground()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(bin, "combine")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir+string(filepath.Separator), "./cmd/...")
	cmd.Dir = "../../test/combine"
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
	if out, err := cmd.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("building the provider of the scenarios: %w\n%s", err, out)
	}
	return dir, nil
})

// calls checks the log of provider calls: `calls 'Apply playground_thing' 2` checks that two lines contain all the
// words.
func calls(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: calls WORDS COUNT")
	}
	if n, log := logged(ts, args[0]); fmt.Sprint(n) != args[1] {
		ts.Fatalf("%d calls of %q, want %s:\n%s", n, args[0], args[1], log)
	}
}

// await waits until a line of the log of provider calls contains all the words: `await 'Apply begin'`.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await WORDS")
	}
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		n, log := logged(ts, args[0])
		if n > 0 {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("waited in vain for a call of %q:\n%s", args[0], log)
		}
	}
}

// logged returns the number of lines in the log of provider calls that contain all the words, and the log.
func logged(ts *testscript.TestScript, words string) (n int, log string) {
	text, _ := os.ReadFile(ts.Getenv("PLAYGROUND_LOG"))
	for line := range strings.Lines(string(text)) {
		all := true
		for _, w := range strings.Fields(words) {
			all = all && strings.Contains(line, w)
		}
		if all {
			n++
		}
	}
	return n, string(text)
}
