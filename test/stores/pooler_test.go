package stores

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/storetest"
)

// startPooler runs PgBouncer before a PostgreSQL server until the end of the test, and returns its port. It skips the
// test if PgBouncer is not installed.
func startPooler(t *testing.T, server, mode string) string {
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		t.Skip("there is no pgbouncer on PATH")
	}
	s := newServer(t)
	config := filepath.Join(s.base, "ini")
	check(t, os.WriteFile(config, []byte(fmt.Sprintf("[databases]\n* = host=127.0.0.1 port=%s user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\nauth_type = any\nunix_socket_dir =\npool_mode = %s\n", server, s.port, mode)), 0o644))
	cmd := s.command(path, config)
	check(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for range 200 {
		if conn, err := net.Dial("tcp", "127.0.0.1:"+s.port); err == nil {
			_ = conn.Close()
			return s.port
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("pgbouncer does not listen")
	return ""
}

// TestPooler checks that a lock excludes other runs, and ends with its run, if a pooler shares the connections of the
// server among its clients. Then it runs the contract of stores.
func TestPooler(t *testing.T) {
	t.Parallel()
	server, n := startPostgres(t), 0
	for _, mode := range []string{"session", "transaction"} {
		port := startPooler(t, server, mode)
		for _, layout := range []string{"document", "rows"} {
			t.Run(mode+" "+layout, func(t *testing.T) {
				open, direct := opener(t, port, mode+layout, layout), opener(t, server, mode+layout, layout)
				for _, exists := range []bool{false, true} {
					unlock, err := open().Lock(ctx, store.Default, store.NewLockInfo("one", "1"))
					check(t, err)
					for _, other := range []store.Store{open(), direct()} {
						var held *store.LockError
						if _, err := other.Lock(ctx, store.Default, store.NewLockInfo("two", "1")); !errors.As(err, &held) || held.Held == nil || held.Held.Operation != "one" {
							t.Errorf("exists %t: %v", exists, err)
						}
					}
					if !exists {
						_, err = open().Put(ctx, store.Default, []byte(`{"version":4,"serial":1,"lineage":"l","resources":[]}`), "")
						check(t, err)
					}
					check(t, unlock(ctx))
					unlock, err = direct().Lock(ctx, store.Default, store.NewLockInfo("three", "1"))
					check(t, err)
					check(t, unlock(ctx))
				}
				if mode == "session" {
					return // the stores of the contract would use up the connections of the pool
				}
				storetest.Run(t, func(t *testing.T) func() store.Store {
					n++
					return opener(t, port, fmt.Sprintf("pooler %d", n), layout)
				})
			})
		}
	}
}
