package pgstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"strconv"

	"github.com/lethe-iac/lethe/internal/store"
)

// Runs that work on parts of a state hold the advisory lock of the state as a shared lock. An exclusive lock (of
// Terraform, OpenTofu or state push) waits for all of these runs and keeps all of them out.
//
// The parts that each run has claimed (reserved) are in a table, with one row for each run. They are not advisory
// locks, because a server has memory for a few thousand locks in all. Each run also holds an advisory lock of two
// numbers, which ends with its connection and so shows that the run is alive.
//
// A run claims parts under a lock of the table, where it reads the rows of the other runs. It claims all parts or none,
// so that no two runs wait for each other.

// These are the first numbers of the advisory locks of two numbers. lives is for live runs; the second number is the
// run's session. turns is for writing; the second number is the id of the state.
const lives, turns = "1279612488", "1279612489"

// live takes the advisory lock that shows that the run is alive, and chooses the session (the second number of that
// lock).
func (h *held) live(ctx context.Context) error {
	// 10 minutes are longer than any wait for a turn, because a run with the turn only writes
	_, err := h.run(ctx, `SELECT set_config('lock_timeout', '10min', false)`)
	if err != nil {
		return err
	}
	h.joined.session = strconv.Itoa(int(rand.Int32()))
	res, err := h.run(ctx, `SELECT pg_try_advisory_lock(`+lives+`, $1::int)`, h.joined.session)
	if err == nil && !isTrue(res.Rows[0][0]) {
		err = &store.LockError{Err: errors.New("another run has the same random session number")}
	}
	return err
}

// reclaim claims on a new connection the parts that the run had claimed on a broken connection.
func (h *held) reclaim(ctx context.Context) error {
	err := h.live(ctx)
	if err == nil && len(h.joined.parts) > 0 {
		err = h.claim(ctx, nil)
	}
	if err != nil {
		h.close()
	}
	return err
}

// claim adds parts to the claims of the run. If another run has claimed a conflicting part, it claims nothing, and the
// error is a *store.LockError.
func (h *held) claim(ctx context.Context, more store.Parts) error {
	all := maps.Clone(h.joined.parts)
	for name, use := range more {
		all[name] |= use
	}
	_, err := h.run(ctx, `BEGIN ISOLATION LEVEL READ COMMITTED`)
	if err == nil {
		err = h.within(ctx, all)
	}
	if err == nil {
		_, err = h.run(ctx, `COMMIT`)
	}
	if err == nil {
		h.joined.parts = all
	} else if _, failed := h.run(ctx, `ROLLBACK`); failed != nil {
		h.close()
	}
	return err
}

// within claims parts inside the transaction of claim. It also deletes the rows of runs whose connections have ended.
func (h *held) within(ctx context.Context, parts store.Parts) error {
	if _, err := h.run(ctx, `LOCK TABLE `+h.joined.table+` IN SHARE ROW EXCLUSIVE MODE`); err != nil {
		return err
	}
	if _, err := h.run(ctx, `DELETE FROM `+h.joined.table+` c WHERE NOT EXISTS (SELECT FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND l.classid::bigint = `+lives+` AND l.objid::bigint = c.session)`); err != nil {
		return err
	}
	res, err := h.run(ctx, `SELECT who, parts FROM `+h.joined.table+` WHERE state = $1::bigint AND session <> $2::int ORDER BY session`, h.key, h.joined.session)
	if err != nil {
		return err
	}
	for _, row := range res.Rows {
		var other store.Parts
		who, err := store.ParseLockInfo(row[0])
		if err = cmp.Or(err, json.Unmarshal(row[1], &other)); err != nil {
			return err
		}
		if who.ID == h.who.ID { // the row belongs to a broken connection of this run
			continue
		}
		if name, meet := parts.Intersects(other); meet {
			return &store.LockError{Held: &who, Err: &store.PartError{Part: name}}
		}
	}
	text, err := json.Marshal(parts)
	if err == nil {
		_, err = h.run(ctx, `INSERT INTO `+h.joined.table+` (session, state, who, parts) VALUES ($1::int, $2::bigint, $3, $4) ON CONFLICT (session) DO UPDATE SET parts = $4`, h.joined.session, h.key, string(h.who.Marshal()), string(text))
	}
	return err
}

// forget deletes the row with the claims of the run. If the run is killed first, the next claim of another run deletes
// the row.
func (h *held) forget(ctx context.Context) {
	_, _ = h.run(ctx, `DELETE FROM `+h.joined.table+` WHERE session = $1::int`, h.joined.session)
}
