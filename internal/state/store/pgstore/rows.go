package pgstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/pgstore/rows"
)

// rowStore keeps states in rows: the layout "rows". The row of the table "states" is there for the lock, and says
// where the state is. What a state was is kept, too: a row is never changed but ended, by the number of the writing
// that changed it.
type rowStore struct{ *remote }

// Plain implements store.Plain.
func (s *rowStore) Plain() string {
	return "layout = \"rows\" keeps each object in columns that the database can search, and an encrypted state is one text without objects"
}

// inRows begins what stands in the place of a document that is kept in rows. A program that takes it for a document
// reads that it is of an unknown version, and stops.
const (
	inRows = `{"version":5,"layout":"rows","format":`
	marker = inRows + `1}`
)

// layoutError says that a state is kept otherwise than in the layout of the store.
type layoutError struct{ text string }

func (e *layoutError) Error() string { return e.text }

// layout refuses what stands in the table of states, if it is not of the layout of the store.
func (r *remote) layout(workspace string, data []byte) error {
	const move = "or move it with: lethe init -migrate-state"
	in, rest := bytes.HasPrefix(data, []byte(inRows)), string(data)
	switch {
	case len(data) == 0 || in && r.o.Rows && rest == marker || !in && !r.o.Rows:
		return nil
	case in && r.o.Rows:
		return &layoutError{fmt.Sprintf("the rows of workspace %q were written by a newer version of this program, and are of another format: %.100s", workspace, rest)}
	case in:
		return &layoutError{fmt.Sprintf("the state of workspace %q is kept in rows, not as a document. Set layout = \"rows\" in the block of the backend, %s", workspace, move)}
	}
	return &layoutError{fmt.Sprintf("the state of workspace %q is kept as a document, not in rows. Set layout = \"document\" in the block of the backend, %s", workspace, move)}
}

// shape says of errors about columns what they mean.
func (s *rowStore) shape(err error) error {
	if code(err, "42703", "42804", "42P10", "42883") {
		return fmt.Errorf("the tables %s_* in the schema %q are not those of this program, or of another version of it: %w", s.o.Table, s.o.Schema, err)
	}
	return err
}

// header is the writing that a state is of.
type header struct {
	place    []byte // what stands in the table of states; nil: no row
	number   int64  // 0: none was written
	digest   string
	document []byte
	size     int
	rows.Head
}

func (h *header) version() store.Version {
	if h.number == 0 || string(h.place) != marker {
		return ""
	}
	return store.Version(fmt.Sprintf("%d-%s", h.number, h.digest))
}

// heading is the request for a header: of the latest writing, or of that with a serial. The place of a document is cut
// to what tells what it is, so that it is not read for that.
func (s *rowStore) heading(workspace, serial string, h *header) request {
	sql := `SELECT left(s.data, 100), v.number, v.digest, v.document, v.size, v.serial, v.lineage, v.terraform_version, v.more FROM ` + s.table + ` s
LEFT JOIN LATERAL (SELECT * FROM ` + s.versions() + ` v WHERE v.state = s.id AND ($2 = '' OR v.serial::text = $2) ORDER BY v.number DESC LIMIT 1) v ON true WHERE s.name = $1`
	return request{sql: sql, args: [][]byte{[]byte(workspace), []byte(serial)}, row: func(c [][]byte) {
		h.place, h.digest, h.document = append([]byte{}, c[0]...), string(c[2]), bytes.Clone(c[3])
		h.number, _ = strconv.ParseInt(string(c[1]), 10, 64)
		h.size, _ = strconv.Atoi(string(c[4]))
		h.Serial, _ = strconv.ParseUint(string(c[5]), 10, 64)
		h.Lineage, h.TerraformVersion, h.More = string(c[6]), string(c[7]), bytes.Clone(c[8])
	}}
}

func begin(mode string) request { return request{sql: "BEGIN ISOLATION LEVEL " + mode} }

// Get implements store.Store: the document is made of one snapshot.
func (s *rowStore) Get(ctx context.Context, workspace string) ([]byte, store.Version, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, "", err
	}
	data, h, err := s.read(ctx, workspace, "")
	if err != nil {
		return nil, "", err
	}
	if err = s.layout(workspace, h.place); err != nil || h.version() == "" {
		return nil, "", err
	}
	return data, h.version(), nil
}

// Version implements store.Versioner.
func (s *rowStore) Version(ctx context.Context, workspace string) (store.Version, error) {
	if err := store.CheckName(workspace); err != nil {
		return "", err
	}
	var h header
	err := s.use(ctx, func(conn *pgconn.PgConn) error {
		h = header{}
		return batch(ctx, conn, slices.Values([]request{s.heading(workspace, "", &h)}))
	})
	if err == nil {
		err = s.layout(workspace, h.place)
	}
	return h.version(), s.shape(err)
}

// read makes a document: the latest, or that with a serial. It is nil where there is none.
func (s *rowStore) read(ctx context.Context, workspace, serial string) ([]byte, header, error) {
	var h header
	var out bytes.Buffer
	var join *rows.Joiner
	err := s.use(ctx, func(conn *pgconn.PgConn) error {
		h = header{}
		out.Reset()
		join = rows.NewJoiner(&out)
		err := batch(ctx, conn, s.reading(workspace, serial, &h, &out, join))
		return errors.Join(err, s.rollback(ctx, conn, err))
	})
	switch {
	case err != nil:
		return nil, h, s.shape(err)
	case h.number == 0 || serial == "" && h.version() == "":
		return nil, h, nil
	case h.document != nil:
		return h.document, h, nil
	}
	join.Head(h.Head)
	if err := join.Close(); err != nil {
		return nil, h, err
	}
	if got := store.Digest(out.Bytes()); string(got) != h.digest {
		return nil, h, fmt.Errorf("the rows of workspace %q with the serial %d do not make the state that was written: they were changed by another program, or a part of them is gone", workspace, h.Serial)
	}
	return out.Bytes(), h, nil
}

// reading are the requests for a document.
func (s *rowStore) reading(workspace, serial string, h *header, out *bytes.Buffer, join *rows.Joiner) iter.Seq[request] {
	return func(yield func(request) bool) {
		head := s.heading(workspace, serial, h)
		fill := head.row
		head.row = func(c [][]byte) {
			fill(c)
			out.Grow(h.size + bytes.MinRead)
			join.Head(h.Head)
		}
		// What is sorted is sent at once: room for it makes that two times as fast.
		if !yield(begin("REPEATABLE READ READ ONLY")) || !yield(request{sql: "SET LOCAL work_mem = '64MB'"}) || !yield(head) {
			return
		}
		from, when := ` t JOIN `+s.table+` s ON s.id = t.state WHERE s.name = $1 AND left(s.data, 100) = $2 AND `, `t.until IS NULL`
		args := [][]byte{[]byte(workspace), []byte(marker)}
		if serial != "" {
			from = ` t JOIN ` + s.table + ` s ON s.id = t.state JOIN LATERAL (SELECT max(number) AS number FROM ` + s.versions() + ` WHERE state = s.id AND serial::text = $2) v ON true WHERE s.name = $1 AND `
			when = `t.since <= v.number AND (t.until IS NULL OR t.until > v.number)`
			args[1] = []byte(serial)
		}
		for k, t := range rows.Tables {
			sql := `SELECT ` + columns(t) + ` FROM ` + s.part(rows.Kind(k)) + from + when + ` ORDER BY t.` + strings.ReplaceAll(t.Order, ", ", ", t.")
			if !yield(request{sql: sql, args: args, row: func(c [][]byte) { join.Row(rows.Kind(k), c) }}) {
				return
			}
		}
		yield(request{sql: "COMMIT"})
	}
}

// columns lists those of a table.
func columns(t rows.Table) string {
	var names []string
	for _, c := range t.Columns {
		names = append(names, "t."+quoted(c.Name))
	}
	return strings.Join(names, ", ")
}

// rollback ends a transaction that failed. A connection on which that does not work is not used again.
func (s *rowStore) rollback(ctx context.Context, conn *pgconn.PgConn, failed error) error {
	if failed == nil || conn.IsClosed() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if _, err := conn.Exec(ctx, "ROLLBACK").ReadAll(); err != nil {
		_ = conn.Close(ctx)
	}
	return nil
}

// Put implements store.Store.
func (s *rowStore) Put(ctx context.Context, workspace string, data []byte, prev store.Version) (store.Version, error) {
	return s.put(ctx, writing{workspace: workspace, data: data, prev: prev})
}

// writing is a state on its way to rows.
type writing struct {
	workspace string
	data      []byte
	prev      store.Version
	replaces  store.Version // instead of what rows have: a document, of that digest

	head  rows.Head
	whole bool // the document is kept as it is, and has no rows
	found [len(rows.Tables)]map[rows.Digest]bool
	who   store.LockInfo
}

// again is how often a transaction that met another is made again before that is an error.
const again = 10

func (s *rowStore) put(ctx context.Context, w writing) (store.Version, error) {
	if err := store.CheckName(w.workspace); err != nil {
		return "", err
	}
	if err := s.still(ctx, w.workspace); err != nil {
		return "", err
	}
	w.split()
	w.who = s.writer(w.workspace)
	for n := 1; ; n++ {
		v, err := s.write(ctx, &w)
		if !code(err, "40001", "40P01", "23505") {
			return v, s.shape(err)
		}
		if n == again || ctx.Err() != nil {
			return "", &store.UnansweredError{Err: err}
		}
		time.Sleep(rand.N(time.Duration(n) * 10 * time.Millisecond))
	}
}

// writer is who writes: who has the lock, or else the user of this process.
func (s *rowStore) writer(workspace string) store.LockInfo {
	s.locks.Lock()
	defer s.locks.Unlock()
	if h := s.held[workspace]; h != nil {
		return h.who
	}
	return store.NewLockInfo("", "")
}

// split finds out which rows a document has.
func (w *writing) split() {
	for k := range w.found {
		w.found[k] = map[rows.Digest]bool{}
	}
	head, ok := rows.Split(w.data, func(k rows.Kind, d rows.Digest, _ [][]byte) { w.found[k][d] = true })
	if w.head = head; !ok {
		w.whole = true
		for k := range w.found {
			clear(w.found[k])
		}
	}
}

// write replaces a state in one transaction, of two round trips: it reads which rows there are, and writes those that
// differ.
func (s *rowStore) write(ctx context.Context, w *writing) (v store.Version, err error) {
	err = s.use(ctx, func(conn *pgconn.PgConn) error {
		var h header
		var document string
		var ended [len(rows.Tables)][]int64
		fresh := [len(rows.Tables)]map[rows.Digest]bool{}
		for k := range fresh {
			fresh[k] = map[rows.Digest]bool{}
			for d := range w.found[k] {
				fresh[k][d] = true
			}
		}
		err := batch(ctx, conn, s.comparing(w, &h, &document, func(k int, id int64, d rows.Digest) {
			if fresh[k][d] {
				delete(fresh[k], d)
			} else {
				ended[k] = append(ended[k], id)
			}
		}))
		if err == nil {
			err = s.current(w, &h, document)
		}
		if err == nil {
			h.number++
			h.digest = string(store.Digest(w.data))
			h.place = []byte(marker)
			err = batch(ctx, conn, s.changing(w, &h, fresh, ended))
		}
		if err != nil {
			return errors.Join(err, s.rollback(ctx, conn, err))
		}
		v = h.version()
		return nil
	})
	return v, err
}

// comparing are the requests for what there is.
func (s *rowStore) comparing(w *writing, h *header, document *string, row func(k int, id int64, d rows.Digest)) iter.Seq[request] {
	name := []byte(w.workspace)
	return func(yield func(request) bool) {
		if !yield(begin("SERIALIZABLE")) || !yield(request{sql: `SELECT ` + digest + ` FROM ` + s.table + ` WHERE name = $1 FOR UPDATE`, args: [][]byte{name}, row: func(c [][]byte) { *document = string(c[0]) }}) || !yield(s.heading(w.workspace, "", h)) {
			return
		}
		for k := range rows.Tables {
			sql := `SELECT t.id, t.digest FROM ` + s.part(rows.Kind(k)) + ` t JOIN ` + s.table + ` s ON s.id = t.state WHERE s.name = $1 AND t.until IS NULL`
			if !yield(request{sql: sql, args: [][]byte{name}, binary: true, row: func(c [][]byte) {
				var id int64
				for _, b := range c[0] {
					id = id<<8 | int64(b)
				}
				row(k, id, rows.Digest(c[1]))
			}}) {
				return
			}
		}
	}
}

// current refuses to replace another state than the one that was read.
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
	if now := h.version(); now != w.prev {
		return &store.StaleError{Workspace: w.workspace, Missing: now == ""}
	}
	return nil
}

// changing are the requests that make of what there is what is to be.
func (s *rowStore) changing(w *writing, h *header, fresh [len(rows.Tables)]map[rows.Digest]bool, ended [len(rows.Tables)][]int64) iter.Seq[request] {
	name, number := []byte(w.workspace), strconv.AppendInt(nil, h.number, 10)
	return func(yield func(request) bool) {
		if !yield(request{sql: `INSERT INTO ` + s.table + ` (name, data) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET data = $2`, args: [][]byte{name, []byte(marker)}}) {
			return
		}
		for k, ids := range ended {
			if len(ids) > 0 && !yield(request{sql: `UPDATE ` + s.part(rows.Kind(k)) + ` SET until = $1 WHERE id = ANY ($2::bigint[])`, args: [][]byte{number, numbers(ids)}}) {
				return
			}
		}
		var document []byte
		if w.whole {
			document = w.data
		} else if !s.inserting(w, number, fresh, yield) {
			return
		}
		list, of := "", ""
		args := [][]byte{name}
		for _, c := range []struct {
			column, kind string
			value        []byte
		}{
			{"number", "bigint", number}, {"serial", "numeric", strconv.AppendUint(nil, w.head.Serial, 10)}, {"lineage", "text", []byte(w.head.Lineage)},
			{"terraform_version", "text", []byte(w.head.TerraformVersion)}, {"more", "json", w.head.More}, {"document", "text", document},
			{"size", "bigint", strconv.AppendInt(nil, int64(len(w.data)), 10)}, {"digest", "text", []byte(h.digest)},
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

// numbers is an array of numbers as text.
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

// inserting are the requests that write rows, as many with each as fit into a message of a useful size.
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

// insert is the statement for rows of a table, whose columns are arrays.
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

// pruning are the requests that remove what ended before the days for which it is kept: what the writing that was the
// latest then had not any more.
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

// Delete implements store.Store.
func (s *rowStore) Delete(ctx context.Context, workspace string) error {
	if err := store.Deletable(workspace); err != nil {
		return err
	}
	args := [][]byte{[]byte(workspace), []byte(marker)}
	const ours = `s.name = $1 AND (coalesce(s.data, '') = '' OR s.data = $2)`
	var place []byte
	requests := []request{begin("READ COMMITTED"), {sql: `SELECT left(data, 100) FROM ` + s.table + ` WHERE name = $1 FOR UPDATE`, args: args[:1], row: func(c [][]byte) { place = bytes.Clone(c[0]) }}}
	for _, table := range append([]string{s.versions()}, s.part(rows.Objects), s.part(rows.Outputs), s.part(rows.Checks)) {
		requests = append(requests, request{sql: `DELETE FROM ` + table + ` t USING ` + s.table + ` s WHERE t.state = s.id AND ` + ours, args: args})
	}
	requests = append(requests, request{sql: `DELETE FROM ` + s.table + ` s WHERE ` + ours, args: args}, request{sql: `COMMIT`})
	err := s.use(ctx, func(conn *pgconn.PgConn) error {
		err := batch(ctx, conn, slices.Values(requests))
		return errors.Join(err, s.rollback(ctx, conn, err))
	})
	return cmp.Or(s.shape(err), s.layout(workspace, place))
}
