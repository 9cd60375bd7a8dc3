package cli_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/internal/sshconn/sshdtest"
	"github.com/rogpeppe/go-internal/testscript"
)

// sshd implements the script command that provides an OpenSSH server, shared by all scripts, and a service on this
// machine that answers the first line of a connection. The command sets these variables and files for the script:
//
//	SSH_PORT  SSH_USER  SSH_HOST_KEY  the server on 127.0.0.1, and the user that may log in
//	.ssh_key                          a file with the private key of the user
//	REMOTE_PORT                       the port of the service on 127.0.0.1
//	LOCAL_PORT                        a port on which no server listens
func sshd(t *testing.T) func(*testscript.TestScript, bool, []string) {
	server := sync.OnceValue(func() *sshdtest.Server { return sshdtest.Start(t) })
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) > 0 {
			ts.Fatalf("usage: sshd")
		}
		s := server()
		service, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		ts.Defer(func() { service.Close() })
		go serve(service)
		for name, v := range map[string]string{
			"SSH_PORT": strconv.Itoa(s.Port), "SSH_USER": sshdtest.Whoami(t), "SSH_HOST_KEY": s.Host.Public,
			"REMOTE_PORT": strconv.Itoa(service.Addr().(*net.TCPAddr).Port), "LOCAL_PORT": strconv.Itoa(sshdtest.FreePort(t)),
		} {
			ts.Setenv(name, v)
		}
		ts.Check(os.WriteFile(ts.MkAbs(".ssh_key"), []byte(s.User.Private), 0o600))
	}
}

func serve(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			if line, err := bufio.NewReader(conn).ReadString('\n'); err == nil {
				fmt.Fprintf(conn, "you said %s", line)
			}
		}()
	}
}

// dial connects to a port of this machine. `dial PORT` requires a server on the port, `! dial PORT` requires that no
// server listens.
func dial(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: dial PORT")
	}
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", args[0]))
	if err == nil {
		conn.Close()
	}
	if neg != (err != nil) {
		ts.Fatalf("connecting to %s: %v", args[0], err)
	}
}
