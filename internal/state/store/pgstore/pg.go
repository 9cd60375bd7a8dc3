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

	Rows bool // states are taken apart, see rows.go
	Days int  // how long rows are kept that are no more
}

// New makes the store. It connects when it is first used, and does each thing once: see store.Careful.
func New(o Options) store.Remote { return open(o, &locks{held: map[string]*held{}}) }

func open(o Options, l *locks) store.Remote {
	r := &remote{o: o, table: quoted(o.Schema) + "." + quoted(o.Table), locks: l}
	if o.Rows {
		return &rowStore{r}
	}
	return r
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

type remote struct {
	o     Options
	table string // quoted, with its schema

	mu   sync.Mutex // held while the connection is used
	conn *pgconn.PgConn

	*locks
}

// digest makes of what is stored what store.Digest makes of a state.
const digest = `encode(sha256(convert_to(data, 'UTF8')), 'hex')`

// Get implements store.Store.
func (r *remote) Get(ctx context.Context, workspace string) ([]byte, store.Version, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, "", err
	}
	res, err := r.do(ctx, `SELECT data FROM `+r.table+` WHERE name = $1`, workspace)
	if err != nil || len(res.Rows) == 0 || len(res.Rows[0][0]) == 0 {
		return nil, "", err
	}
	data := res.Rows[0][0]
	if err := r.layout(workspace, data); err != nil {
		return nil, "", err
	}
	return data, store.Digest(data), nil
}

// Put implements store.Store.
func (r *remote) Put(ctx context.Context, workspace string, data []byte, prev store.Version) (store.Version, error) {
	if err := store.CheckName(workspace); err != nil {
		return "", err
	}
	if err := r.still(ctx, workspace); err != nil {
		return "", err
	}
	var res *pgconn.Result
	var err error
	if prev == "" {
		res, err = r.do(ctx, `INSERT INTO `+r.table+` AS s (name, data) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET data = $2 WHERE coalesce(s.data, '') = ''`, workspace, string(data))
	} else {
		res, err = r.do(ctx, `UPDATE `+r.table+` SET data = $2 WHERE name = $1 AND `+digest+` = $3`, workspace, string(data), string(prev))
	}
	if err != nil {
		return "", err
	}
	if res.CommandTag.RowsAffected() == 1 {
		return store.Digest(data), nil
	}
	_, now, err := r.Get(ctx, workspace)
	if err != nil {
		return "", err
	}
	return "", &store.StaleError{Workspace: workspace, Missing: now == ""}
}

// Delete implements store.Store.
func (r *remote) Delete(ctx context.Context, workspace string) error {
	if err := store.Deletable(workspace); err != nil {
		return err
	}
	res, err := r.do(ctx, `DELETE FROM `+r.table+` WHERE name = $1 AND coalesce(data, '') NOT LIKE $2`, workspace, inRows+"%")
	if err != nil || res.CommandTag.RowsAffected() > 0 {
		return err
	}
	_, _, err = r.Get(ctx, workspace)
	return err
}

// List implements store.Store.
func (r *remote) List(ctx context.Context) ([]string, error) {
	res, err := r.do(ctx, `SELECT name FROM `+r.table+` WHERE name <> $1 ORDER BY name COLLATE "C"`, store.Default)
	if err != nil {
		return nil, err
	}
	names := []string{store.Default}
	for _, row := range res.Rows {
		names = append(names, string(row[0]))
	}
	return names, nil
}

// do runs a statement over the connection for everything but locks.
func (r *remote) do(ctx context.Context, sql string, args ...string) (res *pgconn.Result, err error) {
	err = r.use(ctx, func(conn *pgconn.PgConn) error {
		res, err = run(ctx, conn, sql, args...)
		return err
	})
	return res, err
}

// use does something over the connection for everything but locks. What is missing in the database is made by the
// first that needs it.
func (r *remote) use(ctx context.Context, do func(*pgconn.PgConn) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn == nil || r.conn.IsClosed() {
		var err error
		if r.conn, err = r.connect(ctx); err != nil {
			return err
		}
	}
	err := do(r.conn)
	if missing(err) {
		if err = r.create(ctx, r.conn); err == nil {
			err = do(r.conn)
		}
	}
	return err
}

func (r *remote) connect(ctx context.Context) (*pgconn.PgConn, error) {
	conn, err := pgconn.ConnectConfig(ctx, r.o.Config)
	return conn, answered(err)
}

// run runs one statement.
func run(ctx context.Context, conn *pgconn.PgConn, sql string, args ...string) (*pgconn.Result, error) {
	values := make([][]byte, len(args))
	for i, a := range args {
		values[i] = []byte(a)
	}
	res := conn.ExecParams(ctx, sql, values, nil, nil, nil).Read()
	return res, answered(res.Err)
}

// answered tells errors that a server gave from those of the way there, and from those of one that goes down.
func answered(err error) error {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &pg) && !strings.HasPrefix(pg.Code, "57P") && !strings.HasPrefix(pg.Code, "08") && pg.Code != "53300":
		return err
	}
	return &store.UnansweredError{Err: err}
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

// missing reports whether there is no such table, or no such schema.
func missing(err error) bool { return code(err, "42P01", "3F000") }

// create makes what is missing. Two that do so at once can fail although each says "if not exists".
func (r *remote) create(ctx context.Context, conn *pgconn.PgConn) error {
	var statements []string
	if !r.o.SkipSchema {
		statements = append(statements, `CREATE SCHEMA IF NOT EXISTS `+quoted(r.o.Schema))
	}
	if !r.o.SkipTable {
		statements = append(statements, `CREATE SEQUENCE IF NOT EXISTS public.global_states_id_seq AS bigint`,
			`CREATE TABLE IF NOT EXISTS `+r.table+` (id bigint NOT NULL DEFAULT nextval('public.global_states_id_seq') PRIMARY KEY, name text UNIQUE, data text)`)
	}
	if !r.o.SkipIndex {
		statements = append(statements, `CREATE UNIQUE INDEX IF NOT EXISTS `+quoted(r.o.Index)+` ON `+r.table+` (name)`)
	}
	if r.o.Rows && !r.o.SkipTable {
		statements = append(statements, r.rowTables())
	}
	for _, sql := range statements {
		_, err := conn.Exec(ctx, sql).ReadAll()
		for range 3 {
			if code(err, "23505", "42710", "42P06", "42P07", "XX000") {
				_, err = conn.Exec(ctx, sql).ReadAll()
			}
		}
		err = answered(err)
		if err != nil {
			return fmt.Errorf("the table for states cannot be made: %w", err)
		}
	}
	return nil
}
