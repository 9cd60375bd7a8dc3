// Package pgstore keeps states in a PostgreSQL database: what Terraform and OpenTofu call the backend "pg", with
// their schema, table, sequence and advisory locks, so that each waits for the locks of the others.
//
// A state is a row of the table "states": id, name (the workspace), data. A Put says in its statement which
// content it replaces, so that of two writers one is refused, lock or no lock.
//
// With layout = "rows" it is taken apart into rows of more tables (rows.go); the row of "states" then says so, in a
// form that programs that look for a document there refuse to read.
//
// A lock is an advisory lock on the id of the row, held by a connection of its own. A workspace that has no row
// yet is locked by the one lock of all that are being made, -1, which others ask for, too. A lock ends with its
// connection, and so with its process; it is asked for again before a state is written under it.
package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// Options say where the states are.
type Options struct {
	Config        *pgconn.Config
	Schema, Table string
	Index         string // the name of the index over the names
	// What is not made where it is missing.
	SkipSchema, SkipTable, SkipIndex bool

	Rows    bool // states are taken apart, see rows.go
	Journal bool // runs keep their journals there, as they always do with Rows
	Days    int  // how long rows are kept that are no more
	Tries   store.Tries
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

type remote struct {
	o     Options
	table string // quoted, with its schema

	mu   sync.Mutex // held while the connection is used
	conn *pgconn.PgConn

	*locks
}

// Place implements store.Placed.
func (r *remote) Place(workspace string) string {
	c := r.o.Config
	return fmt.Sprintf("pg:%s:%d/%s/%s/%s", c.Host, c.Port, c.Database, r.table, workspace)
}

// digest makes of what is stored what store.Digest makes of a state.
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

// answered tells errors that a server gave from those of the way there, from those of one that goes down or has no room, and
// from those of a transaction that others ended: it was rolled back, and may be made again.
func answered(err error) error {
	var pg *pgconn.PgError
	if err == nil {
		return nil
	}
	if !errors.As(err, &pg) {
		return &store.UnansweredError{Err: err}
	}
	switch class := pg.Code[:min(2, len(pg.Code))]; {
	case class == "40", class == "53":
		return &store.UnansweredError{Err: err, Unsent: true}
	case strings.HasPrefix(pg.Code, "57P"), class == "08":
		return &store.UnansweredError{Err: err}
	}
	return err
}

// code reports whether an error of a server is one of these.
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

// held is a lock of this process: the connection has it. Who that is stands in the text of each statement of the
// connection; the server shows the latest to others of the same role, for as long as the connection lives.
type held struct {
	who    store.LockInfo
	conn   *pgconn.PgConn
	key    string
	joined *joined // nil: the lock is of one alone
}

// joined is what a run has that shares a lock with others (claims.go).
type joined struct {
	table   string // of claims
	session string // the second number of the lock that says that it goes on
	parts   store.Parts
}

// locks are those of this process, by workspace.
type locks struct {
	sync.Mutex
	held map[string]*held
}
