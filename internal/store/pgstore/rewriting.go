package pgstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/pgstore/rows"
)

// A writing is one write of a state; the writings of a state are numbered. Former states share rows: a row belongs to
// all writings from its number since up to, but without, its number until. So each row is rewritten once. The sum of
// the row digests of each writing with that row is corrected by the difference of the two digests. If the sum of a
// damaged writing was wrong before, it stays wrong, so that reading still detects the damage.

// formerWriting is a writing before the latest, with its header (serial, lineage, digest and other fields of the
// state).
type formerWriting struct {
	number  int64
	header  header
	changed bool
}

// formerRow is a row that belongs only to former writings, not to the latest. The field next is the digest of its new
// content.
type formerRow struct {
	id    int64
	cells [][]byte // the new content, in the stored form
	next  rows.Digest
}

// former has everything that one call of RewriteFormer reads and changes, in one transaction.
type former struct {
	rewrite func(serial uint64, stored []byte) ([]byte, error)
	latest  header
	all     []*formerWriting // all former writings, sorted by number
	rows    [len(rows.Tables)][]formerRow
	err     error // the first error of rewriting a row
}

// RewriteFormer calls rewrite for each former state of a workspace, and replaces the state by the result; nil keeps it.
// It returns the number of changed states. RewriteFormer passes each row of former states to rewrite, in the form of a
// state with one object. All changes are one transaction.
func (s *rowStore) RewriteFormer(ctx context.Context, workspace string, rewrite func(uint64, []byte) ([]byte, error)) (changed int, err error) {
	if err := store.CheckName(workspace); err != nil {
		return 0, err
	}
	if err := s.still(ctx, workspace); err != nil {
		return 0, err
	}
	err = s.use(ctx, func(conn *pgconn.PgConn) error {
		f := &former{rewrite: rewrite}
		err := batch(ctx, conn, s.readingFormer(workspace, f))
		if err == nil {
			err = f.err
		}
		if err == nil {
			err = f.documents()
		}
		if err == nil {
			err = batch(ctx, conn, s.writingFormer(workspace, f))
		}
		if err == nil {
			changed = f.count()
		}
		return errors.Join(err, s.rollback(ctx, conn, err))
	})
	return changed, s.shape(err)
}

// count returns the number of changed former writings.
func (f *former) count() int {
	n := 0
	for _, w := range f.all {
		if w.changed {
			n++
		}
	}
	return n
}

// readingFormer returns the requests that lock the state, and read its former writings and their rows into f.
func (s *rowStore) readingFormer(workspace string, f *former) iter.Seq[request] {
	args := [][]byte{[]byte(workspace)}
	return func(yield func(request) bool) {
		ok := yield(begin("REPEATABLE READ")) && yield(request{sql: `SELECT 1 FROM ` + s.table + ` WHERE name = $1 FOR UPDATE`, args: args}) &&
			yield(s.heading(workspace, "", "", &f.latest)) &&
			yield(request{sql: `SELECT v.number, v.serial, v.lineage, v.terraform_version, v.more, v.document, v.size, v.sum FROM ` + s.versions() + ` v JOIN ` + s.table + ` s ON s.id = v.state WHERE s.name = $1 ORDER BY v.number`, args: args, row: f.addWriting})
		for k, t := range rows.Tables {
			ok = ok && yield(request{
				sql:  `SELECT t.id, t.since, t.until, ` + columns(t) + ` FROM ` + s.part(rows.Kind(k)) + ` t JOIN ` + s.table + ` s ON s.id = t.state WHERE s.name = $1 AND t.until IS NOT NULL ORDER BY t.id`,
				args: args, row: func(c [][]byte) { f.addRow(rows.Kind(k), c) },
			})
		}
	}
}

func (f *former) addWriting(c [][]byte) {
	w := &formerWriting{}
	w.number, _ = strconv.ParseInt(string(c[0]), 10, 64)
	if w.number >= f.latest.number {
		return
	}
	h := &w.header
	h.Serial, _ = strconv.ParseUint(string(c[1]), 10, 64)
	h.Lineage, h.TerraformVersion, h.More, h.document = string(c[2]), string(c[3]), bytes.Clone(c[4]), bytes.Clone(c[5])
	h.size, _ = strconv.Atoi(string(c[6]))
	h.sum, h.summed = rows.SumOf(unhex(c[7]))
	f.all = append(f.all, w)
}

// addRow passes one row to rewrite, in the form of a state, and records the new content unless the result is nil. An
// error is recorded in f.err. c has the id of the row, its numbers since and until, and its cells.
func (f *former) addRow(k rows.Kind, c [][]byte) {
	if f.err != nil {
		return
	}
	numbers := [3]int64{}
	for i := range numbers {
		numbers[i], _ = strconv.ParseInt(string(c[i]), 10, 64)
	}
	first, _ := slices.BinarySearchFunc(f.all, numbers[1], func(w *formerWriting, n int64) int { return cmp.Compare(w.number, n) })
	writings := f.all[first:]
	if end := slices.IndexFunc(writings, func(w *formerWriting) bool { return w.number >= numbers[2] }); end >= 0 {
		writings = writings[:end]
	}
	serial := uint64(0)
	if len(writings) > 0 {
		serial = writings[0].header.Serial
	}
	cells := c[3:]
	before := alone(k, serial, cells)
	after, err := f.rewrite(serial, before)
	if err != nil || after == nil {
		f.err = err
		return
	}
	row := formerRow{id: numbers[0]}
	_, ok := rows.Split(after, func(of rows.Kind, d rows.Digest, now [][]byte) {
		if of == k { // compare only the kind, because instance keys may differ
			row.next = d
			for _, cell := range rows.Stored(k, now) {
				row.cells = append(row.cells, bytes.Clone(cell))
			}
		}
	})
	if !ok || row.cells == nil {
		f.err = fmt.Errorf("the state with the serial %d: a row cannot be read without the value", serial)
		return
	}
	was := rows.DigestOf(k, cells)
	for _, w := range writings {
		if w.header.document != nil {
			continue
		}
		if !w.header.summed {
			f.err = fmt.Errorf("the state with the serial %d has the first format of rows", serial)
			return
		}
		w.changed = true
		w.header.sum.Subtract(was)
		w.header.sum.Add(row.next)
		w.header.size += len(after) - len(before)
	}
	f.rows[k] = append(f.rows[k], row)
}

// alone returns a state that contains only the object of one row.
func alone(k rows.Kind, serial uint64, cells [][]byte) []byte {
	var out bytes.Buffer
	j := rows.NewJoiner(&out)
	j.Head(rows.Head{Serial: serial, Lineage: "-"})
	j.Row(k, cells)
	_ = j.Close() // writing to a buffer never fails
	return out.Bytes()
}

// documents passes the former writings that are stored as documents to rewrite, and also the unknown fields of the
// other writings.
func (f *former) documents() error {
	for _, w := range f.all {
		h := &w.header
		text := h.document
		if text == nil {
			if h.More == nil {
				continue
			}
			var out bytes.Buffer
			j := rows.NewJoiner(&out)
			j.Head(h.Head)
			_ = j.Close()
			text = out.Bytes()
		}
		next, err := f.rewrite(h.Serial, text)
		if err != nil {
			return err
		}
		if next == nil {
			continue
		}
		w.changed = true
		h.size += len(next) - len(text)
		if h.document != nil {
			h.document = next
			continue
		}
		head, ok := rows.Split(next, func(rows.Kind, rows.Digest, [][]byte) {})
		if !ok {
			return fmt.Errorf("the state with the serial %d has unknown fields that cannot be changed", h.Serial)
		}
		h.More = head.More
	}
	return nil
}

// writingFormer returns the requests that store the changed rows and writings, and end the transaction.
func (s *rowStore) writingFormer(workspace string, f *former) iter.Seq[request] {
	return func(yield func(request) bool) {
		for k := range f.rows {
			for part := range slices.Chunk(f.rows[k], 1000) {
				if !yield(s.replacing(rows.Kind(k), part)) {
					return
				}
			}
		}
		for _, w := range f.all {
			h := &w.header
			if !w.changed {
				continue
			}
			h.seal()
			var sum []byte
			if h.document == nil {
				sum = fmt.Appendf(nil, `\x%x`, h.sum.Bytes())
			}
			if !yield(request{
				sql:  `UPDATE ` + s.versions() + ` v SET more = $3::json, document = $4, sum = $5::bytea, size = $6::bigint, digest = $7 FROM ` + s.table + ` s WHERE s.id = v.state AND s.name = $1 AND v.number = $2::bigint`,
				args: [][]byte{[]byte(workspace), strconv.AppendInt(nil, w.number, 10), h.More, h.document, sum, strconv.AppendInt(nil, int64(h.size), 10), []byte(h.digest)},
			}) {
				return
			}
		}
		yield(request{sql: "COMMIT"})
	}
}

// replacing returns the request that replaces the contents and digests of rows of one table.
func (s *rowStore) replacing(k rows.Kind, list []formerRow) request {
	var ids, digests array
	cells := make([]array, len(rows.Tables[k].Columns))
	for _, r := range list {
		ids.add(strconv.AppendInt(nil, r.id, 10))
		digests.add(r.next[:])
		for i, c := range r.cells {
			cells[i].add(c)
		}
	}
	sql, arrays, names := `UPDATE `+s.part(k)+` t SET digest = x.d`, `$1::text[], $2::bytea[]`, `i, d`
	args := [][]byte{ids.arg(textType), digests.arg(bytesType)}
	for i, c := range rows.Tables[k].Columns {
		kind, _, _ := strings.Cut(c.Type, " ")
		sql += fmt.Sprintf(", %s = x.c%d::%s", quoted(c.Name), i, kind)
		arrays += fmt.Sprintf(", $%d::text[]", i+3)
		names += fmt.Sprintf(", c%d", i)
		args = append(args, cells[i].arg(textType))
	}
	return request{sql: sql + ` FROM unnest(` + arrays + `) AS x (` + names + `) WHERE t.id = x.i::bigint`, args: args, arrays: len(args)}
}
