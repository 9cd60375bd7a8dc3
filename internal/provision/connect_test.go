//go:build unix

package provision

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/subprocess/waittest"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/sshconn/sshdtest"
)

func TestCertificate(t *testing.T) {
	t.Parallel()
	authority := newKey(t)
	s := startServer(t, "TrustedUserCAKeys {dir}/authority", "AuthorizedKeysFile none")
	s.Write(t, "authority", authority.Public+"\n")
	run := func(more map[string]any) []diag.Diagnostic {
		_, ds := try(t, RemoteExec, map[string]any{"inline": []string{"true"}}, s.connection(t, more))
		return ds
	}
	if ds := run(map[string]any{"certificate": s.User.Certificate(t, authority, ssh.UserCert, sshdtest.Whoami(t))}); ds != nil {
		t.Error(show(ds))
	}
	if got := show(run(map[string]any{"timeout": hopeless})); !strings.Contains(got, "SSH authentication failed ("+sshdtest.Whoami(t)+"@"+s.Address()+")") {
		t.Error(got)
	}
	for name, c := range map[string]struct{ text, want string }{
		"garbage":     {canary, "certificate cannot be used: it is not an OpenSSH certificate"},
		"plain":       {s.User.Public, "certificate cannot be used: it is a public key, not a certificate"},
		"another key": {newKey(t).Certificate(t, authority, ssh.UserCert, "someone"), "certificate cannot be used: it was issued for another key"},
	} {
		if got := show(run(map[string]any{"certificate": c.text})); got != "error remote-exec provisioner error; "+c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestHostKey(t *testing.T) {
	t.Parallel()
	authority := newKey(t)
	s := startServer(t)
	second := newKey(t)
	c := startServer(t, "HostKey {dir}/second", "HostCertificate {dir}/second-cert.pub")
	for name, content := range map[string]string{"second": second.Private, "second-cert.pub": second.Certificate(t, authority, ssh.HostCert, "127.0.0.1")} {
		c.Write(t, name, content)
	}
	c.restart(t)
	other := newKey(t).Public
	for _, x := range []struct {
		name string
		to   *server
		key  string
		want string
	}{
		{"right", s, s.Host.Public, ""},
		{"right, with comment", s, s.Host.Public + " root@host\n", ""},
		{"one of several", s, other + "\n# and\n" + s.Host.Public + "\n", ""},
		{"wrong", s, other, "host key verification failed: the host's key is not the one in the configuration"},
		{"garbage", s, canary, "host_key cannot be used: it is not a public key in OpenSSH format"},
		{"comment", s, "# none", "host_key cannot be used: it holds no public key"},
		{"authority", c, authority.Public, ""},
		{"the key of a certificate", c, second.Public, ""},
		{"another authority", c, other, "host key verification failed: the host's certificate was not signed with the key in the configuration"},
	} {
		t.Run(x.name, func(t *testing.T) {
			timeout := hopeless
			if x.want == "" {
				timeout = "30s"
			}
			_, ds := try(t, RemoteExec, map[string]any{"inline": []string{"true"}}, x.to.connection(t, map[string]any{"host_key": x.key, "timeout": timeout}))
			if got := show(ds); x.want == "" && ds != nil || !strings.Contains(got, x.want) {
				t.Errorf("got %s", got)
			}
		})
	}
	t.Run("for another host", func(t *testing.T) {
		c.Write(t, "second-cert.pub", second.Certificate(t, authority, ssh.HostCert, "elsewhere"))
		c.restart(t)
		_, ds := try(t, RemoteExec, map[string]any{"inline": []string{"true"}}, c.connection(t, map[string]any{"host_key": authority.Public, "timeout": hopeless}))
		if !strings.Contains(show(ds), "not valid for this host at this time") {
			t.Error(show(ds))
		}
	})
}

// restart makes the server read its files again.
func (s *server) restart(t *testing.T) {
	t.Helper()
	if err := s.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "sshd has started again", func() bool { return strings.Count(s.Log.String(), "Server listening on") > s.Starts })
	s.Starts++
}

// serveAgent starts an SSH agent with keys. The comment of the first key is "key 0", of the second "key 1".
func serveAgent(t *testing.T, keys ...*sshdtest.Key) (socket string) {
	t.Helper()
	ring := agent.NewKeyring()
	for i, k := range keys {
		if err := ring.Add(agent.AddedKey{PrivateKey: k.Raw, Comment: fmt.Sprint("key ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	socket = filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", socket)
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
			go func() { _ = agent.ServeAgent(ring, conn) }()
		}
	}()
	return socket
}

func TestAgent(t *testing.T) {
	t.Parallel()
	s := startServer(t, "MaxAuthTries 2")
	many := serveAgent(t, newKey(t), newKey(t), newKey(t), newKey(t), s.User)
	one := serveAgent(t, s.User)
	none := serveAgent(t)
	s.Write(t, "id.pub", s.User.Public+" right\n")
	for _, c := range []struct {
		name, socket string
		more         map[string]any
		want         string
	}{
		{"by default", one, map[string]any{"agent": nil}, ""},
		{"on demand", one, map[string]any{"agent": true}, ""},
		{"switched off", one, map[string]any{"agent": false}, "SSH authentication failed"},
		{"too many keys", many, map[string]any{"agent": true}, "SSH"},
		{"preferred by comment", many, map[string]any{"agent": true, "agent_identity": "key 4"}, ""},
		{"preferred by public key", many, map[string]any{"agent": true, "agent_identity": s.User.Public}, ""},
		{"preferred by file", many, map[string]any{"agent": true, "agent_identity": filepath.Join(s.Dir, "id.pub")}, ""},
		{"preferred by private file", many, map[string]any{"agent": true, "agent_identity": filepath.Join(s.Dir, "id")}, ""},
		{"key first", many, map[string]any{"agent": true, "private_key": s.User.Private}, ""},
		{"key beside an agent that is gone", "/nope", map[string]any{"agent": nil, "private_key": s.User.Private}, ""},
		{"gone", "/nope", map[string]any{"agent": true}, "no agent answers at SSH_AUTH_SOCK"},
		{"not there", "", map[string]any{"agent": true}, "SSH agent requested but SSH_AUTH_SOCK not-specified"},
		{"empty", none, map[string]any{"agent": true}, "SSH authentication failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.more["timeout"] = hopeless
			if c.want == "" {
				c.more["timeout"] = "30s"
			}
			if c.more["private_key"] == nil {
				c.more["private_key"] = ""
			}
			connection := s.connection(t, c.more)
			var out screen
			_, ds := tryWith(t, t.Context(), Request{Type: RemoteExec, Output: out.line,
				Env:    []string{"SSH_AUTH_SOCK=wrong", "SSH_AUTH_SOCK=" + c.socket},
				Config: mark.Plain(args(Schema(RemoteExec), map[string]any{"inline": []string{"test -n \"$SSH_AUTH_SOCK\" && echo forwarded"}})), Connection: mark.Plain(args(ConnectionSchema(), connection))}, connection)
			if got := show(ds); c.want != "" && !strings.Contains(got, c.want) || c.want == "" && c.socket != "/nope" && (ds != nil || !slices.Contains(out.lines, "forwarded")) {
				t.Errorf("%s\n%s", got, out.text())
			}
		})
	}
}

func TestBastion(t *testing.T) {
	t.Parallel()
	target := startServer(t)
	bastion := startServer(t, "LogLevel DEBUG1")
	closed := startServer(t, "AllowTcpForwarding no")
	through := func(b *server, more map[string]any) map[string]any {
		c := target.connection(t, map[string]any{"bastion_host": "127.0.0.1", "bastion_port": b.Port, "bastion_private_key": b.User.Private, "host_key": target.Host.Public, "bastion_host_key": b.Host.Public})
		for k, v := range more {
			if v == nil {
				delete(c, k)
			} else {
				c[k] = v
			}
		}
		return c
	}
	lines, ds := try(t, RemoteExec, map[string]any{"inline": []string{"echo hi"}}, through(bastion, nil))
	if ds != nil || !slices.Contains(lines, "hi") || !slices.Contains(lines, "Using configured bastion host...") {
		t.Errorf("%q %s", lines, show(ds))
	}
	if !strings.Contains(bastion.Log.String(), "direct-tcpip") {
		t.Error("the connection did not go through the bastion")
	}
	for name, c := range map[string]struct {
		by   *server
		more map[string]any
		want string
	}{
		"inherits the key":  {bastion, map[string]any{"bastion_private_key": nil}, "timeout - last error: bastion: SSH authentication failed"},
		"wrong host key":    {bastion, map[string]any{"bastion_host_key": target.Host.Public}, "timeout - last error: bastion: SSH connection to " + bastion.Address()},
		"wrong target key":  {bastion, map[string]any{"host_key": bastion.Host.Public}, "host key verification failed"},
		"forwards nothing":  {closed, nil, "bastion cannot reach the host: ssh: rejected: administratively prohibited"},
		"target is not up":  {bastion, map[string]any{"port": sshdtest.FreePort(t)}, "bastion cannot reach the host: ssh: rejected: connect failed"},
		"garbage for a key": {bastion, map[string]any{"bastion_private_key": canary}, "bastion_private_key cannot be used: it is not a private key in PEM or OpenSSH format"},
	} {
		c.more = merge(c.more, map[string]any{"timeout": hopeless})
		_, ds := try(t, RemoteExec, map[string]any{"inline": []string{"echo hi"}}, through(c.by, c.more))
		if got := show(ds); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	// If user and key are the same on both hosts, they need to be set only once.
	target.Write(t, "authorized", target.User.Public+"\n"+bastion.User.Public+"\n")
	_, ds = try(t, RemoteExec, map[string]any{"inline": []string{"true"}}, through(bastion, map[string]any{"bastion_private_key": nil, "private_key": bastion.User.Private}))
	if ds != nil {
		t.Error(show(ds))
	}
}

// TestHostThatTakesItsTime connects to a port on which a server starts only later.
func TestHostThatTakesItsTime(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	_ = s.Cmd.Process.Kill()
	waittest.Until(t, "nothing listens", func() bool {
		c, err := net.Dial("tcp", s.Address())
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	began := time.Now()
	timer := time.AfterFunc(1500*time.Millisecond, func() { s.Listen(t) })
	defer timer.Stop()
	_, ds := try(t, RemoteExec, map[string]any{"inline": []string{"true"}}, s.connection(t, nil))
	if ds != nil || time.Since(began) < time.Second {
		t.Errorf("after %s: %s", time.Since(began), show(ds))
	}
}

func TestTimeout(t *testing.T) {
	// The server accepts the connection and sends nothing.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := &server{&sshdtest.Server{Port: l.Addr().(*net.TCPAddr).Port, User: newKey(t), Dir: t.TempDir()}}
	began := time.Now()
	_, ds := try(t, File, map[string]any{"content": "x", "destination": "/nope"}, s.connection(t, map[string]any{"timeout": "300ms"}))
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("took %s", took)
	}
	if got := show(ds); !strings.HasPrefix(got, "error file provisioner error; timeout - last error: ") || !strings.Contains(got, "deadline") {
		t.Error(got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	c := s.connection(t, map[string]any{"timeout": "1h"})
	_, ds = tryWith(t, ctx, Request{Type: File, Config: mark.Plain(args(Schema(File), map[string]any{"content": "x", "destination": "/nope"})), Connection: mark.Plain(args(ConnectionSchema(), c))}, c)
	if got := show(ds); got != "error file provisioner error; interrupted" {
		t.Error(got)
	}
}

func TestKeysThatCannotBeUsed(t *testing.T) {
	k := newKey(t)
	s := &server{&sshdtest.Server{Port: 1, User: k, Dir: t.TempDir()}}
	locked, err := ssh.MarshalPrivateKeyWithPassphrase(k.Raw, "", []byte("pass"))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		canary: "private_key cannot be used: it is not a private key in PEM or OpenSSH format",
		"-----BEGIN OPENSSH PRIVATE KEY-----\n" + canary + "\n-----END OPENSSH PRIVATE KEY-----\n": "private_key cannot be used: it is not a private key in PEM or OpenSSH format",
		sshdtest.PEM(locked): "private_key cannot be used: it is protected by a passphrase, which Lethe cannot ask for here. Load the key into an SSH agent, or decrypt it",
	} {
		_, ds := try(t, File, map[string]any{"content": "x", "destination": "/nope"}, s.connection(t, map[string]any{"private_key": text}))
		if got := show(ds); got != "error file provisioner error; "+want {
			t.Error(got)
		}
	}
}

func TestNoConnection(t *testing.T) {
	ds := Run(t.Context(), Request{Type: RemoteExec, Config: mark.Plain(args(Schema(RemoteExec), map[string]any{"inline": []string{"true"}}))})
	if got := show(ds); !strings.HasPrefix(got, "error remote-exec provisioner error; Missing connection configuration for provisioner, which") {
		t.Error(got)
	}
}
