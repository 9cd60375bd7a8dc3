//go:build unix

package provision

import (
	"path/filepath"
	"testing"

	"github.com/lethe-iac/lethe/internal/sshconn/sshdtest"
)

// server is an OpenSSH server for tests.
type server struct{ *sshdtest.Server }

func startServer(t testing.TB, config ...string) *server {
	t.Helper()
	return &server{sshdtest.Start(t, config...)}
}

// newKey creates a key with the canary as its comment.
func newKey(t testing.TB) *sshdtest.Key {
	t.Helper()
	return sshdtest.NewKey(t, canary)
}

// connection returns the connection block for the server. Scripts are stored in the directory of the test.
func (s *server) connection(t testing.TB, more map[string]any) map[string]any {
	c := map[string]any{
		"host": "127.0.0.1", "port": s.Port, "user": sshdtest.Whoami(t), "private_key": s.User.Private,
		"timeout": "1m", "script_path": filepath.Join(s.Dir, "script_%RAND%.sh"), "agent": false,
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

// leftScripts returns the scripts that were not removed.
func (s *server) leftScripts(t testing.TB) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(s.Dir, "script_*"))
	if err != nil {
		t.Fatal(err)
	}
	return left
}
