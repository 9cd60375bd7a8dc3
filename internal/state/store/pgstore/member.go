package pgstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strconv"

	"github.com/lethe-iac/lethe/internal/state/store"
)

// Runs that work on parts of a state have its advisory lock shared, so that the exclusive one (of Terraform and
// OpenTofu, of state push) keeps all of them out, and waits for all of them. Which parts each has stands in a table,
// in one row for each run, and not in locks: a server has room for some thousands of locks in all. Of what is alive a
// lock tells: each run has one of its own, of two numbers, which ends with its connection. Claiming looks at the rows
// of the others under a lock of the table: who claims has all of it or nothing, so that no two wait for each other.

// member is a run that works on parts of a state.
type member struct {
	s         *rowStore
	workspace string
	session   string // the second number of its lock
	parts     store.Parts
}

// The first numbers of advisory locks of two: those of runs, by session, and those of writing, by the id of a state.
const lives, turns = "1279612488", "1279612489"

// Join implements store.Divisible.
func (s *rowStore) Join(ctx context.Context, workspace string, who store.LockInfo) (store.Member, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, err
	}
	who.Path = s.o.Schema + "." + s.o.Table + "/" + workspace
	if _, err := s.do(ctx, `SELECT session FROM `+s.claims()+` LIMIT 0`); missing(err) || code(err, "42501") {
		return nil, store.ErrWhole // the table is not there, and is not to be made
	} else if err != nil {
		return nil, s.refused(ctx, err)
	}
	m := &member{s: s, workspace: workspace, session: strconv.Itoa(int(rand.Int32())), parts: store.Parts{}}
	h, err := s.take(ctx, workspace, who, m)
	if err == nil {
		err = m.live(ctx, h)
	}
	if err != nil {
		return nil, s.refused(ctx, err)
	}
	s.keep(workspace, h)
	return m, nil
}

// live takes the lock that says that the run goes on.
func (m *member) live(ctx context.Context, h *held) error {
	// A run that has its turn writes, and that takes less.
	_, err := h.run(ctx, `SELECT set_config('lock_timeout', '10min', false)`)
	if err == nil {
		var got bool
		if got, err = m.ask(ctx, h, `SELECT pg_try_advisory_lock(`+lives+`, $1::int)`, m.session); err == nil && !got {
			err = &store.LockError{Err: errors.New("another run has the number that this one drew")}
		}
	}
	if err != nil {
		h.close()
	}
	return err
}

// ask runs a statement whose answer is yes or no.
func (m *member) ask(ctx context.Context, h *held, sql string, args ...string) (bool, error) {
	res, err := h.run(ctx, sql, args...)
	return err == nil && isTrue(res.Rows[0][0]), err
}

// held is the connection that has what the run has.
func (m *member) held() (*held, error) {
	m.s.locks.Lock()
	defer m.s.locks.Unlock()
	h := m.s.held[m.workspace]
	if h == nil || h.member != m {
		return nil, errors.New("the lock of the state was given back")
	}
	return h, nil
}

// Claim implements store.Member.
func (m *member) Claim(ctx context.Context, parts store.Parts) error {
	if err := m.s.still(ctx, m.workspace); err != nil {
		return err
	}
	h, err := m.held()
	if err != nil {
		return err
	}
	all := store.Parts{}
	for _, p := range []store.Parts{m.parts, parts} {
		for name, use := range p {
			all[name] |= use
		}
	}
	if err := m.claim(ctx, h, all); err != nil {
		return err
	}
	m.parts = all
	return nil
}

// again takes with a new connection what the run had with one that broke.
func (m *member) again(ctx context.Context, h *held) error {
	m.session = strconv.Itoa(int(rand.Int32())) // of the lock of the old one the server may not know yet that it ended
	err := m.live(ctx, h)
	if err == nil && len(m.parts) > 0 {
		if err = m.claim(ctx, h, m.parts); err != nil {
			h.close()
		}
	}
	return err
}

// claim says what the run has, if that is beside what the others have.
func (m *member) claim(ctx context.Context, h *held, parts store.Parts) error {
	_, err := h.run(ctx, `BEGIN ISOLATION LEVEL READ COMMITTED`)
	if err == nil {
		err = m.within(ctx, h, parts)
	}
	if err == nil {
		_, err = h.run(ctx, `COMMIT`)
	}
	if err != nil {
		if _, failed := h.run(ctx, `ROLLBACK`); failed != nil {
			h.close()
		}
	}
	return err
}

// within is what claim does in its transaction.
func (m *member) within(ctx context.Context, h *held, parts store.Parts) error {
	if _, err := h.run(ctx, `LOCK TABLE `+m.s.claims()+` IN SHARE ROW EXCLUSIVE MODE`); err != nil {
		return err
	}
	if _, err := h.run(ctx, `DELETE FROM `+m.s.claims()+` c WHERE NOT EXISTS (SELECT FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND l.classid::bigint = `+lives+` AND l.objid::bigint = c.session)`); err != nil {
		return err
	}
	res, err := h.run(ctx, `SELECT who, parts FROM `+m.s.claims()+` WHERE state = $1::bigint AND session <> $2::int ORDER BY session`, h.key, m.session)
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
		_, err = h.run(ctx, `INSERT INTO `+m.s.claims()+` (session, state, who, parts) VALUES ($1::int, $2::bigint, $3, $4) ON CONFLICT (session) DO UPDATE SET parts = $4`, m.session, h.key, string(h.who.Marshal()), string(text))
	}
	return err
}

// Turn implements store.Member.
func (m *member) Turn(ctx context.Context) (func(context.Context) error, error) {
	if err := m.s.still(ctx, m.workspace); err != nil {
		return nil, err
	}
	h, err := m.held()
	if err != nil {
		return nil, err
	}
	// The number of a state is cut to what fits: two that are one then wait for each other, and lose nothing.
	if _, err := h.run(ctx, `SELECT pg_advisory_lock(`+turns+`, ($1::bigint & 2147483647)::int)`, h.key); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		_, err := h.run(ctx, `SELECT pg_advisory_unlock(`+turns+`, ($1::bigint & 2147483647)::int)`, h.key)
		return err
	}, nil
}

// forget removes what the run has said of itself. What stays of one that was killed, the next claim removes.
func (m *member) forget(ctx context.Context, h *held) {
	_, _ = h.run(ctx, `DELETE FROM `+m.s.claims()+` WHERE session = $1::int`, m.session)
}

// Leave implements store.Member.
func (m *member) Leave(ctx context.Context) error {
	h, err := m.held()
	if err != nil {
		return nil // it was taken away
	}
	return m.s.Break(ctx, m.workspace, h.who.ID)
}
