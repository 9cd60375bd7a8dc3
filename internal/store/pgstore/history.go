package pgstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/pgstore/rows"
)

// counted is the SQL that counts, for each writing, the added, changed and removed objects. A writing is one write of a
// state; the writings of a state are numbered. A writing that ends the row of an object and starts a new row for the
// same object has changed that object.
const counted = `SELECT n, count(*) FILTER (WHERE came AND NOT went) AS added, count(*) FILTER (WHERE came AND went) AS changed, count(*) FILTER (WHERE went AND NOT came) AS removed
FROM (SELECT n, bool_or(came) AS came, bool_or(NOT came) AS went FROM (
  SELECT t.since AS n, t.address, t.deposed, t.mode, true AS came FROM %[1]s t WHERE t.state = (SELECT id FROM %[2]s WHERE name = $1)
  UNION ALL SELECT t.until, t.address, t.deposed, t.mode, false FROM %[1]s t WHERE t.state = (SELECT id FROM %[2]s WHERE name = $1) AND t.until IS NOT NULL
) rows GROUP BY n, mode, address, deposed) objects GROUP BY n`

// History lists the present state and the former states of a workspace, the latest first.
func (s *rowStore) History(ctx context.Context, workspace string) ([]store.Past, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, err
	}
	var out []store.Past
	first := ""
	sql := `SELECT v.serial, v.lineage, extract(epoch FROM v.time), v.who, v.operation, v.document IS NULL, coalesce(c.added, 0), coalesce(c.changed, 0), coalesce(c.removed, 0), v.number
FROM ` + s.versions() + ` v LEFT JOIN (` + fmt.Sprintf(counted, s.part(rows.Objects), s.table) + `) c ON c.n = v.number
WHERE v.state = (SELECT id FROM ` + s.table + ` WHERE name = $1) ORDER BY v.number DESC`
	err := s.use(ctx, func(conn *pgconn.PgConn) error {
		out = nil
		return batch(ctx, conn, slices.Values([]request{{sql: sql, args: [][]byte{[]byte(workspace)}, row: func(c [][]byte) {
			p := store.Past{Lineage: string(c[1]), Who: string(c[3]), Operation: string(c[4])}
			p.Serial, _ = strconv.ParseUint(string(c[0]), 10, 64)
			seconds, _ := strconv.ParseFloat(string(c[2]), 64)
			p.Time = time.UnixMicro(int64(seconds * 1e6)).UTC()
			if isTrue(c[5]) {
				n := [3]int{}
				for i := range n {
					n[i], _ = strconv.Atoi(string(c[6+i]))
				}
				p.Counts = &store.Counts{Added: n[0], Changed: n[1], Removed: n[2]}
			}
			p.Writing, _ = strconv.ParseInt(string(c[9]), 10, 64)
			out, first = append(out, p), string(c[9])
		}}}))
	})
	if n := len(out); n > 0 && first != "1" {
		out[n-1].Counts = nil // the counts of the oldest writing are unknown, because the state before it is no longer kept
	}
	return out, s.shape(err)
}

// Former returns a former state from the list of History, in its stored form. It returns nil if the store no longer
// keeps the state.
func (s *rowStore) Former(ctx context.Context, workspace string, p store.Past) ([]byte, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, err
	}
	of := selected{workspace: workspace, serial: strconv.FormatUint(p.Serial, 10)}
	if p.Writing != 0 {
		of.number = strconv.FormatInt(p.Writing, 10)
	}
	data, _, err := s.read(ctx, of)
	return data, err
}
