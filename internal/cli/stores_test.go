package cli_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/internal/store/remotestore/tfetest"
	"github.com/lethe-iac/lethe/internal/store/storetest"
	"github.com/rogpeppe/go-internal/testscript"
)

// stateServers maps the directories of running scripts to their servers for states.
var stateServers sync.Map

type stateServer struct {
	storetest.Interrupter
	state storetest.HTTP
}

// stateServerOf returns the script command that runs a server for a state:
//
//	stateserver                starts it: $STATE is the address; the user is "you", the password a canary in $TF_HTTP_PASSWORD
//	stateserver requests FILE  writes the methods of all requests so far into a file
//	stateserver cut N [late]   breaks the connection of the N-th request from now on; late: after it was handled
//	stateserver lock ID        locks the state in the name of another user; "" releases this lock
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
			s.Interrupt(n, len(args) > 2)
		case args[0] == "lock" && len(args) == 2:
			s.state.SetLock(args[1])
		default:
			ts.Fatalf("usage: stateserver [requests FILE | cut N [late] | lock ID]")
		}
	}
}

// tfeServers maps the directories of running scripts to their services.
var tfeServers sync.Map

type tfeServer struct {
	storetest.Interrupter
	service tfetest.Service
}

// tfe implements the script command that runs a service with the API of HCP Terraform, as the host tfe.test:
//
//	tfe                      starts it; the token is a canary in $TF_TOKEN_tfe_test, the organization is net
//	tfe add NAME MODE TAG... creates a workspace with that execution mode
//	tfe version NAME VERSION sets the version of Terraform of a workspace
//	tfe requests FILE        writes the requests so far into a file
//	tfe cut N [late]         breaks the connection of the N-th request from now on; late: after it was handled
func tfe(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.MkAbs(".")
	if len(args) == 0 {
		s := &tfeServer{}
		s.Handler = &s.service
		server := httptest.NewServer(s)
		server.Config.ErrorLog = nil
		tfeServers.Store(ts.Getenv("WORK"), s)
		ts.Defer(func() {
			tfeServers.Delete(ts.Getenv("WORK"))
			server.Close()
		})
		rc := ts.Getenv("TF_CLI_CONFIG_FILE")
		text, err := os.ReadFile(rc)
		ts.Check(err)
		text = fmt.Appendf(text, "host \"tfe.test\" {\n  services = {\n    \"tfe.v2\" = %[1]q\n    \"tfe.v2.1\" = %[1]q\n    \"tfe.v2.2\" = %[1]q\n    \"state.v2\" = %[1]q\n  }\n}\n", server.URL+"/api/v2/")
		ts.Check(os.WriteFile(rc, text, 0o600))
		ts.Setenv("TF_TOKEN_tfe_test", tfetest.Token)
		return
	}
	found, ok := tfeServers.Load(ts.Getenv("WORK"))
	if !ok || neg {
		ts.Fatalf("there is no service in %s", dir)
	}
	s := found.(*tfeServer)
	switch {
	case args[0] == "add" && len(args) >= 3:
		s.service.Add(args[1], args[2], args[3:]...)
	case args[0] == "version" && len(args) == 3:
		s.service.SetVersion(args[1], args[2])
	case args[0] == "requests" && len(args) == 2:
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.Join(append(s.service.Requests(), ""), "\n")), 0o644))
	case args[0] == "cut" && len(args) >= 2:
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		s.Interrupt(n, len(args) > 2)
	default:
		ts.Fatalf("usage: tfe [add NAME MODE TAG... | version NAME VERSION | requests FILE | cut N [late]]")
	}
}
