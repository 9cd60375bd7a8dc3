// Package pgstore keeps states in a PostgreSQL database. Its driver is the backend "pg" of Terraform and OpenTofu, with
// the same schema, table, sequence and advisory locks, so that each program respects the locks of the others.
//
// A state is a row of the table "states", with the columns id, name (the workspace) and data. The statement of a Put
// names the content that it replaces. If two writers replace the same content, the second one fails, even without
// locks.
//
// With layout = "rows", a state is split into rows of further tables (rows.go). Its row in "states" then has a marker,
// which programs that expect a document there refuse to read.
//
// A lock is an advisory lock whose key is the id of the row. A separate connection holds it. A workspace without a row
// has another key, and its runs also share the lock -1, which Terraform and OpenTofu hold while they create any
// workspace. A lock ends with its connection, and so with its process. Before the store writes a state, it checks that
// its lock still exists, and takes the lock again if the connection broke.
package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lethe-iac/lethe/internal/store"
)

// Options configures the store.
type Options struct {
	Config        *pgconn.Config
	Schema, Table string
	Index         string // the name of the unique index on the names of workspaces
	// If true, a missing schema, table or index is not created.
	SkipSchema, SkipTable, SkipIndex bool

	Rows    bool // keep a state in rows of several tables (rows.go), not as one document
	Journal bool // keep the journals of runs in the database; implied by Rows
	Days    int  // for how many days former states in rows are kept; 0 means that the next write deletes them
	Tries   store.Tries
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// remote keeps each state as one document. The stores for the layout "rows" and for journals embed it.
type remote struct {
	o     Options
	table string // the name of the table of states with its schema, quoted for SQL

	mu   sync.Mutex // held while the shared connection is used
	conn *pgconn.PgConn

	*locks
}

// Capabilities returns the optional abilities of the store. A nil member means that the store lacks the ability.
func (r *remote) Capabilities() store.Capabilities {
	return store.Capabilities{Breaker: r, Place: r, Migrator: r, Disabled: r}
}

// Place returns a text that identifies the place of a state, for comparison with places of other stores.
func (r *remote) Place(workspace string) string {
	c := r.o.Config
	return fmt.Sprintf("pg:%s:%d/%s/%s/%s", c.Host, c.Port, c.Database, r.table, workspace)
}

// digest is the SQL expression for store.Digest of the stored state.
const digest = `encode(sha256(convert_to(data, 'UTF8')), 'hex')`

// run runs one statement with text arguments, and returns its result.
func run(ctx context.Context, conn *pgconn.PgConn, sql string, args ...string) (*pgconn.Result, error) {
	values := make([][]byte, len(args))
	for i, a := range args {
		values[i] = []byte(a)
	}
	res := conn.ExecParams(ctx, sql, values, nil, nil, nil).Read()
	return res, answered(res.Err)
}

// readOnly is PostgreSQL's error code for a write on a server that accepts no writes. During a failover, a repeated
// request may soon reach another server.
const readOnly = "25006"

// answered returns a *store.UnansweredError for errors after which a request may be repeated:
//
//   - the connection failed;
//   - the server shuts down, lacks resources or accepts no writes;
//   - the server rolled the request back because of other transactions.
//
// It returns other errors unchanged: they are answers of the server.
func answered(err error) error {
	var pg *pgconn.PgError
	if err == nil {
		return nil
	}
	if !errors.As(err, &pg) {
		return &store.UnansweredError{Err: err}
	}
	switch class := pg.Code[:min(2, len(pg.Code))]; {
	case class == "40", class == "53", pg.Code == readOnly:
		return &store.UnansweredError{Err: err, Unsent: true}
	case strings.HasPrefix(pg.Code, "57P"), class == "08":
		return &store.UnansweredError{Err: err}
	}
	return err
}

// code reports whether err is an error of the server with one of the given codes.
func code(err error, codes ...string) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	for _, c := range codes {
		if pg.Code == c {
			return true
		}
	}
	return false
}

// held is a lock that this process holds on a separate connection. Each statement on that connection contains the
// holder of the lock in a comment, because the server shows the latest statement of a connection to other connections
// of the same role.
type held struct {
	who    store.LockInfo
	conn   *pgconn.PgConn
	key    string
	joined *joined // the claims, if the run works on parts of the state; nil means a lock of the whole state, which is exclusive unless who.Shared is true
}

// joined has the claims (reserved parts) of a run that shares the lock of a state with other runs (claims.go).
type joined struct {
	table   string // the name of the table of claims
	session string // the second number of the advisory lock that shows that the run is alive
	parts   store.Parts
}

// locks holds the locks of this process, by workspace.
type locks struct {
	sync.Mutex
	held map[string]*held
}
