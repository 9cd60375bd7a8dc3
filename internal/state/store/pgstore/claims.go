package pgstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"strconv"

	"github.com/lethe-iac/lethe/internal/state/store"
)

// Runs that work on parts of a state have its advisory lock shared, so that the exclusive one (of Terraform and
// OpenTofu, of state push) keeps all of them out, and waits for all of them. Which parts each has stands in a table,
// in one row for each run, and not in locks: a server has room for some thousands of locks in all. Of what is alive a
// lock tells: each run has one of its own, of two numbers, which ends with its connection. Claiming looks at the rows
// of the others under a lock of the table: who claims has all of it or nothing, so that no two wait for each other.

// The first numbers of advisory locks of two: those of runs, by session, and those of writing, by the id of a state.
const lives, turns = "1279612488", "1279612489"

// live takes the lock that says that the run goes on.
func (h *held) live(ctx context.Context) error {
	// A run that has its turn writes, and that takes less.
	_, err := h.run(ctx, `SELECT set_config('lock_timeout', '10min', false)`)
	if err != nil {
		return err
	}
	h.joined.session = strconv.Itoa(int(rand.Int32()))
	res, err := h.run(ctx, `SELECT pg_try_advisory_lock(`+lives+`, $1::int)`, h.joined.session)
	if err == nil && !isTrue(res.Rows[0][0]) {
		err = &store.LockError{Err: errors.New("another run has the number that this one drew")}
	}
	return err
}

// again takes with a new connection what the run had with one that broke.
func (h *held) again(ctx context.Context) error {
	err := h.live(ctx)
	if err == nil && len(h.joined.parts) > 0 {
		err = h.claim(ctx, nil)
	}
	if err != nil {
		h.close()
	}
	return err
}

// claim adds to what the run has, if that is beside what the others have.
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

// within is what claim does in its transaction.
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
		if who.ID == h.who.ID { // of a connection of this run that broke
			continue
		}
		if name, meet := parts.Meets(other); meet {
			return &store.LockError{Held: &who, Err: &store.PartError{Part: name}}
		}
	}
	text, err := json.Marshal(parts)
	if err == nil {
		_, err = h.run(ctx, `INSERT INTO `+h.joined.table+` (session, state, who, parts) VALUES ($1::int, $2::bigint, $3, $4) ON CONFLICT (session) DO UPDATE SET parts = $4`, h.joined.session, h.key, string(h.who.Marshal()), string(text))
	}
	return err
}

// forget removes what the run has said of itself. What stays of one that was killed, the next claim removes.
func (h *held) forget(ctx context.Context) {
	_, _ = h.run(ctx, `DELETE FROM `+h.joined.table+` WHERE session = $1::int`, h.joined.session)
}
