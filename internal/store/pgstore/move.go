package pgstore

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lethe-iac/lethe/internal/store"
)

// A state is stored as a document (one text) or in rows: these are the two layouts. Both layouts of one table have the
// same workspaces and the same locks. To move a state to the other layout, one transaction replaces its entry in the
// table of states. The rows of a state that became a document stay as its history.

// MigrateFrom returns two stores for moving states to this store from a store that uses the same table in the other
// layout. The stores are nil if both stores have the same layout: then nothing needs to move. ok is false if the other
// store uses another table or is not in a database.
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

// leaving is the store from which states are moved to the other layout. It reports no state for workspaces that were
// moved already.
type leaving struct{ store.Store }

// Get returns the state of a workspace and its version, or nil and "" if no state exists.
func (l *leaving) Get(ctx context.Context, workspace string) ([]byte, store.Version, error) {
	data, v, err := l.Store.Get(ctx, workspace)
	var moved *layoutError
	if errors.As(err, &moved) {
		return nil, "", nil
	}
	return data, v, err
}

// taking is the store into which states are moved from the other layout. The other store holds the locks for both.
type taking struct {
	store.Remote
	from store.Store

	mu   sync.Mutex
	seen map[string]store.Version // the versions of the states in the other layout that Put will replace, by workspace
}

// Lock takes no lock, because the source store of the move already holds the same lock.
func (t *taking) Lock(context.Context, string, store.LockInfo) (func(context.Context) error, error) {
	return func(context.Context) error { return nil }, nil
}

// Get returns the state of a workspace and its version, or nil and "" if no state exists. A state in the other layout
// counts as missing: Get then records its version for Put.
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

// Put replaces the state that has the version prev, and returns the new version. If prev is "" and Get found a state in
// the other layout, Put replaces that state. If the state has another version, the error is a *store.StaleError.
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

// replaceRows replaces a state in rows with a document. If the rows do not have the version v, the error is a
// *store.StaleError.
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
