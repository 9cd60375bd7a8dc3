package pgstore

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const beginInfo, endInfo = `/* lethe lock `, ` */ `

// run runs a statement that says who it is for.
func (h *held) run(ctx context.Context, sql string, args ...string) (*pgconn.Result, error) {
	text := strings.ReplaceAll(string(h.who.Marshal()), "*/", `*\/`)
	return run(ctx, h.conn, beginInfo+text+endInfo+sql, args...)
}

// alive reports whether the connection is.
func (h *held) alive(ctx context.Context) bool {
	_, err := h.run(ctx, `SELECT 1`)
	return err == nil
}

func (h *held) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = h.conn.Close(ctx)
}

// shared is the end of the names of functions for locks that several have.
func (h *held) shared() string {
	if h.joined != nil {
		return "_shared"
	}
	return ""
}

func isTrue(text []byte) bool { return string(text) == "t" }
