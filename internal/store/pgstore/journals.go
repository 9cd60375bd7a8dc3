package pgstore

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lethe-iac/lethe/internal/store"
)

// The bytes of journals are stored in rows, each with the position of its bytes in the journal. A row exists twice if a
// request was repeated because its answer was lost. The ID of a run's lock identifies the run.
//
// A run that works on parts of a state is alive as long as the connection of one of its sessions exists (claims.go). A
// run that has locked the whole state has ended if another run holds the lock.

// journaling is a store that also keeps the journals of runs. States in rows always have journals; states in documents
// have them if the setting "journal" is true.
type journaling struct{ *remote }

// own returns the ID of the lock that this process holds, and its session, or "" if this process has not locked the
// workspace. The session is "0" for a lock of the whole state.
func (s *journaling) own(workspace string) (id, session string) {
	s.locks.Lock()
	defer s.locks.Unlock()
	h := s.held[workspace]
	if h == nil {
		return "", ""
	}
	if session = "0"; h.joined != nil {
		session = h.joined.session
	}
	return h.who.ID, session
}

// Capabilities returns the optional abilities of the store. A nil member means that the store lacks the ability.
func (s *journaling) Capabilities() store.Capabilities {
	out := s.remote.Capabilities()
	out.Journals, out.Cursor = s, s
	return out
}

// List returns the names of the workspaces, the default workspace first. It includes workspaces that only have journals
// of crashed runs.
func (s *journaling) List(ctx context.Context) ([]string, error) {
	return s.names(ctx, `SELECT name FROM `+s.table+` UNION SELECT workspace FROM `+s.journals()+` WHERE data <> ''`)
}

// Note writes data to the journal of the run that holds the lock. The parameter at is the byte position of the first
// byte. Nil data only show that the run is alive. It returns an error if this process does not hold the lock.
func (s *journaling) Note(ctx context.Context, workspace string, at int64, data []byte) error {
	id, session := s.own(workspace)
	if id == "" {
		return errors.New("the state is not locked")
	}
	if data == nil {
		_, err := s.do(ctx, `UPDATE `+s.journals()+` SET seen = now() WHERE workspace = $1 AND run = $2 AND position = 0`, workspace, id)
		return err
	}
	return s.use(ctx, func(conn *pgconn.PgConn) error {
		return batch(ctx, conn, slices.Values([]request{{
			sql:  `INSERT INTO ` + s.journals() + ` (workspace, run, session, position, data) VALUES ($1, $2, $3::int, $4::bigint, $5::bytea)`,
			args: [][]byte{[]byte(workspace), []byte(id), []byte(session), strconv.AppendInt(nil, at, 10), data}, arrays: 1,
		}}))
	})
}

// Orphaned returns the journals of runs that ended without deleting their journal. A run in progress updates its row
// regularly, even if the connection of its lock broke. A run that has not done so for three times store.LifeSign counts
// as ended.
func (s *journaling) Orphaned(ctx context.Context, workspace string) ([]store.OrphanedJournal, error) {
	first := map[string]int64{}
	for {
		all, err := s.silent(ctx, workspace)
		if err != nil {
			return nil, err
		}
		var out []store.OrphanedJournal
		unsure := false
		for _, j := range all {
			seen, before := first[j.Run]
			switch {
			case before && seen != j.seen: // the run has updated its row since, so it is alive
				continue
			case j.silence > 3*store.LifeSign:
				out = append(out, j.OrphanedJournal)
			default:
				unsure = true
			}
			first[j.Run] = j.seen
		}
		if !unsure {
			return out, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(store.LifeSign / 4):
		}
	}
}

// silentRun is a run without the advisory lock that shows that a run is alive (claims.go). It has crashed, its
// connection broke, or it holds the lock of the whole state. silence is the time since its latest sign of life.
type silentRun struct {
	store.OrphanedJournal
	seen    int64 // the time of the latest sign of life, in microseconds since 1970
	silence time.Duration
}

// silent returns the silent runs of a workspace with their journals, except the run of this process. A journal ends at
// the first gap between the positions of its rows.
func (s *journaling) silent(ctx context.Context, workspace string) ([]silentRun, error) {
	id, _ := s.own(workspace)
	sessions := `SELECT k.session FROM ` + s.journals() + ` k WHERE k.run = j.run`
	if s.o.Rows {
		sessions += ` UNION ALL SELECT c.session FROM ` + s.claims() + ` c WHERE c.who::json->>'ID' = j.run`
	}
	var out []silentRun
	err := s.use(ctx, func(conn *pgconn.PgConn) error {
		out = nil
		return batch(ctx, conn, slices.Values([]request{{
			sql: `SELECT j.run, j.position, j.data, (extract(epoch FROM j.seen) * 1000000)::bigint, (extract(epoch FROM now() - j.seen) * 1000000)::bigint FROM ` + s.journals() + ` j WHERE j.workspace = $1 AND j.run <> $2 AND j.data <> '' AND NOT EXISTS (SELECT FROM pg_locks l
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2 AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND l.classid::bigint = ` + lives + ` AND l.objid::bigint IN (` + sessions + `)) ORDER BY j.run, j.position, j.id`,
			args: [][]byte{[]byte(workspace), []byte(id)}, binary: true, row: func(c [][]byte) {
				if n := len(out); n == 0 || out[n-1].Run != string(c[0]) {
					out = append(out, silentRun{OrphanedJournal: store.OrphanedJournal{Run: string(c[0])}})
				}
				j := &out[len(out)-1]
				if seen := int64(binary.BigEndian.Uint64(c[3])); seen > j.seen {
					j.seen, j.silence = seen, time.Duration(binary.BigEndian.Uint64(c[4]))*time.Microsecond
				}
				if at := binary.BigEndian.Uint64(c[1]); at <= uint64(len(j.Data)) && at+uint64(len(c[2])) > uint64(len(j.Data)) {
					j.Data = append(j.Data[:at], c[2]...)
				}
			},
		}}))
	})
	return out, s.shape(err)
}

// SetReplayed stores how many records of the journal with the given name were replayed into the state, as a row without
// data. Such rows are deleted after 90 days.
func (s *journaling) SetReplayed(ctx context.Context, workspace, name string, records uint32) error {
	_, err := s.do(ctx, `WITH old AS (DELETE FROM `+s.journals()+` WHERE data = '' AND seen < now() - interval '90 days')
INSERT INTO `+s.journals()+` (workspace, run, session, position, data) VALUES ($1, $2, 0, $3::bigint, '')`, workspace, name, strconv.FormatUint(uint64(records), 10))
	return err
}

// Replayed returns how many records of the journal with the given name were replayed into the state, or 0 if unknown.
func (s *journaling) Replayed(ctx context.Context, workspace, name string) (uint32, error) {
	res, err := s.do(ctx, `SELECT coalesce(max(position), 0) FROM `+s.journals()+` WHERE workspace = $1 AND run = $2 AND data = ''`, workspace, name)
	if err != nil {
		return 0, err
	}
	records, err := strconv.ParseUint(string(res.Rows[0][0]), 10, 32)
	return uint32(records), err
}

// Drop deletes the journal of a run; an empty run means the run that holds the lock.
func (s *journaling) Drop(ctx context.Context, workspace, run string) error {
	if run == "" {
		if run, _ = s.own(workspace); run == "" {
			return nil
		}
	}
	_, err := s.do(ctx, `DELETE FROM `+s.journals()+` WHERE workspace = $1 AND run = $2`, workspace, run)
	return err
}

// journalVariable is the environment variable that sets the setting "journal".
const journalVariable = "LETHE_PG_JOURNAL"

// WithJournals returns the workspaces with journals that the store does not read with its settings, and the environment
// variable that makes commands read them. It does not create the table of journals if that is missing.
func (r *remote) WithJournals(ctx context.Context) (workspaces []string, variable string, err error) {
	if r.o.Journal || r.o.Rows {
		return nil, "", nil
	}
	may, err := r.do(ctx, `SELECT 1 WHERE has_table_privilege(to_regclass($1), 'SELECT')`, r.journals())
	if err != nil || len(may.Rows) == 0 {
		return nil, "", err
	}
	res, err := r.do(ctx, `SELECT workspace FROM `+r.journals()+` WHERE data <> '' GROUP BY workspace ORDER BY workspace`)
	if err != nil {
		return nil, "", err
	}
	for _, row := range res.Rows {
		workspaces = append(workspaces, string(row[0]))
	}
	return workspaces, journalVariable, nil
}
