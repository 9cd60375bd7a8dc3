//go:build unix

package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/providertest"
	"github.com/lethe-iac/lethe/internal/provider/wire/wiretest"
	"github.com/lethe-iac/lethe/internal/subprocess/waittest"
)

// playing is the environment variable that selects the role of the test binary. The tests start their own binary as the
// provider's program.
const playing = "LAUNCH_TEST_PLAYS"

func TestMain(m *testing.M) {
	if part := os.Getenv(playing); part != "" {
		play(part)
		return
	}
	code := m.Run()
	removePlaygrounds()
	os.Exit(code)
}

func play(part string) {
	switch part {
	case "protocol 5":
		(&wiretest.Server{Major: 5, Provider: actor()}).Main()
	case "protocol 6":
		(&wiretest.Server{Major: 6, Provider: actor()}).Main()
	case "protocol 4":
		(&wiretest.Server{Major: 4, Provider: actor()}).Main()
	case "exits":
		fmt.Fprintln(os.Stderr, "libsomething.so: cannot open")
		os.Exit(3)
	case "exits well":
	case "exits later":
		fmt.Println("1|6|unix|/nowhere|grpc|")
		os.Exit(3)
	case "panics later":
		fmt.Println("1|6|unix|/nowhere|grpc|")
		panic("out of my depth")
	case "sleeps":
		linger()
	case "says hello":
		fmt.Println("Usage: not a plugin")
		linger()
	case "says nothing":
		fmt.Println()
		linger()
	case "makes noise":
		os.Stdout.Write(bytes.Repeat([]byte("noise "), 1<<20))
		linger()
	case "handshake 2":
		fmt.Println("2|6|unix|/nowhere|grpc|")
		linger()
	case "net/rpc":
		fmt.Println("1|5|unix|/nowhere|netrpc|")
		linger()
	case "old":
		fmt.Println("1|5|unix|/nowhere")
		linger()
	case "no address":
		fmt.Println("1|6|pigeon|here|grpc|")
		linger()
	case "bad certificate":
		fmt.Println("1|6|unix|/nowhere|grpc|" + strings.Repeat("AAAA", 20))
		linger()
	case "parent":
		parent()
	default:
		panic("no part " + part)
	}
}

// linger lets a process live until the test ends it. If the test is killed first, the process ends after a minute.
func linger() { time.Sleep(time.Minute) }

// actor is the provider in the other process. A test calls Validate with the name of an action in place of a resource
// type. The provider executes the action, and returns the result in the detail of a warning.
func actor() *providertest.Fake {
	return &providertest.Fake{
		OnValidate: func(_ context.Context, _ addr.Mode, act string, _ provider.Dynamic) provider.Diags {
			switch act {
			case "panics":
				panic("out of my depth")
			case "exits":
				os.Exit(7)
			case "sleeps":
				fmt.Fprintln(os.Stderr, "sleeping")
				linger()
			case "writes":
				os.Stderr.WriteString(everyLine)
				fmt.Println("to standard output")
			}
			return provider.Diags{diag.Warningf(act, "%s", readsOutput(act))}
		},
	}
}

func readsOutput(act string) string {
	switch act {
	case "environment":
		return strings.Join(os.Environ(), "\n")
	case "standard input":
		b, err := io.ReadAll(os.Stdin)
		return fmt.Sprintf("%d bytes, %v", len(b), err)
	case "process":
		return fmt.Sprint(os.Getpid())
	case "session":
		return session()
	}
	return ""
}

var playground = addr.Provider{Host: addr.DefaultHost, Namespace: "acme", Type: "playground"}

// processes returns a launcher of the test binary in a role.
func processes(t testing.TB, part string, env ...string) *Processes {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &Processes{
		Find:      func(addr.Provider) (string, error) { return self, nil },
		VersionOf: func(addr.Provider) string { return "2.0.1" },
		Env:       append(env, playing+"="+part, "PATH="+os.Getenv("PATH"), "TMPDIR="+os.TempDir()),
		Version:   "1.12.0",
		Deadlines: provider.Deadlines{Start: 20 * time.Second},
	}
}

func start1(t testing.TB, ps *Processes) provider.Provider {
	t.Helper()
	p, err := ps.Start(context.Background(), playground)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Shutdown() })
	return p
}

// ask lets the other process act, and returns its result.
func ask(t testing.TB, p provider.Provider, act string) string {
	t.Helper()
	ds := p.Validate(context.Background(), addr.Managed, act, provider.Dynamic{})
	if len(ds) != 1 || ds.HasErrors() {
		t.Fatalf("%s: %v", act, ds)
	}
	return ds[0].Detail
}

// journal collects log lines.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) log(p addr.Provider, level, line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, level+" "+line)
}

func (j *journal) text() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, "\n") + "\n"
}

// await waits for a line, because the output of a process arrives at any time.
func (j *journal) await(t *testing.T, line string) {
	t.Helper()
	waittest.Until(t, fmt.Sprintf("%q is in the log", line), func() bool { return strings.Contains(j.text(), line+"\n") })
}

// refused starts a process that must fail to start, and returns the reason.
func refused(t *testing.T, ctx context.Context, ps *Processes) string {
	t.Helper()
	p, err := ps.Start(ctx, playground)
	if err == nil {
		p.Shutdown()
		t.Fatal("it started")
	}
	var d diag.Diagnostic
	if !errors.As(err, &d) || d.Summary != "Failed to start provider" || d.Severity != diag.Error {
		t.Fatalf("no diagnostic: %v", err)
	}
	if !strings.Contains(d.Detail, "registry.opentofu.org/acme/playground (version 2.0.1)") {
		t.Errorf("the provider is not named: %s", d.Detail)
	}
	return d.Detail
}
