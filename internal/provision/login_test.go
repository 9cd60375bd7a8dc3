//go:build unix

package provision

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/sshconn"
	"github.com/lethe-iac/lethe/internal/sshconn/sshdtest"
)

// An OpenSSH server without PAM accepts passwords only for users of the system, which a test must not create.
// Therefore, passwords are tested with a server in this process. It runs commands in a shell and supports no terminals.

func serveSSH(t *testing.T, config *ssh.ServerConfig) (port int) {
	t.Helper()
	config.AddHostKey(newKey(t).Signer)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serveConn(conn, config)
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

func serveConn(conn net.Conn, config *ssh.ServerConfig) {
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		conn.Close()
		return
	}
	go ssh.DiscardRequests(requests)
	for c := range channels {
		ch, requests, err := c.Accept()
		if err != nil {
			return
		}
		go serveSession(ch, requests)
	}
}

func serveSession(ch ssh.Channel, requests <-chan *ssh.Request) {
	for req := range requests {
		if req.Type != "exec" {
			_ = req.Reply(false, nil)
			continue
		}
		_ = req.Reply(true, nil)
		var line struct{ Command string }
		_ = ssh.Unmarshal(req.Payload, &line)
		go func() {
			cmd := exec.Command("/bin/sh", "-c", line.Command)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = ch, ch, ch.Stderr()
			var status struct{ Status uint32 }
			if err := cmd.Run(); err != nil {
				status.Status = 1
			}
			_, _ = ch.SendRequest("exit-status", false, ssh.Marshal(&status))
			ch.Close()
		}()
	}
}

func password(port int, more map[string]any) map[string]any {
	return merge(map[string]any{"host": "127.0.0.1", "port": port, "user": "someone", "timeout": "1m", "agent": false, "script_path": "/tmp/lethe_test_%RAND%.sh"}, more)
}

func TestPassword(t *testing.T) {
	needShell(t)
	check := func(_ ssh.ConnMetadata, given []byte) (*ssh.Permissions, error) {
		if string(given) != canary {
			return nil, errors.New("no")
		}
		return nil, nil
	}
	plain := serveSSH(t, &ssh.ServerConfig{PasswordCallback: check})
	asking := serveSSH(t, &ssh.ServerConfig{KeyboardInteractiveCallback: func(m ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
		answers, err := ask("", "", []string{"Login: ", "Password: "}, []bool{true, false})
		if err != nil || len(answers) != 2 || answers[0] != "" {
			return nil, errors.New("no")
		}
		return check(m, []byte(answers[1]))
	}})
	for name, port := range map[string]int{"password": plain, "keyboard-interactive": asking} {
		for _, c := range []struct {
			password string
			ok       bool
		}{{canary, true}, {"wrong-" + name, false}} {
			connection := password(port, map[string]any{"password": c.password})
			if !c.ok {
				connection["timeout"] = hopeless
			}
			lines, ds := try(t, RemoteExec, map[string]any{"inline": []string{"echo in", "cat", "echo out"}}, connection)
			if c.ok && (ds != nil || !slices.Equal(outputOf(lines), []string{"in", "out"}) || !slices.Contains(lines, "  Password: true")) {
				t.Errorf("%s: %q %s", name, lines, show(ds))
			}
			if !c.ok && !strings.Contains(show(ds), "SSH authentication failed (someone@127.0.0.1:") {
				t.Errorf("%s: %s", name, show(ds))
			}
		}
	}
}

// TestWithoutATerminal interrupts a program of a server that supports neither terminals nor signals.
func TestWithoutATerminal(t *testing.T) {
	needShell(t)
	setGrace(t, &farewell, 200*time.Millisecond)
	port := serveSSH(t, &ssh.ServerConfig{NoClientAuth: true})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &screen{on: map[string]func(){"ready": cancel}}
	connection := password(port, map[string]any{"script_path": t.TempDir() + "/script"})
	_, ds := tryWith(t, ctx, Request{Type: RemoteExec, Output: out.line,
		Config: mark.Plain(args(Schema(RemoteExec), map[string]any{"inline": []string{"echo ready", "sleep 3"}})), Connection: mark.Plain(args(ConnectionSchema(), connection))}, connection)
	if got := show(ds); !strings.HasSuffix(got, ": interrupted") {
		t.Error(got)
	}
}

// relay is an HTTP proxy for CONNECT that counts its connections in used. If user is not "", clients must log in with
// user, which is "name:password".
func relay(t *testing.T, user string, used *atomic.Int32) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		want := "Basic " + base64.StdEncoding.EncodeToString([]byte(user))
		switch {
		case r.Method != http.MethodConnect:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		case user != "" && r.Header.Get("Proxy-Authorization") != want:
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		far, err := net.Dial("tcp", r.Host)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		used.Add(1)
		near, in, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		// The answer and the first bytes of the server arrive together.
		first := make([]byte, 8)
		_, _ = io.ReadFull(far, first)
		_, _ = near.Write(append([]byte("HTTP/1.1 200 Yes\r\n\r\n"), first...))
		join2(near, in, far)
	}
}

func join2(near net.Conn, in io.Reader, far net.Conn) {
	go func() { _, _ = io.Copy(far, in); far.Close() }()
	_, _ = io.Copy(near, far)
	near.Close()
}

func TestHTTPProxy(t *testing.T) {
	s := startServer(t)
	var used atomic.Int32
	p := httptest.NewServer(relay(t, "me:"+canary, &used))
	defer p.Close()
	port := p.Listener.Addr().(*net.TCPAddr).Port
	through := func(more map[string]any) (lines []string, diags string) {
		lines, ds := try(t, RemoteExec, map[string]any{"inline": []string{"echo hi"}},
			s.connection(t, merge(map[string]any{"proxy_host": "127.0.0.1", "proxy_port": port, "proxy_user_name": "me", "proxy_user_password": canary}, more)))
		return lines, show(ds)
	}
	lines, ds := through(nil)
	if ds != "" || used.Load() != 1 || !slices.Contains(lines, "hi") || !slices.Contains(lines, "Using configured proxy host...") {
		t.Errorf("%q %s, used %d times", lines, ds, used.Load())
	}
	for _, c := range []struct {
		more map[string]any
		want string
	}{
		{map[string]any{"proxy_user_password": "guess-x"}, "the proxy refused the connection: 407 Proxy Authentication Required"},
		{map[string]any{"port": sshdtest.FreePort(t)}, "the proxy refused the connection: 502 Bad Gateway"},
		{map[string]any{"proxy_port": sshdtest.FreePort(t)}, "connection refused"},
		{map[string]any{"proxy_scheme": "https"}, "tls: "},
	} {
		if _, ds := through(merge(c.more, map[string]any{"timeout": hopeless})); !strings.Contains(ds, c.want) {
			t.Errorf("%v: %s", c.more, ds)
		}
	}
}

func TestHTTPSProxy(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
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
			_, _ = conn.Write([]byte("SSH-2.0-test\r\n"))
		}
	}()
	var used atomic.Int32
	p := httptest.NewUnstartedServer(relay(t, "", &used))
	p.Config.ErrorLog = log.New(io.Discard, "", 0)
	p.StartTLS()
	defer p.Close()
	roots := x509.NewCertPool()
	roots.AddCert(p.Certificate())
	via := &proxy{scheme: "https", host: "127.0.0.1", port: p.Listener.Addr().(*net.TCPAddr).Port, roots: roots}
	conn, err := via.dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if greeting, err := bufio.NewReader(conn).ReadString('\n'); greeting != "SSH-2.0-test\r\n" {
		t.Errorf("%q %v", greeting, err)
	}
	via.roots = nil
	var unknown *tls.CertificateVerificationError
	if _, err := via.dial(t.Context(), l.Addr().String()); !errors.As(err, &unknown) {
		t.Errorf("a proxy with a certificate of its own making: %v", err)
	}
}

// socksProxy starts a SOCKS5 proxy (RFC 1928, 1929) that requires a user and a password, and returns its port. It
// supports IPv4 addresses only, and counts its connections in used.
func socksProxy(t *testing.T, user, password string, used *atomic.Int32) (port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	serve := func(conn net.Conn) error {
		in := bufio.NewReader(conn)
		read := func(n int) []byte { b := make([]byte, n); _, _ = io.ReadFull(in, b); return b }
		read(int(read(2)[1]))
		_, _ = conn.Write([]byte{5, 2})
		read(1)
		gotUser := string(read(int(read(1)[0])))
		gotPassword := string(read(int(read(1)[0])))
		if gotUser != user || gotPassword != password {
			_, _ = conn.Write([]byte{1, 1})
			return conn.Close()
		}
		_, _ = conn.Write([]byte{1, 0})
		head := read(4)
		if head[3] != 1 {
			return conn.Close()
		}
		ip, port := net.IP(read(4)), read(2)
		far, err := net.Dial("tcp", sshconn.Join(ip.String(), int(port[0])<<8|int(port[1])))
		if err != nil {
			return conn.Close()
		}
		used.Add(1)
		_, _ = conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		join2(conn, in, far)
		return nil
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = serve(conn) }()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

func TestSOCKSProxy(t *testing.T) {
	s := startServer(t)
	var used atomic.Int32
	port := socksProxy(t, "me", canary, &used)
	for password, ok := range map[string]bool{canary: true, "guess-x": false} {
		timeout := "1m"
		if !ok {
			timeout = hopeless
		}
		lines, ds := try(t, RemoteExec, map[string]any{"inline": []string{"echo hi"}}, s.connection(t, map[string]any{
			"proxy_scheme": "socks5", "proxy_host": "127.0.0.1", "proxy_port": port, "proxy_user_name": "me", "proxy_user_password": password, "timeout": timeout,
		}))
		if ok != slices.Contains(lines, "hi") || ok != (ds == nil) || used.Load() != 1 && ok {
			t.Errorf("%q %s, used %d times", lines, show(ds), used.Load())
		}
	}
}

func TestProxyBeforeBastion(t *testing.T) {
	target, bastion := startServer(t), startServer(t)
	var used atomic.Int32
	p := httptest.NewServer(relay(t, "", &used))
	defer p.Close()
	lines, ds := try(t, RemoteExec, map[string]any{"inline": []string{"echo hi"}}, target.connection(t, map[string]any{
		"proxy_host": "127.0.0.1", "proxy_port": p.Listener.Addr().(*net.TCPAddr).Port,
		"bastion_host": "127.0.0.1", "bastion_port": bastion.Port, "bastion_private_key": bastion.User.Private,
	}))
	if ds != nil || !slices.Contains(lines, "hi") || used.Load() != 1 {
		t.Errorf("%q %s, used %d times", lines, show(ds), used.Load())
	}
}

// frozen is a relay to a server that can be frozen. A frozen relay forwards no data, and keeps the connections open.
func frozen(t *testing.T, s *server) (port int, stuck *atomic.Bool) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stuck = &atomic.Bool{}
	t.Cleanup(func() { l.Close(); stuck.Store(false) })
	pipe := func(to, from net.Conn) {
		b := make([]byte, 32<<10)
		for {
			n, err := from.Read(b)
			for stuck.Load() {
				time.Sleep(10 * time.Millisecond) // the relay polls the flag
			}
			if _, werr := to.Write(b[:n]); err != nil || werr != nil {
				to.Close()
				from.Close()
				return
			}
		}
	}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			if stuck.Load() {
				continue
			}
			far, err := net.Dial("tcp", s.Address())
			if err != nil {
				return
			}
			go pipe(far, near)
			go pipe(near, far)
		}
	}()
	return l.Addr().(*net.TCPAddr).Port, stuck
}

// TestSilentHost checks that a run ends when the host stops answering.
func TestSilentHost(t *testing.T) {
	setGrace(t, &alive, 100*time.Millisecond)
	setGrace(t, &silent, 500*time.Millisecond)
	setGrace(t, &removal, 2*time.Second)
	s := startServer(t)
	port, stuck := frozen(t, s)
	out := &screen{on: map[string]func(){"ready": func() { stuck.Store(true) }}}
	connection := s.connection(t, map[string]any{"port": port})
	_, ds := tryWith(t, t.Context(), Request{Type: RemoteExec, Output: out.line,
		Config: mark.Plain(args(Schema(RemoteExec), map[string]any{"inline": []string{"sleep 1", "echo ready", "sleep 5"}})), Connection: mark.Plain(args(ConnectionSchema(), connection))}, connection)
	if got := show(ds); !strings.Contains(got, "without exit status") || !strings.Contains(got, "Remote script not removed") {
		t.Error(got)
	}
}

// TestStuckHost checks that an interrupted run ends although the host has stopped answering.
func TestStuckHost(t *testing.T) {
	setGrace(t, &farewell, 100*time.Millisecond)
	setGrace(t, &removal, 2*time.Second)
	s := startServer(t)
	port, stuck := frozen(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked time.Time
	out := &screen{on: map[string]func(){"ready": func() { stuck.Store(true); asked = time.Now(); cancel() }}}
	connection := s.connection(t, map[string]any{"port": port})
	_, ds := tryWith(t, ctx, Request{Type: RemoteExec, Output: out.line,
		Config: mark.Plain(args(Schema(RemoteExec), map[string]any{"inline": []string{"echo ready", "sleep 5"}})), Connection: mark.Plain(args(ConnectionSchema(), connection))}, connection)
	if took := time.Since(asked); took > removal+10*time.Second {
		t.Errorf("took %s", took)
	}
	if got := show(ds); !strings.Contains(got, "interrupted") || !strings.Contains(got, "Remote script not removed") {
		t.Error(got)
	}
	if len(out.lines) == 0 {
		t.Error("nothing was said")
	}
}
