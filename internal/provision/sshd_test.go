//go:build unix

package provision

import (
	"path/filepath"
	"testing"

	"github.com/lethe-iac/lethe/internal/sshconn/sshdtest"
)

// server is an OpenSSH server of our own.
type server struct{ *sshdtest.Server }

func startServer(t testing.TB, config ...string) *server {
	t.Helper()
	return &server{sshdtest.Start(t, config...)}
}

// newKey makes a key with the canary as its comment.
func newKey(t testing.TB) *sshdtest.Key {
	t.Helper()
	return sshdtest.NewKey(t, canary)
}

// connection is the block that gets there, with scripts where the test can see them.
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

// leftScripts are those that were not removed.
func (s *server) leftScripts(t testing.TB) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(s.Dir, "script_*"))
	if err != nil {
		t.Fatal(err)
	}
	return left
}
