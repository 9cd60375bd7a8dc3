package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lethe-iac/lethe/internal/store/storetest"
)

// remote is a process whose state is on a server.
type remote struct {
	*process
	server *storetest.HTTP
	url    string
}

func newRemote(t *testing.T, config string, env ...string) *remote {
	server := &storetest.HTTP{}
	at := httptest.NewServer(server)
	t.Cleanup(at.Close)
	return &remote{newProcess(t, fmt.Sprintf("terraform {\n  backend \"http\" {\n    address        = %[1]q\n    lock_address   = %[1]q\n    unlock_address = %[1]q\n  }\n}\n", at.URL)+config, env...), server, at.URL}
}

// has waits until the state on the server contains a text.
func (r *remote) has(text string) {
	r.t.Helper()
	r.until(fmt.Sprintf("the state has %q", text), func() bool {
		a, err := http.Get(r.url)
		if err != nil {
			r.t.Fatal(err)
		}
		defer a.Body.Close()
		state, err := io.ReadAll(a.Body)
		return err == nil && strings.Contains(string(state), text)
	})
}

// killed simulates the loss of the machine of r. It returns a process in a new directory with the same configuration,
// and releases the lock of the state.
func (r *remote) killed(t *testing.T) *process {
	next := newProcess(t, "")
	text, err := os.ReadFile(filepath.Join(r.dir, "main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	next.write("main.tf", string(text))
	next.env = append(next.env, "PLAYGROUND_CLOUD="+filepath.Join(r.dir, ".cloud"))
	r.server.SetLock("")
	return next
}

func (p *process) mustRun(args ...string) string {
	p.t.Helper()
	code, out := p.run(args...)
	if code != 0 {
		p.t.Fatalf("exit code %d:\n%s", code, out)
	}
	return out
}

const oneHangs = `
resource "playground_thing" "a" {
  name = "a"
}
resource "rogue_thing" "h" {
  name      = playground_thing.a.name
  misbehave = "Apply=hang"
}
`

// TestInterruptWritesState checks that the first interrupt writes the state to its store at once, without waiting for
// calls in progress. If the process is then killed and the disk is lost, another machine has all finished changes.
func TestInterruptWritesState(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			r := newRemote(t, oneHangs, "LETHE_KEEPER=off") // the keeper, a second process of Lethe, would wait for the call that hangs
			r.mustRun("init")
			s := r.start("apply", "-auto-approve")
			r.seen("ApplyResourceChange", "rogue", `"phase":"begin"`)
			s.cmd.Process.Signal(sig)
			r.has("playground_thing")
			s.cmd.Process.Kill()
			s.wait()
			next := r.killed(t)
			next.mustRun("init")
			if out := next.mustRun("plan"); !strings.Contains(out, "1 to add, 0 to change, 0 to destroy") {
				t.Error(out)
			}
		})
	}
}

// TestInterimState checks that the state is written to its store during an apply. After a kill, the recovery uses only
// the journal records after the last write.
func TestInterimState(t *testing.T) {
	t.Parallel()
	r := newRemote(t, oneHangs, "TF_STATE_PERSIST_INTERVAL=0", "LETHE_KEEPER=off")
	r.mustRun("init")
	s := r.start("apply", "-auto-approve")
	r.seen("ApplyResourceChange", "rogue", `"phase":"begin"`)
	r.has("playground_thing")
	s.cmd.Process.Kill()
	s.wait()
	r.server.SetLock("")
	out := r.mustRun("plan", "-refresh=false")
	if !strings.Contains(out, "1 to add, 0 to change, 0 to destroy") || !strings.Contains(out, `rogue_thing.h: the outcome of "create" is unknown`) || strings.Contains(out, "another state") {
		t.Error(out)
	}
}
