package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lethe-iac/lethe/internal/store"
)

// do runs a statement on the connection that all requests of this store share. Locks have separate connections.
func (r *remote) do(ctx context.Context, sql string, args ...string) (res *pgconn.Result, err error) {
	err = r.use(ctx, func(conn *pgconn.PgConn) error {
		res, err = run(ctx, conn, sql, args...)
		return err
	})
	return res, err
}

// use calls do with the shared connection, and connects first if necessary. If a schema, table or column is missing,
// use creates all missing ones and calls do again.
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
		err = r.skipped(err)
	}
	if code(err, readOnly) {
		_ = r.conn.Close(ctx) // the server accepts no writes: connect again, because the address may lead to another server by now
	}
	return err
}

func (r *remote) connect(ctx context.Context) (*pgconn.PgConn, error) {
	conn, err := pgconn.ConnectConfig(ctx, r.o.Config)
	return conn, store.Unsent(answered(err))
}

// missing reports whether err means that a table, a column or a schema does not exist.
func missing(err error) bool { return code(err, "42P01", "42703", "3F000") }

// skipped explains an error about a missing schema or table if a setting forbids its creation. It returns other errors
// unchanged.
func (r *remote) skipped(err error) error {
	switch {
	case r.o.SkipSchema && code(err, "3F000"):
		return fmt.Errorf("the schema %q does not exist, and \"skip_schema_creation\" is set: create the schema, or remove that setting: %w", r.o.Schema, err)
	case r.o.SkipTable && code(err, "42P01"):
		return fmt.Errorf("a table does not exist, and \"skip_table_creation\" is set: remove that setting once, with a role that may create tables in the schema %q: %w", r.o.Schema, err)
	}
	return err
}

// existing is the SQL that reports whether the schema $1, the sequence of the ids, the table $2 and the index $3 exist.
const existing = `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1::name), ` +
	`EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relname = 'global_states_id_seq'), ` +
	`EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1::name AND c.relname = $2::name), ` +
	`EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1::name AND c.relname = $3::name)`

// create creates the missing schema, tables and indexes. It first asks the database which ones are missing, because
// "CREATE … IF NOT EXISTS" needs the permission to create even if the object exists. Such statements can fail if
// another connection runs them at the same time, so create repeats them.
func (r *remote) create(ctx context.Context, conn *pgconn.PgConn) error {
	res, err := run(ctx, conn, existing, r.o.Schema, r.o.Table, r.o.Index)
	if err != nil {
		return err
	}
	exists := func(n int) bool { return isTrue(res.Rows[0][n]) }
	var statements []string
	add := func(skip bool, sql string) {
		if !skip {
			statements = append(statements, sql)
		}
	}
	add(r.o.SkipSchema || exists(0), `CREATE SCHEMA IF NOT EXISTS `+quoted(r.o.Schema))
	add(r.o.SkipTable || exists(1), `CREATE SEQUENCE IF NOT EXISTS public.global_states_id_seq AS bigint`)
	add(r.o.SkipTable || exists(2), `CREATE TABLE IF NOT EXISTS `+r.table+` (id bigint NOT NULL DEFAULT nextval('public.global_states_id_seq') PRIMARY KEY, name text UNIQUE, data text)`)
	add(r.o.SkipIndex || exists(3), `CREATE UNIQUE INDEX IF NOT EXISTS `+quoted(r.o.Index)+` ON `+r.table+` (name)`)
	switch {
	case r.o.SkipTable:
	case r.o.Rows:
		statements = append(statements, r.rowTables())
	case r.o.Journal:
		statements = append(statements, createTable(r.journals(), journalsAbout, journalColumns, ""))
	}
	for _, sql := range statements {
		_, err := conn.Exec(ctx, sql).ReadAll()
		for range 3 {
			if code(err, "23505", "42710", "42P06", "42P07", "XX000") {
				_, err = conn.Exec(ctx, sql).ReadAll()
			}
		}
		err = answered(err)
		if missing(err) {
			return err
		}
		if err != nil {
			return fmt.Errorf("the table for states cannot be created: %w", err)
		}
	}
	return nil
}

// shape adds an explanation to errors about columns: the tables belong to another program or another version. It
// returns other errors unchanged.
func (r *remote) shape(err error) error {
	if code(err, "42703", "42804", "42P10", "42883") {
		return fmt.Errorf("the tables %s_* in the schema %q belong to another program or another version of Lethe: %w", r.o.Table, r.o.Schema, err)
	}
	return err
}

// names returns the default workspace, followed by the other names in the column "name" of the query, sorted.
func (r *remote) names(ctx context.Context, query string) ([]string, error) {
	res, err := r.do(ctx, `SELECT name FROM (`+query+`) n WHERE name <> $1 ORDER BY name COLLATE "C"`, store.Default)
	if err != nil {
		return nil, err
	}
	names := []string{store.Default}
	for _, row := range res.Rows {
		names = append(names, string(row[0]))
	}
	return names, nil
}
