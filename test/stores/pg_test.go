// Package stores tests the stores of states on real servers.
package stores

import (
	"context"
	"errors"
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

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/pgstore"
	"github.com/lethe-iac/lethe/internal/store/storetest"
	"github.com/lethe-iac/lethe/internal/subprocess/waittest"
	"github.com/zclconf/go-cty/cty"
)

var ctx = context.Background()

// check ends the test if err is not nil.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestPostgres runs the contract of stores on a server.
func TestPostgres(t *testing.T) {
	t.Parallel()
	port := startPostgres(t)
	n := 0
	for _, layout := range []string{"document", "rows"} {
		t.Run(layout, func(t *testing.T) {
			t.Run("contract", func(t *testing.T) {
				storetest.Run(t, func(t *testing.T) func() store.Store {
					n++
					return opener(t, port, fmt.Sprintf("contract %d", n), layout)
				})
			})
			t.Run("cut", func(t *testing.T) {
				storetest.RunInterrupted(t, func(t *testing.T) (func() store.Store, storetest.Breaks) {
					n++
					p := newProxy(t, "127.0.0.1:"+port)
					return opener(t, p.port(), fmt.Sprintf("cut %d", n), layout), p
				})
			})
			t.Run("connection of the lock", func(t *testing.T) { testLostLock(t, port, layout) })
			t.Run("first runs", func(t *testing.T) { testFirstRuns(t, port, layout) })
		})
	}
	t.Run("skipped", func(t *testing.T) { testSkipped(t, port) })
	t.Run("limited", func(t *testing.T) { testLimited(t, port) })
	t.Run("members", func(t *testing.T) {
		storetest.RunMembers(t, func(t *testing.T) func() store.Store {
			n++
			return opener(t, port, fmt.Sprintf("members %d", n), "rows")
		})
	})
}

// opener returns a function that opens a store in a schema of the server on a port, with a layout. flags are the names
// of settings that are set to true.
func opener(t *testing.T, port, schema, layout string, flags ...string) func() store.Store {
	return func() store.Store {
		settings := map[string]cty.Value{
			"conn_str":    cty.StringVal("postgres://postgres:canary@127.0.0.1:" + port + "/postgres?sslmode=disable"),
			"schema_name": cty.StringVal(schema), "layout": cty.StringVal(layout),
		}
		for _, name := range flags {
			settings[name] = cty.True
		}
		config, err := pgstore.Driver.Schema.Coerce(cty.ObjectVal(settings))
		check(t, err)
		st, err := pgstore.Driver.Open(ctx, store.Settings{Config: config, Getenv: os.Getenv})
		check(t, err)
		return st
	}
}

// testSkipped checks the skip settings. If a missing object may not be created, the error names the setting. If the
// object exists, no error occurs.
func testSkipped(t *testing.T, port string) {
	for _, layout := range []string{"document", "rows"} {
		for _, c := range []struct{ skip, there, want string }{
			{"skip_schema_creation", "", "skip_schema_creation"},
			{"skip_schema_creation", "schema", ""},
			{"skip_table_creation", "", "skip_table_creation"},
			{"skip_table_creation", "schema", "skip_table_creation"},
			{"skip_table_creation", "all", ""},
			{"skip_index_creation", "", ""},
			{"skip_index_creation", "all", ""},
		} {
			schema := "skipped " + layout + " " + c.skip + " " + c.there
			switch c.there {
			case "schema":
				query(t, port, `CREATE SCHEMA "`+schema+`"`)
			case "all":
				_, err := opener(t, port, schema, layout)().Put(ctx, "w", []byte("1"), "")
				check(t, err)
			}
			_, err := opener(t, port, schema, layout, c.skip)().List(ctx)
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), `"`+c.want+`" is set`) || strings.Contains(err.Error(), "cannot be created")) {
				t.Errorf("%s: %v", schema, err)
			}
		}
	}
	document := opener(t, port, "skipped journal", "document")()
	_, err := document.List(ctx)
	check(t, err)
	without := opener(t, port, "skipped journal", "document", "journal", "skip_table_creation")()
	if _, err := without.List(ctx); err == nil || !strings.Contains(err.Error(), "skip_table_creation") { // init calls List
		t.Errorf("without the table of journals workspaces are listed: %v", err)
	}
	if _, err := without.Capabilities().Journals.Orphaned(ctx, "w"); err == nil || !strings.Contains(err.Error(), "skip_table_creation") {
		t.Errorf("the table of journals: %v", err)
	}
}

// testLimited checks roles that may create some of the objects, while others have created the rest.
func testLimited(t *testing.T, port string) {
	query(t, port, `REVOKE CREATE ON SCHEMA public FROM PUBLIC`)
	for n, layout := range []string{"document", "rows"} {
		schema, role := "limited "+layout, fmt.Sprintf("limited%d", n)
		query(t, port, `CREATE ROLE `+role+` LOGIN; CREATE SCHEMA "`+schema+`"; GRANT USAGE, CREATE ON SCHEMA "`+schema+`" TO `+role+`;
			CREATE SEQUENCE IF NOT EXISTS public.global_states_id_seq AS bigint; GRANT USAGE ON SEQUENCE public.global_states_id_seq TO `+role)
		settings := map[string]cty.Value{
			"conn_str":    cty.StringVal("postgres://" + role + ":canary@127.0.0.1:" + port + "/postgres?sslmode=disable"),
			"schema_name": cty.StringVal(schema), "layout": cty.StringVal(layout),
		}
		config, err := pgstore.Driver.Schema.Coerce(cty.ObjectVal(settings))
		check(t, err)
		st, err := pgstore.Driver.Open(ctx, store.Settings{Config: config, Getenv: os.Getenv})
		check(t, err)
		_, err = st.List(ctx)
		check(t, err)
		_, err = st.Put(ctx, "w", []byte(`{"version":4,"serial":1,"lineage":"l","outputs":{},"resources":[]}`), "")
		check(t, err)
	}
	// The error for a role that may not create an object must name that object.
	settings := map[string]cty.Value{"conn_str": cty.StringVal("postgres://limited0@127.0.0.1:" + port + "/postgres?sslmode=disable"), "schema_name": cty.StringVal("limited none")}
	config, err := pgstore.Driver.Schema.Coerce(cty.ObjectVal(settings))
	check(t, err)
	st, err := pgstore.Driver.Open(ctx, store.Settings{Config: config, Getenv: os.Getenv})
	check(t, err)
	if _, err = st.List(ctx); err == nil || !strings.Contains(err.Error(), "permission denied for database") {
		t.Errorf("a schema that the role may not create: %v", err)
	}
}

// testLostLock breaks the connection that holds a lock. The holder continues if no other run has taken the lock.
// Otherwise it overwrites nothing.
func testLostLock(t *testing.T, port, layout string) {
	open := opener(t, port, "lost "+layout, layout)
	a, b := open(), open()
	v, err := a.Put(ctx, "w", []byte("1"), "")
	check(t, err)
	who := store.NewLockInfo("OperationTypeApply", "1")
	_, err = a.Lock(ctx, "w", who)
	check(t, err)
	endLocks(t, port)
	v, err = a.Put(ctx, "w", []byte("2"), v)
	check(t, err)
	var held *store.LockError
	if _, err := b.Lock(ctx, "w", store.NewLockInfo("other", "1")); !errors.As(err, &held) || held.Held == nil || held.Held.ID != who.ID {
		t.Fatalf("the lock is not taken again: %v", err)
	}
	endLocks(t, port)
	unlock, err := b.Lock(ctx, "w", store.NewLockInfo("other", "1"))
	check(t, err)
	if _, err := a.Put(ctx, "w", []byte("3"), v); !errors.As(err, &held) || !strings.Contains(err.Error(), "another process has locked the state") {
		t.Errorf("written under the lock of another: %v", err)
	}
	check(t, unlock(ctx))
}

// testFirstRuns locks workspaces that have no row yet. The locks exclude other runs in the same workspace, and
// Terraform while it creates any workspace, but neither runs in other workspaces nor in other schemas.
func testFirstRuns(t *testing.T, port, layout string) {
	lock := func(schema, workspace string) (func(context.Context) error, error) {
		return opener(t, port, schema+" "+layout, layout)().Lock(ctx, workspace, store.NewLockInfo("OperationTypeApply", "1"))
	}
	refused := func(schema, workspace, text string) {
		t.Helper()
		var held *store.LockError
		if _, err := lock(schema, workspace); !errors.As(err, &held) || held.Held == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s in %s: %v", workspace, schema, err)
		}
	}
	st := opener(t, port, "first "+layout, layout)()
	var ends []func(context.Context) error
	for _, at := range [][2]string{{"first", "a"}, {"first", "b"}, {"second", "a"}} {
		unlock, err := lock(at[0], at[1])
		check(t, err)
		ends = append(ends, unlock)
	}
	refused("first", "a", "the state is locked")
	_, err := st.Put(ctx, "a", []byte("1"), "") // the workspace has a row in the table from now on
	check(t, err)
	refused("first", "a", "the state is locked")
	if query(t, port, `SELECT pg_try_advisory_lock(-1)`) != "f" { // Terraform uses this lock while it creates a workspace
		t.Error("Terraform could create the workspaces at the same time")
	}
	for _, end := range ends {
		check(t, end(ctx))
	}
	c, err := pgconn.Connect(ctx, "postgres://postgres@127.0.0.1:"+port+"/postgres?sslmode=disable")
	check(t, err)
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, `SELECT pg_advisory_lock(-1)`).ReadAll(); err != nil {
		t.Fatal(err)
	}
	for _, workspace := range []string{"a", "c"} {
		refused("first", workspace, "another program is creating a workspace in this database")
	}
}

// TestSessionDies breaks the connection of a lock during an apply, and another apply takes the lock. No created object
// is lost: the second run writes the state, and the first is refused and writes a file.
func TestSessionDies(t *testing.T) {
	ours, err := lethe()
	check(t, err)
	port := startPostgres(t)
	p := place{"terraform {\n  backend \"pg\" {}\n}\n", []string{"PG_CONN_STR=postgres://postgres:canary-4711@127.0.0.1:" + port + "/postgres?sslmode=disable"}}
	first, second := newDirectory(t, ours, p), newDirectory(t, ours, p)
	first.run(0, "apply", "-auto-approve", "-var", "v=of nobody")
	cmd, done := first.holding("of the first")
	endLocks(t, port)
	second.run(0, "apply", "-auto-approve", "-var", "v=of the second")
	done()
	if err := cmd.Wait(); err == nil {
		t.Error("both succeed")
	}
	if out := second.run(0, "output", "-raw", "o"); out != "of the second" {
		t.Errorf("the state is %q", out)
	}
	kept, err := os.ReadFile(filepath.Join(first.dir, "errored.tfstate"))
	if err != nil || !strings.Contains(string(kept), "of the first") {
		t.Errorf("what the first made is in no file: %v", err)
	}
	first.run(1, "state", "push", "errored.tfstate")
}

// endLocks ends each connection of the server that holds an advisory lock, and waits until the locks are released. At
// least one lock must exist.
func endLocks(t *testing.T, port string) {
	t.Helper()
	c, err := pgconn.Connect(ctx, "postgres://postgres@127.0.0.1:"+port+"/postgres?sslmode=disable")
	check(t, err)
	defer c.Close(ctx)
	ended, err := c.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'`).ReadAll()
	check(t, err)
	if len(ended[0].Rows) == 0 {
		t.Fatal("there is no lock")
	}
	waittest.Until(t, "the locks are released", func() bool {
		left, err := c.Exec(ctx, `SELECT 1 FROM pg_locks WHERE locktype = 'advisory'`).ReadAll()
		check(t, err)
		return len(left[0].Rows) == 0
	})
}

// proxy is a proxy before a server that can break connections (storetest.Breaks). Data that a client sends at once
// counts as a request.
type proxy struct {
	net.Listener
	to        string       // the address of the server
	count, at atomic.Int64 // the number of requests since Interrupt, and the number of the request that breaks
	late      atomic.Bool  // the server receives the request that breaks, but its answer is lost
}

// newProxy starts a proxy for the server at an address, until the end of the test.
func newProxy(t *testing.T, to string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	p := &proxy{Listener: l, to: to}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

func (p *proxy) port() string {
	_, port, _ := net.SplitHostPort(p.Addr().String())
	return port
}

// Interrupt breaks the connection at the n-th request from now on, on any connection. If late is true, the server
// receives the request first.
func (p *proxy) Interrupt(n int, late bool) {
	p.count.Store(0)
	p.at.Store(int64(n))
	p.late.Store(late)
}

// Reached reports whether the request of the last Interrupt was sent.
func (p *proxy) Reached() bool { return p.count.Load() >= p.at.Load() }

// serve forwards the data of one client and its server until either closes the connection, or until a request breaks
// it.
func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer server.Close()
	var answers sync.Mutex // locked when no more answers may pass
	go func() {
		buf := make([]byte, 1<<16)
		for {
			n, err := server.Read(buf)
			answers.Lock()
			if err == nil {
				_, err = client.Write(buf[:n])
			}
			answers.Unlock()
			if err != nil {
				client.Close()
				return
			}
		}
	}()
	buf := make([]byte, 1<<20)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if p.count.Add(1) != p.at.Load() {
			if _, err := server.Write(buf[:n]); err != nil {
				return
			}
			continue
		}
		if p.late.Load() {
			answers.Lock()
			if _, err := server.Write(buf[:n]); err == nil {
				server.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
				io.Copy(io.Discard, server)
			}
			client.Close()
			answers.Unlock()
		}
		return
	}
}
