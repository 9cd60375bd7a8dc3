package pgstore

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lethe-iac/lethe/internal/store"
)

// A state is stored as a document or as rows. Both layouts of one table have the same workspaces and the same locks. To
// move a state from one layout to the other, one transaction replaces the entry in the table of states. The rows of a
// state that became a document stay as its history.

// MigrateFrom implements store.Migrator.
func (r *remote) MigrateFrom(from store.Store) (source, target store.Store, ok bool) {
	was, ok := from.Capabilities().Migrator.(*remote)
	if !ok {
		return nil, nil, false
	}
	a, b := was.o, r.o
	if a.Schema != b.Schema || a.Table != b.Table || a.Config.Host != b.Config.Host || a.Config.Port != b.Config.Port || a.Config.Database != b.Config.Database {
		return nil, nil, false
	}
	if a.Rows == b.Rows {
		return nil, nil, true
	}
	to := &taking{Remote: open(b, was.locks), from: from, seen: map[string]store.Version{}}
	return &leaving{from}, store.Retrying(to, b.Tries), true
}

// leaving is the store that states are moved out of. It reports no state for workspaces that have already been moved.
type leaving struct{ store.Store }

// Get implements store.Store.
func (l *leaving) Get(ctx context.Context, workspace string) ([]byte, store.Version, error) {
	data, v, err := l.Store.Get(ctx, workspace)
	var moved *layoutError
	if errors.As(err, &moved) {
		return nil, "", nil
	}
	return data, v, err
}

// taking is the store that states are moved into. It shares the locks of the store that they come from.
type taking struct {
	store.Remote
	from store.Store

	mu   sync.Mutex
	seen map[string]store.Version // the version to be replaced, by workspace
}

// Lock implements store.Store. It does nothing, because the source holds the same lock.
func (t *taking) Lock(context.Context, string, store.LockInfo) (func(context.Context) error, error) {
	return func(context.Context) error { return nil }, nil
}

// Get implements store.Store.
func (t *taking) Get(ctx context.Context, workspace string) ([]byte, store.Version, error) {
	data, v, err := t.Remote.Get(ctx, workspace)
	var found *layoutError
	if !errors.As(err, &found) {
		return data, v, err
	}
	_, v, err = t.from.Get(ctx, workspace)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen[workspace] = v
	return nil, "", err
}

// Put implements store.Store.
func (t *taking) Put(ctx context.Context, workspace string, data []byte, prev store.Version) (store.Version, error) {
	t.mu.Lock()
	v := t.seen[workspace]
	t.mu.Unlock()
	if v != "" && prev == "" {
		switch to := t.Remote.(type) {
		case *rowStore:
			return to.put(ctx, writing{workspace: workspace, data: data, replaces: v})
		case *journaling:
			return to.replaceRows(ctx, workspace, data, v)
		case *remote:
			return to.replaceRows(ctx, workspace, data, v)
		}
	}
	return t.Remote.Put(ctx, workspace, data, prev)
}

// replaceRows replaces the rows of version v with a document. It returns a *store.StaleError if the rows have another
// version.
func (r *remote) replaceRows(ctx context.Context, workspace string, data []byte, v store.Version) (store.Version, error) {
	if err := r.still(ctx, workspace); err != nil {
		return "", err
	}
	var replaced int64
	update := request{
		sql: `UPDATE ` + r.table + ` s SET data = $2 WHERE s.name = $1 AND starts_with(s.data, $3) AND $4 = (SELECT v.number || '-' || v.digest FROM ` + r.versions() +
			` v WHERE v.state = s.id ORDER BY v.number DESC LIMIT 1)`,
		args: [][]byte{[]byte(workspace), data, []byte(inRows), []byte(v)},
		done: func(tag pgconn.CommandTag) { replaced = tag.RowsAffected() },
	}
	err := r.use(ctx, func(conn *pgconn.PgConn) error { return batch(ctx, conn, slices.Values([]request{update})) })
	switch {
	case err != nil:
		return "", err
	case replaced != 1:
		return "", &store.StaleError{Workspace: workspace}
	}
	return store.Digest(data), nil
}
