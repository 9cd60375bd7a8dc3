package pgstore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
)

// creating is the key of the advisory lock that Terraform and OpenTofu hold while they create any workspace in the
// database. Runs of Lethe take this lock as a shared lock. So they exclude these programs, but not runs of Lethe in
// other workspaces.
const creating = "-1"

// fresh returns the key of the advisory lock of a workspace that has no row yet: a decimal number of -2 or less, from a
// hash of the schema, the table and the name of the workspace. So the key differs from creating (-1), and from the keys
// of existing rows, which are their positive ids. Two workspaces have the same key only if their hashes are equal; then
// they exclude each other.
func (r *remote) fresh(workspace string) string {
	sum := sha256.Sum256([]byte(r.o.Schema + "\x00" + r.o.Table + "\x00" + workspace))
	return strconv.FormatInt(-2-int64(binary.BigEndian.Uint64(sum[:])>>2), 10)
}

// Lock takes the lock of a workspace and returns the function that releases it. If another process holds the lock, the
// error is a *store.LockError. It does not wait. The lock ends when its connection to the server ends.
func (r *remote) Lock(ctx context.Context, workspace string, who store.LockInfo) (func(context.Context) error, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, err
	}
	who.Path = r.o.Schema + "." + r.o.Table + "/" + workspace
	_, err := r.do(ctx, `SELECT id FROM `+r.table+` LIMIT 0`) // this statement only makes do create missing tables
	var h *held
	if err == nil {
		h, err = r.acquire(ctx, workspace, who, nil)
	}
	if err != nil {
		return nil, r.refused(ctx, err)
	}
	r.keep(workspace, h)
	return func(ctx context.Context) error { return r.Break(ctx, workspace, who.ID) }, nil
}

// keep records a lock that this process holds.
func (r *remote) keep(workspace string, h *held) {
	r.locks.Lock()
	defer r.locks.Unlock()
	r.held[workspace] = h
}

// refused returns the error for a lock that was not obtained: err, or a *store.LockError if the server accepts no
// further connection, so that the caller tries again later. It closes the shared connection of the store, because this
// run may now wait long for the lock.
func (r *remote) refused(ctx context.Context, err error) error {
	r.rest(ctx)
	if code(err, "53300") {
		return &store.LockError{Err: fmt.Errorf("the server has no connection left: %w", err)}
	}
	return err
}

// rest closes the shared connection of the store, if it is open. Many runs may wait for a lock, and a server accepts
// few connections. The next statement opens a new connection.
func (r *remote) rest(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn != nil {
		_ = r.conn.Close(ctx)
	}
}

// acquire takes the lock of a workspace on a new connection. The lock is shared if j is not nil or who.Shared is true,
// otherwise exclusive. An earlier, broken connection with the same lock ID may still hold the lock because the server
// has not noticed the break. Then acquire terminates that connection and tries again, at most three times.
func (r *remote) acquire(ctx context.Context, workspace string, who store.LockInfo, j *joined) (*held, error) {
	conn, err := r.connect(ctx)
	if err != nil {
		return nil, err
	}
	h := &held{who: who, conn: conn, joined: j}
	if err := h.writable(); err != nil {
		h.close()
		return nil, err
	}
	if pooled, err := h.pin(ctx); err != nil || pooled && j != nil {
		h.close()
		return nil, cmp.Or(err, store.ErrNotPartial) // claims need transactions of their own
	}
	err = r.try(ctx, h, workspace)
	var lockErr *store.LockError
	for range 3 {
		if !errors.As(err, &lockErr) || lockErr.Held == nil || lockErr.Held.ID != who.ID {
			break
		}
		if err = r.end(ctx, workspace, who.ID); err == nil || errors.As(err, &lockErr) && lockErr.Held == nil {
			err = r.try(ctx, h, workspace)
		}
	}
	if err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

// try takes the lock of a workspace, without waiting. The key of the lock is the id of the workspace's row. If another
// process holds the lock, the error is a *store.LockError. After an error the caller must close h, because its
// connection may hold other locks.
//
// If the workspace has no row, try takes two other locks: the lock with the key r.fresh(workspace), and, as a shared
// lock, the lock with the key creating. A run that works on parts of a state gets store.ErrNotPartial instead.
//
// If the row exists, another run may still hold the first of these locks, and another program that creates the
// workspace may still hold the second. So try also takes both locks if the row exists, and releases them at once.
func (r *remote) try(ctx context.Context, h *held, workspace string) error {
	fresh := r.fresh(workspace)
	both := `pg_try_advisory_lock` + h.shared() + `(` + fresh + `), pg_try_advisory_lock_shared(` + creating + `)`
	row := `SELECT id, pg_try_advisory_lock` + h.shared() + `(id), ` + both + ` FROM ` + r.table + ` WHERE name = $1`
	release := `SELECT pg_advisory_unlock` + h.shared() + `(` + fresh + `), pg_advisory_unlock_shared(` + creating + `)`
	res, err := h.run(ctx, row, workspace)
	if err != nil {
		return err
	}
	if len(res.Rows) == 0 {
		if h.joined != nil {
			return store.ErrNotPartial
		}
		if res, err = h.run(ctx, `SELECT `+both); err != nil {
			return err
		}
		if err = r.obtained(ctx, res.Rows[0], fresh, creating); err != nil {
			return err // the caller closes the connection, which releases the locks that were taken
		}
		h.key = fresh
		if res, err = h.run(ctx, row, workspace); err != nil || len(res.Rows) == 0 {
			return err
		}
		// another process has created the workspace in the meantime: both queries took the two locks, so they are released
		// twice, here and below
		if _, err = h.run(ctx, release); err != nil {
			return err
		}
	}
	got := res.Rows[0]
	h.key = string(got[0])
	if _, err = h.run(ctx, release); err != nil {
		return err
	}
	return r.obtained(ctx, got[1:], h.key, fresh, creating)
}

// obtained returns the error for the first lock that was not obtained, or nil if all were. keys are the keys of the
// locks, and got has the truth value of PostgreSQL for each key.
func (r *remote) obtained(ctx context.Context, got [][]byte, keys ...string) error {
	for i, key := range keys {
		if !isTrue(got[i]) {
			return r.locked(ctx, key)
		}
	}
	return nil
}

// holder describes the holder of a lock, with the number of its server process.
type holder struct {
	who     store.LockInfo
	process string
}

// holders returns the holders of the lock with the given key, the oldest connection first. If a holder is not Lethe,
// the description comes from its connection: the process, the user and the address.
func (r *remote) holders(ctx context.Context, key string) ([]holder, error) {
	res, err := r.do(ctx, `SELECT a.pid, coalesce(a.query, ''), coalesce(a.usename, '') || '@' || coalesce(host(a.client_addr), 'local'), coalesce(a.application_name, ''), extract(epoch FROM a.backend_start)
FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
AND ((l.classid::bigint << 32) | l.objid::bigint) = $1::bigint ORDER BY a.backend_start`, key)
	if err != nil {
		return nil, err
	}
	var out []holder
	for _, row := range res.Rows {
		process := string(row[0])
		// The text of the statement does not describe the holder if the holder is Terraform or OpenTofu, or if this role may
		// not see the statements of other roles.
		since, _ := strconv.ParseFloat(string(row[4]), 64)
		who := store.LockInfo{
			ID: "process-" + process, Operation: string(row[3]), Who: string(row[2]), Created: time.Unix(int64(since), 0).UTC(),
			Path: "advisory lock " + key, Info: "a connection of another program holds this lock; no other information is available",
		}
		if text, ok := strings.CutPrefix(string(row[1]), beginInfo); ok {
			text, _, _ = strings.Cut(text, endInfo)
			if i, err := store.ParseLockInfo([]byte(text)); err == nil {
				who = i
			}
		}
		out = append(out, holder{who, process})
	}
	return out, nil
}

// locked returns the error for a lock that another process holds: a *store.LockError, with the holder if it can be
// determined. If the lock was released in the meantime, it is store.Changing.
func (r *remote) locked(ctx context.Context, key string) error {
	refused := &store.LockError{Err: errors.New("the state is locked")}
	if key == creating {
		refused.Err = errors.New("another program is creating a workspace in this database; the state is locked until then")
	}
	switch all, err := r.holders(ctx, key); {
	case err == nil && len(all) == 0:
		return store.Changing()
	case err == nil:
		refused.Held = &all[0].who
	}
	return refused
}

// still checks, before a state is written, that the lock of the caller still exists. If the connection of the lock
// broke, it takes the lock again on a new connection. It returns nil if the caller has no lock.
func (r *remote) still(ctx context.Context, workspace string) error {
	r.locks.Lock()
	defer r.locks.Unlock()
	h := r.held[workspace]
	if h == nil || h.alive(ctx) {
		return nil
	}
	h.close()
	again, err := r.acquire(ctx, workspace, h.who, h.joined)
	if err == nil && h.joined != nil {
		err = again.reclaim(ctx)
	}
	var lockErr *store.LockError
	if errors.As(err, &lockErr) {
		lockErr.Err = fmt.Errorf("the connection with the lock of the state broke, and another process has locked the state since: %w", lockErr.Err)
	}
	if err == nil {
		r.held[workspace] = again
	}
	return err
}

// Break releases the lock with the given ID. If the workspace has no such lock, the error is a *store.LockError. It
// ends the lock of another process by terminating its connection.
func (r *remote) Break(ctx context.Context, workspace, id string) error {
	if err := store.CheckName(workspace); err != nil {
		return err
	}
	r.locks.Lock()
	h := r.held[workspace]
	ours := h != nil && h.who.ID == id
	if ours {
		delete(r.held, workspace)
	}
	r.locks.Unlock()
	if !ours {
		return r.end(ctx, workspace, id)
	}
	defer h.close()
	if h.joined != nil {
		h.forget(ctx)
	}
	res, err := h.run(ctx, `SELECT pg_advisory_unlock`+h.shared()+`(`+h.key+`)`)
	if err == nil && isTrue(res.Rows[0][0]) {
		return nil
	}
	// the connection broke, so the server will end the lock: a lock that end no longer finds is released
	var released *store.LockError
	if err = r.end(ctx, workspace, id); errors.As(err, &released) && released.Held == nil {
		err = nil
	}
	return err
}

// end releases the lock with the given ID by terminating the connection that holds it. If no connection holds such a
// lock, the error is a *store.LockError.
func (r *remote) end(ctx context.Context, workspace, id string) error {
	keys := []string{creating, r.fresh(workspace)}
	res, err := r.do(ctx, `SELECT id FROM `+r.table+` WHERE name = $1`, workspace)
	if err != nil {
		return err
	}
	for _, row := range res.Rows {
		keys = append(keys, string(row[0]))
	}
	refused := store.OtherLock(nil, id)
	for _, key := range keys {
		all, err := r.holders(ctx, key)
		if err != nil {
			return err
		}
		for _, h := range all {
			if h.who.ID == id {
				return r.terminate(ctx, key, h.process)
			}
			if key != creating { // the holder of the lock with the key creating may work on another workspace
				refused = store.OtherLock(&h.who, id)
			}
		}
	}
	return refused
}

// terminate ends a server process, and waits for at most five seconds until the process has released the lock with the
// given key.
func (r *remote) terminate(ctx context.Context, key, process string) error {
	if _, err := r.do(ctx, `SELECT pg_terminate_backend($1::int)`, process); err != nil {
		return fmt.Errorf("the connection that has the lock cannot be ended: %w", err)
	}
	for range 100 {
		all, err := r.holders(ctx, key)
		if err != nil || !slices.ContainsFunc(all, func(h holder) bool { return h.process == process }) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("the connection with the lock, process %s of the server, does not end", process)
}
