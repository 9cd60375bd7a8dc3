package stores

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// gate is a server with a state. Each request waits until the gate opens.
type gate struct {
	*httptest.Server
	reached chan struct{} // has an element for each reader
	open    chan struct{} // closed: readers get the state
}

// newGate starts a closed gate until the end of the test.
func newGate(t *testing.T) *gate {
	g := &gate{reached: make(chan struct{}, 100), open: make(chan struct{})}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.reached <- struct{}{}
		select {
		case <-g.open:
		case <-r.Context().Done():
		}
		io.WriteString(w, `{"version":4,"terraform_version":"1.11.4","serial":1,"lineage":"5f0c3a8e-2f6e-4a53-9d0e-0d4c2f1b7a12","outputs":{"a":{"value":"1","type":"string"}},"resources":[]}`)
	}))
	t.Cleanup(g.Close)
	return g
}

// TestSharedLock checks the lock of a PostgreSQL database: two plans read at the same time. A plan excludes an apply,
// and an apply that waits for approval excludes a plan.
func TestSharedLock(t *testing.T) {
	t.Parallel()
	ours, err := lethe()
	check(t, err)
	port := startPostgres(t)
	g := newGate(t)
	p := place{"terraform {\n  backend \"pg\" {}\n}\n", []string{"PG_CONN_STR=postgres://postgres@127.0.0.1:" + port + "/postgres?sslmode=disable", "NO_PROXY=127.0.0.1"}}
	gated := `
data "terraform_remote_state" "gate" {
  backend = "http"
  config  = { address = "` + g.URL + `" }
}
resource "terraform_data" "a" {
  input = data.terraform_remote_state.gate.outputs.a
}
`
	at := func(config string) *directory {
		d := newDirectory(t, ours, p)
		d.configure(config + p.backend)
		return d
	}
	const free = "resource \"terraform_data\" \"a\" {\n  input = \"1\"\n}\n"
	at(free).run(0, "apply", "-auto-approve")

	first := make(chan error, 1)
	reader := at(gated)
	go func() { first <- reader.cmd("plan", "-lock-timeout=0s").Run() }()
	<-g.reached // the plan has the lock until the gate opens
	at(free).run(0, "plan", "-lock-timeout=0s")
	if out := at(free).run(1, "apply", "-auto-approve", "-lock-timeout=0s"); !strings.Contains(out, "Error acquiring the state lock") {
		t.Errorf("the apply fails for another reason:\n%s", out)
	}
	waiting := at(free).cmd("apply", "-auto-approve", "-lock-timeout=10m")
	check(t, waiting.Start())
	close(g.open)
	check(t, <-first)
	check(t, waiting.Wait())

	apply := at("resource \"terraform_data\" \"a\" {\n  input = \"2\"\n}\n").cmd("apply", "-no-color")
	apply.Env = append(apply.Env, "TF_INPUT=1")
	in, err := apply.StdinPipe()
	check(t, err)
	out, err := apply.StdoutPipe()
	check(t, err)
	check(t, apply.Start())
	for lines := bufio.NewScanner(out); lines.Scan() && !strings.Contains(lines.Text(), "Only 'yes' will be accepted"); {
	}
	if out := at(free).run(1, "plan", "-lock-timeout=0s"); !strings.Contains(out, "Error acquiring the state lock") {
		t.Errorf("the plan fails for another reason:\n%s", out)
	}
	_, err = io.WriteString(in, "yes\n")
	check(t, err)
	go io.Copy(io.Discard, out)
	check(t, apply.Wait())
	at(free).run(2, "plan", "-detailed-exitcode", "-lock-timeout=0s")
}
