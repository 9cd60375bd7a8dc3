package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lethe-iac/lethe/internal/store"
)

// Get returns the state of a workspace and its version, or nil and "" if no state exists.
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

// Put replaces the state that has the version prev, and returns the new version. If the state has another version, the
// error is a *store.StaleError.
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

// Delete deletes a workspace and its state. For the default workspace it returns store.ErrDefault.
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

// List returns the names of the workspaces, the default workspace first.
func (r *remote) List(ctx context.Context) ([]string, error) {
	return r.names(ctx, `SELECT name FROM `+r.table)
}
