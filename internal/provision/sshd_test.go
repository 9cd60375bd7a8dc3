//go:build unix

package provision

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
)

// keyPair is a key in the forms that the two sides want.
type keyPair struct {
	raw     crypto.Signer
	signer  ssh.Signer
	private string // PEM
	public  string // a line of authorized_keys
}

func newKey(t testing.TB) *keyPair {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, canary)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	return &keyPair{key, signer, pemText(block), line(signer.PublicKey())}
}

func line(k ssh.PublicKey) string { return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k))) }

// certificate has an authority sign a key.
func (k *keyPair) certificate(t testing.TB, authority *keyPair, kind uint32, principals ...string) string {
	t.Helper()
	cert := &ssh.Certificate{
		Key: k.signer.PublicKey(), CertType: kind, KeyId: "test", ValidPrincipals: principals,
		ValidAfter: uint64(time.Now().Add(-time.Hour).Unix()), ValidBefore: uint64(time.Now().Add(time.Hour).Unix()),
		Permissions: ssh.Permissions{Extensions: map[string]string{"permit-pty": "", "permit-port-forwarding": ""}},
	}
	if err := cert.SignCert(rand.Reader, authority.signer); err != nil {
		t.Fatal(err)
	}
	return line(cert)
}

// server is an OpenSSH server of our own.
type server struct {
	port   int
	host   *keyPair
	user   *keyPair // may log in
	dir    string
	log    *journal
	cmd    *exec.Cmd
	starts int // how often it listened
}

// journal is what a server writes.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

func findSSHD(t testing.TB) string {
	t.Helper()
	for _, p := range []string{"/usr/sbin/sshd", "/usr/local/sbin/sshd"} {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	t.Skip("there is no OpenSSH server (Debian: openssh-server)")
	return ""
}

func whoami(t testing.TB) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}

// startServer starts a server on a loopback port, with more lines of configuration, and stops it
// with the test. {dir} stands for its directory.
func startServer(t testing.TB, config ...string) *server {
	t.Helper()
	program := findSSHD(t)
	if os.Getuid() == 0 { // sshd insists
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Skipf("sshd needs /run/sshd: %v", err)
		}
	}
	s := &server{host: newKey(t), user: newKey(t), dir: t.TempDir(), log: &journal{}}
	s.write(t, "host", s.host.private)
	s.write(t, "authorized", s.user.public+"\n")
	for try := 0; ; try++ {
		if s.start(t, program, config) {
			break
		}
		if try == 3 {
			t.Fatalf("sshd does not start:\n%s", s.log)
		}
	}
	return s
}

func (s *server) write(t testing.TB, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (s *server) start(t testing.TB, program string, config []string) bool {
	t.Helper()
	if s.port == 0 {
		s.port = freePort(t)
	}
	// The first value of an option counts, so that what the test wants comes first. Shells find no
	// files of the user in their home.
	conf := strings.ReplaceAll(strings.Join(config, "\n"), "{dir}", s.dir) + fmt.Sprintf(`
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
`, s.port, s.dir)
	s.write(t, "conf", conf)
	cmd := exec.Command("/bin/sh", "-c", `umask 022; exec "$0" -D -e -f "$1"`, program, filepath.Join(s.dir, "conf"))
	cmd.Stderr = s.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dead := make(chan struct{})
	go func() { _ = cmd.Wait(); close(dead) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-dead })
	for {
		select {
		case <-dead:
			s.port = 0
			return false
		case <-time.After(20 * time.Millisecond):
		}
		conn, err := net.Dial("tcp", s.address())
		if err != nil {
			continue
		}
		conn.Close()
		s.cmd = cmd
		s.starts = strings.Count(s.log.String(), "Server listening on")
		return true
	}
}

func (s *server) address() string { return join("127.0.0.1", s.port) }

// connection is the block that gets there, with scripts where the test can see them.
func (s *server) connection(t testing.TB, more map[string]any) map[string]any {
	c := map[string]any{
		"host": "127.0.0.1", "port": s.port, "user": whoami(t), "private_key": s.user.private,
		"timeout": "1m", "script_path": filepath.Join(s.dir, "script_%RAND%.sh"), "agent": false,
	}
	for k, v := range more {
		if v == nil {
			delete(c, k)
		} else {
			c[k] = v
		}
	}
	return c
}

// leftScripts are those that were not removed.
func (s *server) leftScripts(t testing.TB) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(s.dir, "script_*"))
	if err != nil {
		t.Fatal(err)
	}
	return left
}

func pemText(b *pem.Block) string { return string(pem.EncodeToMemory(b)) }
