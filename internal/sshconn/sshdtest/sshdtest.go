// Package sshdtest starts real OpenSSH servers for tests, on a loopback port, and stops them with the test. If OpenSSH
// is not installed, the test is skipped with that reason.
package sshdtest

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/lethe-iac/lethe/internal/sshconn"
)

// Key is a key in the forms that the tests need.
type Key struct {
	Raw     crypto.Signer
	Signer  ssh.Signer
	Private string // PEM
	Public  string // a line of authorized_keys
}

// NewKey creates an Ed25519 key. The encoded private key contains the comment.
func NewKey(t testing.TB, comment string) *Key {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, comment)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	return &Key{key, signer, PEM(block), line(signer.PublicKey())}
}

func line(k ssh.PublicKey) string { return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k))) }

// Certificate returns a certificate for the key, signed by an authority, as a line of authorized_keys. It is valid from
// an hour ago until an hour from now. kind is ssh.UserCert or ssh.HostCert. principals are the users or hosts for which
// it is valid.
func (k *Key) Certificate(t testing.TB, authority *Key, kind uint32, principals ...string) string {
	t.Helper()
	cert := &ssh.Certificate{
		Key: k.Signer.PublicKey(), CertType: kind, KeyId: "test", ValidPrincipals: principals,
		ValidAfter: uint64(time.Now().Add(-time.Hour).Unix()), ValidBefore: uint64(time.Now().Add(time.Hour).Unix()),
		Permissions: ssh.Permissions{Extensions: map[string]string{"permit-pty": "", "permit-port-forwarding": ""}},
	}
	if err := cert.SignCert(rand.Reader, authority.Signer); err != nil {
		t.Fatal(err)
	}
	return line(cert)
}

// Server is an OpenSSH server for a test.
type Server struct {
	Port   int
	Host   *Key
	User   *Key   // the key that may log in
	Dir    string // the directory of its files
	Log    *Log
	Cmd    *exec.Cmd
	Starts int // how often the server began to listen, as its log shows
}

// Log collects the output of a server.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write adds to the log.
func (j *Log) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *Log) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

// Installed returns the path of the server's program, or "" if it is missing.
func Installed() string {
	for _, p := range []string{"/usr/sbin/sshd", "/usr/local/sbin/sshd"} {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return ""
}

// Whoami returns the name of the user that runs the tests. The server lets this user log in.
func Whoami(t testing.TB) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}

// Start starts a server on a loopback port, and stops it at the end of the test. config has additional lines of
// configuration, in which {dir} is replaced by the directory of the server. If OpenSSH is not installed, the test is
// skipped.
func Start(t testing.TB, config ...string) *Server {
	t.Helper()
	if Installed() == "" {
		t.Skip("there is no OpenSSH server (Debian: openssh-server)")
	}
	if os.Getuid() == 0 { // sshd needs this directory if it runs as root
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Skipf("sshd needs /run/sshd: %v", err)
		}
	}
	s := &Server{Host: NewKey(t, "host"), User: NewKey(t, "user"), Dir: t.TempDir(), Log: &Log{}}
	s.Write(t, "host", s.Host.Private)
	s.Write(t, "authorized", s.User.Public+"\n")
	for try := 0; ; try++ {
		if s.Listen(t, config...) {
			break
		}
		if try == 3 {
			t.Fatalf("sshd does not start:\n%s", s.Log)
		}
	}
	return s
}

// Write writes a file into the directory of the server.
func (s *Server) Write(t testing.TB, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.Dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// FreePort returns a port on which no process listens.
func FreePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// Listen starts the server, and reports whether it listens. It may be called again after the server has ended. config
// is the same as in Start.
func (s *Server) Listen(t testing.TB, config ...string) bool {
	t.Helper()
	if s.Port == 0 {
		s.Port = FreePort(t)
	}
	// The first value of an option counts, so the options of the test come first. Shells find no files of the user in
	// their home.
	conf := strings.ReplaceAll(strings.Join(config, "\n"), "{dir}", s.Dir) + fmt.Sprintf(`
Port %d
ListenAddress 127.0.0.1
HostKey %s/host
AuthorizedKeysFile %[2]s/authorized
PidFile none
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
PermitRootLogin yes
SetEnv HOME=%[2]s
LogLevel INFO
MaxStartups 100
`, s.Port, s.Dir)
	s.Write(t, "conf", conf)
	cmd := exec.Command("/bin/sh", "-c", `umask 022; exec "$0" -D -e -f "$1"`, Installed(), filepath.Join(s.Dir, "conf"))
	cmd.Stderr = s.Log
	cmd.WaitDelay = time.Second // sessions that continue keep the log open
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dead := make(chan struct{})
	go func() { _ = cmd.Wait(); close(dead) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-dead })
	for {
		select {
		case <-dead:
			s.Port = 0
			return false
		case <-time.After(20 * time.Millisecond):
		}
		conn, err := net.Dial("tcp", s.Address())
		if err != nil {
			continue
		}
		conn.Close()
		s.Cmd = cmd
		s.Starts = strings.Count(s.Log.String(), "Server listening on")
		return true
	}
}

// Address returns the address on which the server listens.
func (s *Server) Address() string { return sshconn.Join("127.0.0.1", s.Port) }

// PEM returns a block as text.
func PEM(b *pem.Block) string { return string(pem.EncodeToMemory(b)) }
