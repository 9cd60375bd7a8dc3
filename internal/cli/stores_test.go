package cli_test

import (
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/internal/state/store/storetest"
	"github.com/rogpeppe/go-internal/testscript"
)

// stateServers are those of the scripts that run, by their directories.
var stateServers sync.Map

type stateServer struct {
	storetest.Cutter
	state storetest.HTTP
}

// stateServerOf gives the command that keeps a state behind an address for a script:
//
//	stateserver                starts it: $STATE is the address; the user is "you", the password a canary in $TF_HTTP_PASSWORD
//	stateserver requests FILE  writes down the methods of all requests so far
//	stateserver cut N [late]   breaks the connection of the N-th request from now on, late: after it was handled
//	stateserver lock ID        locks it in the name of another; "" gives that lock back
func stateServerOf(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		dir := ts.MkAbs(".")
		if len(args) == 0 {
			s := &stateServer{state: storetest.HTTP{User: "you", Password: "canary-" + "57a7e"}}
			s.Handler = &s.state
			server := httptest.NewServer(s)
			server.Config.ErrorLog = nil
			stateServers.Store(dir, s)
			ts.Defer(func() {
				stateServers.Delete(dir)
				server.Close()
			})
			ts.Setenv("STATE", server.URL)
			ts.Setenv("TF_HTTP_PASSWORD", s.state.Password)
			return
		}
		found, ok := stateServers.Load(dir)
		if !ok || neg {
			ts.Fatalf("there is no state server")
		}
		s := found.(*stateServer)
		switch {
		case args[0] == "requests" && len(args) == 2:
			ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.Join(append(s.state.Requests(), ""), "\n")), 0o644))
		case args[0] == "cut" && len(args) >= 2:
			n, err := strconv.Atoi(args[1])
			ts.Check(err)
			s.Cut(n, len(args) > 2)
		case args[0] == "lock" && len(args) == 2:
			s.state.SetLock(args[1])
		default:
			ts.Fatalf("usage: stateserver [requests FILE | cut N [late] | lock ID]")
		}
	}
}
