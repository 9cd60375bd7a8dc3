//go:build unix

package lethe

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/sshconn"
	"github.com/lethe-iac/lethe/internal/sshconn/sshdtest"
)

// echo starts a service behind the server. It echoes each line, and sends a goodbye after the end of the input.
func echo(t *testing.T) (port int, calls *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	calls = &atomic.Int32{}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			calls.Add(1)
			go func() {
				defer conn.Close()
				for in := bufio.NewScanner(conn); in.Scan(); {
					fmt.Fprintf(conn, "echo %s\n", in.Text())
				}
				fmt.Fprint(conn, "bye\n")
			}()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port, calls
}

// ask sends a line to an address and returns the whole answer.
func ask(t *testing.T, address, line string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintln(conn, line)
	_ = conn.(*net.TCPConn).CloseWrite()
	b, err := io.ReadAll(conn)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func closedTo(t *testing.T, address string) bool {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err == nil {
		conn.Close()
	}
	return err != nil
}

// through returns the configuration of a tunnel through a server.
func through(t *testing.T, s *sshdtest.Server, remote int, more map[string]any) map[string]any {
	t.Helper()
	given := map[string]any{
		"tunnel_host": "127.0.0.1", "tunnel_port": s.Port, "user": sshdtest.Whoami(t),
		"remote_host": "127.0.0.1", "remote_port": remote,
		"private_key": s.User.Private, "host_key": s.Host.Public,
	}
	for k, v := range more {
		if v == nil {
			delete(given, k)
		} else {
			given[k] = v
		}
	}
	return given
}

const tunnelType = "lethe_ssh_tunnel"

func TestTunnel(t *testing.T) {
	s := sshdtest.Start(t, "LogLevel DEBUG1")
	port, calls := echo(t)
	r := newRig(t)
	o := r.mustOpen(tunnelType, through(t, s, port, nil))
	address := o.text("local_address")
	if n, _ := schema.Number(o.Value, "local_port"); address != sshconn.Join("127.0.0.1", n) || o.text("local_host") != "127.0.0.1" || n == port {
		t.Errorf("%s", address)
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			line := fmt.Sprint("hello ", i)
			if got := ask(t, address, line); got != "echo "+line+"\nbye\n" {
				t.Errorf("%q", got)
			}
		})
	}
	all.Wait()
	if calls.Load() != 20 || !strings.Contains(s.Log.String(), "direct-tcpip") {
		t.Errorf("%d calls came through\n%s", calls.Load(), s.Log)
	}

	// The end of the lease closes open connections.
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintln(conn, "x")
	if line, err := bufio.NewReader(conn).ReadString('\n'); line != "echo x\n" {
		t.Errorf("%q %v", line, err)
	}
	if ds := r.p.CloseLease(t.Context(), tunnelType, o.private); ds != nil {
		t.Error(r.show(ds))
	}
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	if n, err := conn.Read(make([]byte, 1)); n != 0 || os.IsTimeout(err) {
		t.Errorf("the connection goes on: %d %v", n, err)
	}
	if !closedTo(t, address) {
		t.Error("the tunnel is still there")
	}
	if ds := r.p.CloseLease(t.Context(), tunnelType, o.private); ds != nil {
		t.Errorf("closing twice: %s", r.show(ds))
	}
}

// TestTunnelPort checks that the requested local port is used, and that a port in use is an error.
func TestTunnelPort(t *testing.T) {
	s := sshdtest.Start(t)
	port, _ := echo(t)
	r := newRig(t)
	local := sshdtest.FreePort(t)
	given := through(t, s, port, map[string]any{"local_port": local})
	o := r.mustOpen(tunnelType, given)
	if got := ask(t, sshconn.Join("127.0.0.1", local), "hi"); got != "echo hi\nbye\n" {
		t.Errorf("%q", got)
	}
	if _, ds := r.open(tunnelType, given); !strings.Contains(r.show(ds), "error local_port: Tunnel not opened; Lethe cannot listen on the local port: address already in use") {
		t.Error(r.show(ds))
	}
	if ds := r.p.CloseLease(t.Context(), tunnelType, o.private); ds != nil {
		t.Error(r.show(ds))
	}
	o = r.mustOpen(tunnelType, given)
	if err := r.p.Shutdown(); err != nil || !closedTo(t, o.text("local_address")) {
		t.Errorf("the end of the program leaves the tunnel open: %v", err)
	}
}

// TestTunnelIsKeptUp checks that a tunnel works again after its server connection was lost.
func TestTunnelIsKeptUp(t *testing.T) {
	s := sshdtest.Start(t)
	port, _ := echo(t)
	r := newRig(t)
	o := r.mustOpen(tunnelType, through(t, s, port, map[string]any{"timeout": "1m"}))
	if got := ask(t, o.text("local_address"), "a"); got != "echo a\nbye\n" {
		t.Errorf("%q", got)
	}
	var server *tunnel
	for _, t := range r.p.tunnels.open {
		server = t
	}
	server.client.Close() // simulates a broken network
	<-server.ended
	if got := ask(t, o.text("local_address"), "b"); got != "echo b\nbye\n" {
		t.Errorf("%q", got)
	}
	if ds := r.p.CloseLease(t.Context(), tunnelType, o.private); ds != nil {
		t.Error(r.show(ds))
	}
}

// TestTunnelWaits checks that opening waits for a server that does not listen yet.
func TestTunnelWaits(t *testing.T) {
	s := sshdtest.Start(t)
	port, _ := echo(t)
	_ = s.Cmd.Process.Kill()
	for !closedTo(t, s.Address()) {
		time.Sleep(10 * time.Millisecond)
	}
	back := make(chan bool, 1)
	timer := time.AfterFunc(300*time.Millisecond, func() { back <- s.Listen(t) })
	defer timer.Stop()
	r := newRig(t)
	o := r.mustOpen(tunnelType, through(t, s, port, map[string]any{"timeout": "1m"}))
	if !<-back {
		t.Fatal("the server did not come back")
	}
	if got := ask(t, o.text("local_address"), "a"); got != "echo a\nbye\n" {
		t.Errorf("%q", got)
	}
}

// TestTunnelComplains checks that failed connections are reported when the lease is closed.
func TestTunnelComplains(t *testing.T) {
	s := sshdtest.Start(t)
	strict := sshdtest.Start(t, "AllowTcpForwarding no")
	r := newRig(t)
	for name, c := range map[string]struct {
		server *sshdtest.Server
		want   string
	}{
		"refused":   {s, "A connection to the remote address failed; the last error: the SSH server refused to connect (connect failed)."},
		"forbidden": {strict, "the SSH server refused to connect (administratively prohibited)."},
	} {
		o := r.mustOpen(tunnelType, through(t, c.server, sshdtest.FreePort(t), nil))
		if got := ask(t, o.text("local_address"), "a"); strings.Contains(got, "echo") {
			t.Errorf("%s: %q", name, got)
		}
		ds := r.p.CloseLease(t.Context(), tunnelType, o.private)
		if got := r.show(ds); ds.HasErrors() || !strings.Contains(got, "warning remote_host: Connections through the tunnel failed; ") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestTunnelLogin(t *testing.T) {
	authority := sshdtest.NewKey(t, canary)
	s := sshdtest.Start(t, "TrustedUserCAKeys {dir}/authority", "AuthorizedKeysFile none")
	s.Write(t, "authority", authority.Public+"\n")
	port, _ := echo(t)
	r := newRig(t)
	other := sshdtest.NewKey(t, canary)
	cert := s.User.Certificate(t, authority, ssh.UserCert, sshdtest.Whoami(t))
	r.mustOpen(tunnelType, through(t, s, port, map[string]any{"certificate": cert}))
	r.refusals(tunnelType, map[string]refusal{
		"without the certificate": {through(t, s, port, nil), "error tunnel_host: Tunnel not opened; The SSH server cannot be used: SSH authentication failed."},
		"another's certificate":   {through(t, s, port, map[string]any{"certificate": cert, "private_key": other.Private}), "error certificate: Cannot log in to the SSH server; The certificate cannot be used: it was issued for another key."},
		"no key":                  {through(t, s, port, map[string]any{"private_key": canary}), "error private_key: Cannot log in to the SSH server; The private key cannot be used: it is not a private key"},
		"only a certificate":      {through(t, s, port, map[string]any{"certificate": cert, "private_key": nil}), "A certificate needs its private key"},
		"nothing":                 {through(t, s, port, map[string]any{"private_key": nil}), "There is no key to log in with"},
		"no agent":                {through(t, s, port, map[string]any{"agent": true}), "error agent: Cannot log in to the SSH server; No SSH agent answers"},
		"another host":            {through(t, s, port, map[string]any{"certificate": cert, "host_key": other.Public}), "error tunnel_host: Tunnel not opened; The SSH server cannot be used: host key verification failed"},
		"no host key":             {through(t, s, port, map[string]any{"host_key": canary}), "error host_key: SSH server not known; The host_key cannot be used: it is not a public key"},
		"not known":               {through(t, s, port, map[string]any{"host_key": nil}), "error tunnel_host: SSH server not known; known_hosts has no key of the SSH server"},
		"nobody listens":          {through(t, s, port, map[string]any{"tunnel_port": sshdtest.FreePort(t), "timeout": "100ms"}), "The SSH server cannot be used: connection refused."},
		"no such name":            {through(t, s, port, map[string]any{"tunnel_host": "host.invalid", "timeout": "100ms"}), "The SSH server cannot be used: "},
		"port":                    {through(t, s, 0, nil), "error remote_port: Invalid lethe_ssh_tunnel; remote_port must be a whole number from 1 to 65535"},
		"no host":                 {through(t, s, port, map[string]any{"tunnel_host": ""}), "tunnel_host must not be empty"},
		"duration":                {through(t, s, port, map[string]any{"timeout": "1"}), "timeout must be a duration"},
	})
}

// TestTunnelKnownHosts checks that known_hosts is used without a host_key.
func TestTunnelKnownHosts(t *testing.T) {
	s := sshdtest.Start(t)
	port, _ := echo(t)
	r := newRig(t)
	known := filepath.Join(r.dir, ".ssh", "known_hosts")
	if err := os.Mkdir(filepath.Dir(known), 0o700); err != nil {
		t.Fatal(err)
	}
	host := fmt.Sprintf("[127.0.0.1]:%d ", s.Port)
	other := sshdtest.NewKey(t, "other").Public
	for name, c := range map[string]struct{ lines, want string }{
		"known":        {"# mine\n" + host + other + "\n" + host + s.Host.Public + "\n", ""},
		"another key":  {host + other + "\n", "host key verification failed"},
		"another host": {"[127.0.0.2]:22 " + s.Host.Public + "\n", "known_hosts has no key of the SSH server"},
		"revoked":      {host + s.Host.Public + "\n@revoked * " + s.Host.Public + "\n", "known_hosts has no key of the SSH server"},
		"malformed":    {"what is this\n", "known_hosts has no key of the SSH server"},
	} {
		if err := os.WriteFile(known, []byte(c.lines), 0o600); err != nil {
			t.Fatal(err)
		}
		_, ds := r.open(tunnelType, through(t, s, port, map[string]any{"host_key": nil}))
		if got := r.show(ds); got != "" && c.want == "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestTunnelAgent(t *testing.T) {
	s := sshdtest.Start(t)
	port, _ := echo(t)
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: s.User.Raw}); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "a")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(ring, conn) }()
		}
	}()
	r := newRig(t, "SSH_AUTH_SOCK="+socket)
	for _, use := range []any{nil, true} {
		o := r.mustOpen(tunnelType, through(t, s, port, map[string]any{"private_key": nil, "agent": use}))
		if got := ask(t, o.text("local_address"), "a"); got != "echo a\nbye\n" {
			t.Errorf("%q", got)
		}
	}
	if _, ds := r.open(tunnelType, through(t, s, port, map[string]any{"private_key": nil, "agent": false})); !strings.Contains(r.show(ds), "There is no key to log in with") {
		t.Error(r.show(ds))
	}
}

// TestTunnelIsInterrupted checks that waiting for a server ends with the context and with Stop, and that nothing
// remains open.
func TestTunnelIsInterrupted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and sends nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	key := sshdtest.NewKey(t, canary)
	for name, stop := range map[string]func(*rig, context.CancelFunc){
		"context": func(_ *rig, cancel context.CancelFunc) { cancel() },
		"stop":    func(r *rig, _ context.CancelFunc) { _ = r.p.Stop(context.Background()) },
	} {
		r := newRig(t)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			conn, err := l.Accept()
			if err == nil {
				defer conn.Close()
			}
			stop(r, cancel)
			<-t.Context().Done()
		}()
		local := sshdtest.FreePort(t)
		o, ds := r.openIn(ctx, tunnelType, map[string]any{
			"tunnel_host": "127.0.0.1", "tunnel_port": l.Addr().(*net.TCPAddr).Port, "user": "u", "remote_host": "127.0.0.1", "remote_port": 1,
			"private_key": key.Private, "host_key": key.Public, "local_port": local, "timeout": "10m",
		})
		if got := r.show(ds); !strings.Contains(got, "The SSH server cannot be used: it was interrupted") || o.private != nil {
			t.Errorf("%s: %s", name, got)
		}
		if !closedTo(t, sshconn.Join("127.0.0.1", local)) {
			t.Errorf("%s: the port is still open", name)
		}
		cancel()
	}
}

// TestTunnelHostCertificate checks that a server with a certificate is accepted by its authority, from host_key and
// from known_hosts.
func TestTunnelHostCertificate(t *testing.T) {
	authority := sshdtest.NewKey(t, canary)
	second := sshdtest.NewKey(t, canary)
	s := sshdtest.Start(t)
	s.Write(t, "second", second.Private)
	s.Write(t, "second-cert.pub", second.Certificate(t, authority, ssh.HostCert, "127.0.0.1"))
	_ = s.Cmd.Process.Kill()
	if s.Port = 0; !s.Listen(t, "HostKey {dir}/second", "HostCertificate {dir}/second-cert.pub") {
		t.Fatal("the server does not start again")
	}
	port, _ := echo(t)
	r := newRig(t)
	r.mustOpen(tunnelType, through(t, s, port, map[string]any{"host_key": authority.Public}))
	if err := os.Mkdir(filepath.Join(r.dir, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, ".ssh", "known_hosts"), fmt.Appendf(nil, "@cert-authority [127.0.0.1]:%d %s\n", s.Port, authority.Public), 0o600); err != nil {
		t.Fatal(err)
	}
	o := r.mustOpen(tunnelType, through(t, s, port, map[string]any{"host_key": nil}))
	if got := ask(t, o.text("local_address"), "a"); got != "echo a\nbye\n" {
		t.Errorf("%q", got)
	}
}
