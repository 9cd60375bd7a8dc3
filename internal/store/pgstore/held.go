package pgstore

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lethe-iac/lethe/internal/store"
)

const beginInfo, endInfo = `/* lethe lock `, ` */ `

// run runs a statement on the connection that holds the lock. It puts a comment with the holder of the lock before the
// statement. The server shows the latest statement to other clients, which read the holder from the comment (see
// holders).
func (h *held) run(ctx context.Context, sql string, args ...string) (*pgconn.Result, error) {
	text := strings.ReplaceAll(string(h.who.Marshal()), "*/", `*\/`)
	return run(ctx, h.conn, beginInfo+text+endInfo+sql, args...)
}

// pin sets the connection up for a lock. If a pooler, such as PgBouncer, is between this process and the server, pin
// begins a transaction and returns true. A pooler may send each transaction to another connection of the server, and
// share these connections among its clients: a lock would exclude no other process, and would remain after the end of its process.
// During a transaction, the pooler keeps the connection for this client, and closes it if the client ends.
func (h *held) pin(ctx context.Context) (pooled bool, err error) {
	// The server ends the lock of a dead machine sooner with these settings. Not every server supports them, so errors are
	// ignored. A pooler has sent another process ID than its server has.
	res, _ := h.conn.Exec(ctx, `SELECT pg_backend_pid(); SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3`).ReadAll()
	if len(res) == 0 || len(res[0].Rows) == 0 || string(res[0].Rows[0][0]) == strconv.FormatUint(uint64(h.conn.PID()), 10) {
		return false, nil
	}
	if _, err = h.run(ctx, `BEGIN`); err == nil {
		_, err = h.run(ctx, `SELECT set_config(name, '0', true) FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout'`)
	}
	return true, err
}

// alive reports whether the connection of the lock works. Except for plans, its server must also accept writes.
func (h *held) alive(ctx context.Context) bool {
	_, err := h.run(ctx, `SELECT 1`)
	return err == nil && h.writable() == nil
}

// writable returns an error if the server of the lock is read-only, unless the operation is a plan. PostgreSQL 14
// reports that a server is read-only to each client that connects; older servers may not report it. A lock on a replica
// would exclude no other run, and an apply could not write its result there.
func (h *held) writable() error {
	if h.who.Operation != "OperationTypePlan" && (h.conn.ParameterStatus("in_hot_standby") == "on" || h.conn.ParameterStatus("default_transaction_read_only") == "on") {
		return &store.UnansweredError{Err: errors.New("the server is read-only, such as a replica: the state cannot be written there"), Unsent: true}
	}
	return nil
}

func (h *held) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = h.conn.Close(ctx)
}

// shared returns the suffix of PostgreSQL's functions for advisory locks: "_shared" for a run that works on parts of a
// state or only reads it, otherwise "".
func (h *held) shared() string {
	if h.joined != nil || h.who.Shared {
		return "_shared"
	}
	return ""
}

func isTrue(text []byte) bool { return string(text) == "t" }
