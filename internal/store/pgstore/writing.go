package pgstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/pgstore/rows"
)

// Put replaces the state that has the version prev, and returns the new version. If the state has another version, the
// error is a *store.StaleError.
func (s *rowStore) Put(ctx context.Context, workspace string, data []byte, prev store.Version) (store.Version, error) {
	return s.put(ctx, writing{workspace: workspace, data: data, prev: prev})
}

// writing is one write of a state, or of a part of a state, to rows. The writings of a state are numbered.
type writing struct {
	workspace string
	part      []string // the resources that are written; nil means all
	data      []byte
	stamps    map[string]store.Stamp
	prev      store.Version
	replaces  store.Version // if not "", the writing replaces a document with this digest, not rows

	head  rows.Head
	anew  bool                                   // write all rows again, even equal rows, because the present state is damaged
	whole bool                                   // store the document whole, because rows cannot reproduce it
	found [len(rows.Tables)]map[rows.Digest]bool // the digests of the rows of data, by kind
	sums  map[string]rows.Sum                    // the sums of the written rows, by the address of their resource or by store.OutputStamp of their output
	who   store.LockInfo
}

// attempts is the number of attempts for a transaction that conflicts with other transactions.
const attempts = 10

func (s *rowStore) put(ctx context.Context, w writing) (store.Version, error) {
	if err := store.CheckName(w.workspace); err != nil {
		return "", err
	}
	if err := s.still(ctx, w.workspace); err != nil {
		return "", err
	}
	if w.data != nil {
		w.split()
	}
	w.who = s.writer(w.workspace)
	w.prev, w.anew = splitDamaged(w.prev)
	for n := 1; ; n++ {
		v, err := s.write(ctx, &w)
		if !code(err, "40001", "40P01", "23505") {
			return v, s.shape(err) // v is the version after the write, even if the outcome of the write is unknown
		}
		if n == attempts || ctx.Err() != nil {
			return "", &store.UnansweredError{Err: err}
		}
		time.Sleep(rand.N(time.Duration(n) * 10 * time.Millisecond))
	}
}

// splitDamaged removes the prefix "damaged-" from the version of a store.DamagedError. It reports whether the version
// had that prefix.
func splitDamaged(v store.Version) (store.Version, bool) {
	rest, is := strings.CutPrefix(string(v), damaged)
	return store.Version(rest), is
}

// writer returns the holder of the lock, or the user of this process if the workspace is not locked.
func (s *rowStore) writer(workspace string) store.LockInfo {
	s.locks.Lock()
	defer s.locks.Unlock()
	if h := s.held[workspace]; h != nil {
		return h.who
	}
	return store.NewLockInfo("", "")
}

// split computes the digests and the sums of the rows of w.data. If rows cannot reproduce the document, split sets
// w.whole.
func (w *writing) split() {
	w.sums = map[string]rows.Sum{}
	for _, name := range w.part {
		w.sums[name] = rows.Sum{}
	}
	for k := range w.found {
		w.found[k] = map[rows.Digest]bool{}
	}
	head, ok := rows.Split(w.data, func(k rows.Kind, d rows.Digest, cells [][]byte) {
		w.found[k][d] = true
		if name := stampName(k, cells); name != "" {
			sum := w.sums[name]
			sum.Add(d)
			w.sums[name] = sum
		}
	})
	if w.head = head; !ok {
		w.whole = true
		clear(w.sums)
		for k := range w.found {
			clear(w.found[k])
		}
	}
}

// present is the stored state before a writing.
type present struct {
	header
	place     string // store.Digest of the data in the table of states
	rows      [len(rows.Tables)]map[rows.Digest]int64
	resources map[string]known
}

// intact returns a *store.DamagedError if the stored rows of the part that w replaces differ from the rows that were
// written. Without this check, the new sum of the state would hide that difference.
func (p *present) intact(w *writing) error {
	if w.part == nil || w.data == nil {
		return nil
	}
	sums := newPartSums(w.part)
	var read, want rows.Sum
	for k, all := range p.rows {
		for d := range all {
			if rows.Kind(k) != rows.Checks {
				read.Add(d)
			}
		}
	}
	for name, is := range p.resources {
		if sums.has(name) {
			want.Join(is.sum)
		}
	}
	if read != want {
		return &store.DamagedError{Version: damaged + p.version(), Err: errRows(w.workspace, p.Serial)}
	}
	return nil
}

// write replaces a state in one transaction with two round trips: it reads the digests of the existing rows, and then
// writes the rows that differ.
func (s *rowStore) write(ctx context.Context, w *writing) (v store.Version, err error) {
	err = s.use(ctx, func(conn *pgconn.PgConn) error {
		now := &present{resources: map[string]known{}}
		err := batch(ctx, conn, s.comparing(w, now))
		if err == nil {
			err = s.current(w, &now.header, now.place)
		}
		if err == nil {
			err = now.intact(w)
		}
		if err == nil {
			next := s.next(w, now)
			v = next.version()
			err = batch(ctx, conn, s.changing(w, now, next))
		}
		return errors.Join(err, s.rollback(ctx, conn, err))
	})
	return v, err
}

// comparing returns the requests that lock the present state and read its header and digests into the argument now.
func (s *rowStore) comparing(w *writing, now *present) iter.Seq[request] {
	name := []byte(w.workspace)
	return func(yield func(request) bool) {
		if !yield(begin("SERIALIZABLE")) || !yield(request{sql: `SELECT ` + digest + ` FROM ` + s.table + ` WHERE name = $1 FOR UPDATE`, args: [][]byte{name}, row: func(c [][]byte) { now.place = string(c[0]) }}) || !yield(s.heading(w.workspace, "", "", &now.header)) {
			return
		}
		for k := range rows.Tables {
			now.rows[k] = map[rows.Digest]int64{}
			r := request{sql: `SELECT t.id, t.digest FROM ` + s.part(rows.Kind(k)) + ` t JOIN ` + s.table + ` s ON s.id = t.state WHERE s.name = $1 AND t.until IS NULL`, args: [][]byte{name}, binary: true, row: func(c [][]byte) {
				now.rows[k][rows.Digest(c[1])] = int64(binary.BigEndian.Uint64(c[0]))
			}}
			if w.part != nil && rows.Kind(k) == rows.Objects {
				r.sql += ` AND ` + within(2)
				r.args, r.arrays = append(r.args, resourceArgs(w.part)...), 2
			}
			if w.data != nil && !yield(r) {
				return
			}
		}
		yield(s.listing(w.workspace, now.resources))
	}
}

// current returns a *store.StaleError if the present state is not the state that the writing w replaces. h is the
// header of the present state, and document the digest of the data in the table of states.
func (s *rowStore) current(w *writing, h *header, document string) error {
	if w.replaces != "" {
		if string(w.replaces) != document {
			return &store.StaleError{Workspace: w.workspace, Missing: document == ""}
		}
		return nil
	}
	if err := s.layout(w.workspace, h.place); err != nil {
		return err
	}
	if w.part != nil && (!h.summed || w.whole) {
		return store.ErrNotPartial
	}
	if now := h.version(); now != w.prev {
		return &store.StaleError{Workspace: w.workspace, Missing: now == ""}
	}
	return nil
}

// following is the state after a writing, with its differences from the present state.
type following struct {
	header
	inserted  [len(rows.Tables)]map[rows.Digest]bool // the digests of the rows to insert, by kind
	ended     [len(rows.Tables)][]int64              // the ids of the rows that this writing ends, by kind
	resources map[string]known                       // the new sums and stamps of the resources that differ
	removed   []string                               // the resources that have neither rows nor a stamp any more
}

// next computes the state after the writing w, and its differences from the present state. If w changes only stamps,
// the rows and the number of the state do not change.
func (s *rowStore) next(w *writing, now *present) *following {
	n := &following{header: now.header, resources: map[string]known{}}
	if w.data != nil {
		n.number++
		n.place, n.Head, n.document, n.summed = []byte(marker), w.head, nil, !w.whole
		if w.part == nil {
			n.size, n.sum = len(w.data), rows.Sum{}
		}
		if w.whole {
			n.document = w.data
		}
		for k, has := range w.found {
			n.inserted[k] = map[rows.Digest]bool{}
			for d := range has {
				if _, exists := now.rows[k][d]; !exists || w.anew {
					n.inserted[k][d] = true
				}
				if w.part == nil || !now.has(k, d) {
					n.sum.Add(d)
				}
			}
			for d, id := range now.rows[k] {
				if has[d] && !w.anew {
					continue
				}
				n.ended[k] = append(n.ended[k], id)
				if w.part != nil {
					n.sum.Subtract(d)
				}
			}
		}
		n.seal()
	}
	n.stamp(w, now)
	return n
}

func (p *present) has(k int, d rows.Digest) bool {
	_, exists := p.rows[k][d]
	return exists
}

// stamp adds the resources whose sum or stamp the writing w changes to n.resources, and the resources that have neither
// rows nor a stamp after it to n.removed.
func (n *following) stamp(w *writing, now *present) {
	all, touched := maps.Clone(now.resources), maps.Clone(w.sums)
	if w.data != nil {
		for name := range now.resources {
			_, exists := touched[name]
			kept := w.stamps == nil && strings.HasPrefix(name, store.ConditionsStamp("")) // a writing without stamps keeps the stored stamps of conditions
			if !exists && !kept && (w.part == nil || strings.HasPrefix(name, store.OutputStamp(""))) {
				touched[name] = rows.Sum{}
			}
		}
	}
	for name, sum := range touched {
		all[name] = known{sum, all[name].stamp}
	}
	for name, m := range w.stamps {
		all[name] = known{all[name].sum, stampOf(name, m, all)}
	}
	for name, is := range all {
		was, exists := now.resources[name]
		_, written := touched[name]
		_, stamped := w.stamps[name]
		switch {
		case is.sum == rows.Sum{} && !stamped && (written || is.stamp == ""):
			if exists {
				n.removed = append(n.removed, name)
			}
		case !exists || is != was:
			n.resources[name] = is
		}
	}
}

// stampOf returns the stored form of the stamp m of a resource: a digest of its configuration, of its sum, and of the
// sums of the resources in m.Of. The parameter all has the sums by resource.
func stampOf(name string, m store.Stamp, all map[string]known) string {
	b := strconv.AppendQuote(nil, m.Config)
	for _, of := range append([]string{name}, slices.Sorted(slices.Values(m.Of))...) {
		b = append(strconv.AppendQuote(b, of), all[of].sum.Bytes()...)
	}
	return string(store.Digest(b))
}

// changing returns the requests that replace the present state by the next state and commit the transaction. If w.data
// is nil, they only replace stamps.
func (s *rowStore) changing(w *writing, now *present, next *following) iter.Seq[request] {
	name, number := []byte(w.workspace), strconv.AppendInt(nil, next.number, 10)
	return func(yield func(request) bool) {
		if w.data == nil {
			_ = s.knowing(name, now, next, yield) && yield(request{sql: `COMMIT`})
			return
		}
		if string(now.header.place) != marker && !yield(request{sql: `INSERT INTO ` + s.table + ` (name, data) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET data = $2`, args: [][]byte{name, []byte(marker)}}) {
			return
		}
		if !s.knowing(name, now, next, yield) {
			return
		}
		for k, ids := range next.ended {
			if len(ids) > 0 && !yield(request{sql: `UPDATE ` + s.part(rows.Kind(k)) + ` SET until = $1 WHERE id = ANY ($2::bigint[])`, args: [][]byte{number, numbers(ids)}}) {
				return
			}
		}
		var sum []byte
		if next.summed {
			sum = fmt.Appendf(nil, `\x%x`, next.sum.Bytes())
			if !s.inserting(w, number, next.inserted, yield) {
				return
			}
		}
		list, of := "", ""
		args := [][]byte{name}
		for _, c := range []struct {
			column, kind string
			value        []byte
		}{
			{"number", "bigint", number}, {"serial", "numeric", strconv.AppendUint(nil, w.head.Serial, 10)}, {"lineage", "text", []byte(w.head.Lineage)},
			{"terraform_version", "text", []byte(w.head.TerraformVersion)}, {"more", "json", w.head.More}, {"document", "text", next.document}, {"sum", "bytea", sum},
			{"size", "bigint", strconv.AppendInt(nil, int64(next.size), 10)}, {"digest", "text", []byte(next.digest)},
			{"who", "text", []byte(w.who.Who)}, {"operation", "text", []byte(w.who.Operation)},
		} {
			args = append(args, c.value)
			list += ", " + c.column
			of += fmt.Sprintf(", $%d::%s", len(args), c.kind)
		}
		if !yield(request{sql: `INSERT INTO ` + s.versions() + ` (state` + list + `) SELECT s.id` + of + ` FROM ` + s.table + ` s WHERE s.name = $1`, args: args}) || !s.pruning(name, yield) {
			return
		}
		yield(request{sql: `COMMIT`})
	}
}

// knowing yields the requests that store the new sums and stamps of resources. It returns false if yield returned
// false.
func (s *rowStore) knowing(name []byte, now *present, next *following, yield func(request) bool) bool {
	const of = ` t USING %s s WHERE s.id = t.state AND s.name = $1 AND t.resource = ANY ($2::text[])`
	var removed, fresh, sums, stamps array
	for _, n := range next.removed {
		removed.add([]byte(n))
	}
	for _, n := range slices.Sorted(maps.Keys(next.resources)) {
		is := next.resources[n]
		if _, exists := now.resources[n]; exists {
			removed.add([]byte(n))
		}
		fresh.add([]byte(n))
		sums.add(is.sum.Bytes())
		if is.stamp == "" {
			stamps.add(nil)
		} else {
			stamps.add([]byte(is.stamp))
		}
	}
	if removed.n > 0 && !yield(request{sql: `DELETE FROM ` + s.resources() + fmt.Sprintf(of, s.table), args: [][]byte{name, removed.arg(textType)}, arrays: 1}) {
		return false
	}
	return fresh.n == 0 || yield(request{sql: `INSERT INTO ` + s.resources() + ` (state, resource, sum, stamp) SELECT s.id, x.r, x.s, x.m FROM ` + s.table + ` s, unnest($2::text[], $3::bytea[], $4::text[]) AS x (r, s, m) WHERE s.name = $1`,
		args: [][]byte{name, fresh.arg(textType), sums.arg(bytesType), stamps.arg(textType)}, arrays: 3})
}

// numbers returns an array of numbers in the text format of PostgreSQL.
func numbers(list []int64) []byte {
	out := []byte{'{'}
	for i, n := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, n, 10)
	}
	return append(out, '}')
}

// inserting yields the requests that insert the rows of w.data whose digests are in fresh. Each request has up to about
// flushAt bytes of cells. number is the number of the writing. inserting returns false if yield returned false.
func (s *rowStore) inserting(w *writing, number []byte, fresh [len(rows.Tables)]map[rows.Digest]bool, yield func(request) bool) bool {
	name, more := []byte(w.workspace), true
	var kind rows.Kind
	var digests array
	var cells []array
	size := 0
	flush := func() {
		if digests.n == 0 || !more {
			return
		}
		args := [][]byte{name, number, digests.arg(bytesType)}
		for i := range cells {
			args = append(args, cells[i].arg(textType))
		}
		more = yield(request{sql: s.insert(kind), args: args, arrays: len(cells) + 1})
		size = 0
	}
	rows.Each(w.data, func(k rows.Kind, d rows.Digest, raw [][]byte) {
		if !fresh[k][d] || !more {
			return
		}
		if k != kind || size > flushAt {
			flush()
			kind = k
		}
		if n := len(rows.Tables[k].Columns); len(cells) != n {
			cells = make([]array, n)
		}
		digests.add(d[:])
		for i, c := range rows.Stored(k, raw) {
			cells[i].add(c)
			size += len(c)
		}
	})
	flush()
	return more
}

// insert returns the statement that inserts rows into the table of a kind. Each column is an array argument.
func (s *rowStore) insert(k rows.Kind) string {
	var into, of, arrays, names strings.Builder
	for i, c := range rows.Tables[k].Columns {
		kind, _, _ := strings.Cut(c.Type, " ")
		fmt.Fprintf(&into, ", %s", quoted(c.Name))
		fmt.Fprintf(&of, ", x.c%d::%s", i, kind)
		fmt.Fprintf(&arrays, ", $%d::text[]", i+4)
		fmt.Fprintf(&names, ", c%d", i)
	}
	return `INSERT INTO ` + s.part(k) + ` (state, since, digest` + into.String() + `) SELECT s.id, $2::bigint, x.d` + of.String() +
		` FROM ` + s.table + ` s, unnest($3::bytea[]` + arrays.String() + `) AS x (d` + names.String() + `) WHERE s.name = $1`
}

// pruning yields the requests that delete rows and writings that ended more than Options.Days days ago. The latest
// writing before that time is kept. pruning returns false if yield returned false.
func (s *rowStore) pruning(name []byte, yield func(request) bool) bool {
	kept := `WITH kept AS (SELECT s.id AS state, max(v.number) AS number FROM ` + s.table + ` s JOIN ` + s.versions() + ` v ON v.state = s.id WHERE s.name = $1 AND v.time <= now() - make_interval(days => $2::int) GROUP BY s.id) DELETE FROM `
	args := [][]byte{name, strconv.AppendInt(nil, int64(s.o.Days), 10)}
	for k := range rows.Tables {
		if !yield(request{sql: kept + s.part(rows.Kind(k)) + ` t USING kept WHERE t.state = kept.state AND t.until <= kept.number`, args: args}) {
			return false
		}
	}
	return yield(request{sql: kept + s.versions() + ` t USING kept WHERE t.state = kept.state AND t.number < kept.number`, args: args})
}
