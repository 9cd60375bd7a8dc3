// Package pgstore keeps states in a PostgreSQL database. Its driver is the backend "pg" of Terraform and OpenTofu, with
// the same schema, table, sequence and advisory locks, so that each program respects the locks of the others.
//
// A state is a row of the table "states": id, name (the workspace), data. The statement of a Put names the content that
// it replaces. If two writers replace the same content, the second one fails, even without locks.
//
// With layout = "rows", a state is split into rows of further tables (rows.go). Its row in "states" then has a marker,
// which programs that expect a document there refuse to read.
//
// A lock is an advisory lock on the id of the row, held by a separate connection. A workspace without a row has another
// lock, and its runs also share the lock -1, which Terraform and OpenTofu hold while they create any workspace. A lock
// ends with its connection, and so with its process. Before a state is written, the store checks that its lock still
// exists, and takes it again if the connection broke.
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
	// Do not create the schema, table or index if it is missing.
	SkipSchema, SkipTable, SkipIndex bool

	Rows    bool // split states into rows, see rows.go
	Journal bool // keep the journals of runs in the database; implied by Rows
	Days    int  // for how many days rows of former states are kept; 0: they are deleted by the next write
	Tries   store.Tries
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// remote keeps each state as one document. The stores of the other layouts contain it.
type remote struct {
	o     Options
	table string // quoted, with its schema

	mu   sync.Mutex // held while the connection is used
	conn *pgconn.PgConn

	*locks
}

// Capabilities implements store.Store.
func (r *remote) Capabilities() store.Capabilities {
	return store.Capabilities{Breaker: r, Place: r, Migrator: r, Disabled: r}
}

// Place implements store.Locator.
func (r *remote) Place(workspace string) string {
	c := r.o.Config
	return fmt.Sprintf("pg:%s:%d/%s/%s/%s", c.Host, c.Port, c.Database, r.table, workspace)
}

// digest is the SQL that computes store.Digest of the stored state.
const digest = `encode(sha256(convert_to(data, 'UTF8')), 'hex')`

// run runs one statement.
func run(ctx context.Context, conn *pgconn.PgConn, sql string, args ...string) (*pgconn.Result, error) {
	values := make([][]byte, len(args))
	for i, a := range args {
		values[i] = []byte(a)
	}
	res := conn.ExecParams(ctx, sql, values, nil, nil, nil).Read()
	return res, answered(res.Err)
}

// readOnly is the error code of a server that accepts no writes. During a failover, a repeated request may soon reach
// another server.
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

// code reports whether err is an error of the server with one of these codes.
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

// held is a lock of this process, held by its connection. The text of each statement on the connection contains who.
// The server shows the latest statement to other connections of the same role while the connection exists.
type held struct {
	who    store.LockInfo
	conn   *pgconn.PgConn
	key    string
	joined *joined // nil: the lock is of the whole state, and exclusive unless who.Shared is true
}

// joined holds the claims of a run that shares the lock of a state (claims.go).
type joined struct {
	table   string // the table of claims
	session string // the second number of the lock that shows that the run is alive
	parts   store.Parts
}

// locks holds the locks of this process, by workspace.
type locks struct {
	sync.Mutex
	held map[string]*held
}
