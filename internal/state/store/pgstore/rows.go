package pgstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
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
type rowStore struct{ journaling }

// Plain implements store.Plain.
func (s *rowStore) Plain() string {
	return "layout = \"rows\" keeps each object in columns that the database can search, and an encrypted state is one text without objects"
}

// inRows begins what stands in the place of a document that is kept in rows. A program that takes it for a document
// reads that it is of an unknown version, and stops.
const (
	inRows = `{"version":5,"layout":"rows","format":`
	first  = inRows + `1}` // its header has the digest of the document
	marker = inRows + `2}` // and this one a sum of the digests of the rows
)

// layoutError says that a state is kept otherwise than in the layout of the store.
type layoutError struct{ text string }

func (e *layoutError) Error() string { return e.text }

// layout refuses what stands in the table of states, if it is not of the layout of the store.
func (r *remote) layout(workspace string, data []byte) error {
	const move = "or move it, in its own directory, with: lethe init -migrate-state"
	in, rest := bytes.HasPrefix(data, []byte(inRows)), string(data)
	switch {
	case len(data) == 0 || in && r.o.Rows && (rest == marker || rest == first) || !in && !r.o.Rows:
		return nil
	case in && r.o.Rows:
		return &layoutError{fmt.Sprintf("the rows of workspace %q were written by a newer version of Lethe, in another format: %.100s", workspace, rest)}
	case in:
		return &layoutError{fmt.Sprintf("the state of workspace %q is kept in rows, not as a document. Set layout = \"rows\" in the settings of the backend, %s", workspace, move)}
	}
	return &layoutError{fmt.Sprintf("the state of workspace %q is kept as a document, not in rows. Set layout = \"document\" in the settings of the backend, %s", workspace, move)}
}

// header is the writing that a state is of.
type header struct {
	place    []byte // what stands in the table of states; nil: no row
	number   int64  // 0: none was written
	digest   string
	document []byte
	size     int
	sum      rows.Sum
	summed   bool // in the first format, and for a document, there is no sum
	rows.Head
}

// seal works out the digest: of the document where there is one, and otherwise of the head and the sum.
func (h *header) seal() {
	if h.document != nil {
		h.digest = string(store.Digest(h.document))
		return
	}
	b := strconv.AppendUint(nil, h.Serial, 10)
	for _, text := range []string{h.Lineage, h.TerraformVersion, string(h.More)} {
		b = strconv.AppendQuote(append(b, ' '), text)
	}
	h.digest = string(store.Digest(append(b, h.sum.Bytes()...)))
}

// damaged begins the version of a state whose rows are others than those that were written.
const damaged = "damaged-"

func (h *header) version() store.Version {
	if h.number == 0 || !bytes.HasPrefix(h.place, []byte(inRows)) {
		return ""
	}
	return store.Version(fmt.Sprintf("%d-%s", h.number, h.digest))
}

// heading is the request for a header: of the latest writing, or of that with a serial. The place of a document is cut
// to what tells what it is, so that it is not read for that.
func (s *rowStore) heading(workspace, serial string, h *header) request {
	sql := `SELECT left(s.data, 100), v.number, v.digest, v.document, v.size, v.serial, v.lineage, v.terraform_version, v.more, v.sum FROM ` + s.table + ` s
LEFT JOIN LATERAL (SELECT * FROM ` + s.versions() + ` v WHERE v.state = s.id AND ($2 = '' OR v.serial::text = $2) ORDER BY v.number DESC LIMIT 1) v ON true WHERE s.name = $1`
	return request{sql: sql, args: [][]byte{[]byte(workspace), []byte(serial)}, row: func(c [][]byte) {
		h.place, h.digest, h.document = append([]byte{}, c[0]...), string(c[2]), bytes.Clone(c[3])
		h.number, _ = strconv.ParseInt(string(c[1]), 10, 64)
		h.size, _ = strconv.Atoi(string(c[4]))
		h.Serial, _ = strconv.ParseUint(string(c[5]), 10, 64)
		h.Lineage, h.TerraformVersion, h.More = string(c[6]), string(c[7]), bytes.Clone(c[8])
		h.sum, h.summed = rows.SumOf(unhex(c[9]))
	}}
}

// unhex reads a column of bytes in the text format of PostgreSQL; nil for none.
func unhex(text []byte) []byte {
	out, err := hex.AppendDecode(nil, bytes.TrimPrefix(text, []byte(`\x`)))
	if err != nil {
		return nil
	}
	return out
}

func begin(mode string) request { return request{sql: "BEGIN ISOLATION LEVEL " + mode} }

// Get implements store.Store: the document is made of one snapshot.
func (s *rowStore) Get(ctx context.Context, workspace string) ([]byte, store.Version, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, "", err
	}
	data, h, err := s.read(ctx, selected{workspace: workspace})
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

// selected is what is read: the latest state, or that with a serial, or a part of the latest.
type selected struct {
	workspace, serial string
	part              []string // resources; nil: all
}

// read makes a document. It is nil where there is none.
func (s *rowStore) read(ctx context.Context, of selected) ([]byte, header, error) {
	var h header
	var out bytes.Buffer
	var join *rows.Joiner
	var sum rows.Sum
	var part *partSums
	err := s.use(ctx, func(conn *pgconn.PgConn) error {
		h, sum, part = header{}, rows.Sum{}, newPartSums(of.part)
		out.Reset()
		join = rows.NewJoiner(&out)
		err := batch(ctx, conn, s.reading(of, &h, &out, part, func(k rows.Kind, cells [][]byte) {
			join.Head(h.Head)
			join.Row(k, cells)
			switch {
			case !h.summed:
			case of.part == nil:
				sum.Add(rows.DigestOf(k, cells))
			default:
				part.add(stampName(k, cells), rows.DigestOf(k, cells))
			}
		}))
		return errors.Join(err, s.rollback(ctx, conn, err))
	})
	missing := of.serial == "" && h.number == 0 && bytes.HasPrefix(h.place, []byte(inRows))
	switch {
	case err != nil:
		return nil, h, s.shape(err)
	case missing && s.layout(of.workspace, h.place) == nil:
		// What says which rows were written is gone: all that the state has would be created again.
	case h.number == 0 || of.serial == "" && h.version() == "":
		return nil, h, nil
	case h.document != nil:
		return h.document, h, nil
	}
	join.Head(h.Head)
	if err := join.Close(); err != nil {
		return nil, h, err
	}
	got := header{Head: h.Head, sum: sum}
	if !h.summed {
		got.document = out.Bytes()
	}
	got.seal()
	if missing || of.part == nil && got.digest != h.digest || of.part != nil && h.summed && !part.intact() {
		err := &store.DamagedError{
			Err:     errRows(of.workspace, h.Serial),
			Version: damaged + h.version(), Data: out.Bytes(),
		}
		if missing {
			err.Err = fmt.Errorf("the state of workspace %q is in rows, and what was written of it is not in the table %s any more: it was removed by another program", of.workspace, s.versions())
		}
		return nil, h, err
	}
	return out.Bytes(), h, nil
}

func errRows(workspace string, serial uint64) error {
	return fmt.Errorf("the rows of workspace %q with the serial %d do not make the state that was written: they were changed by another program, or a part of them is gone", workspace, serial)
}

// reading are the requests for a document.
func (s *rowStore) reading(of selected, h *header, out *bytes.Buffer, part *partSums, row func(rows.Kind, [][]byte)) iter.Seq[request] {
	return func(yield func(request) bool) {
		head := s.heading(of.workspace, of.serial, h)
		fill := head.row
		head.row = func(c [][]byte) {
			fill(c)
			if of.part == nil {
				out.Grow(h.size + bytes.MinRead)
			}
		}
		// What is sorted is sent at once: room for it makes that two times as fast.
		if !yield(begin("REPEATABLE READ READ ONLY")) || !yield(request{sql: "SET LOCAL work_mem = '64MB'"}) || !yield(head) {
			return
		}
		if of.part != nil && !yield(s.listing(of.workspace, part.known)) {
			return
		}
		from, when := ` t JOIN `+s.table+` s ON s.id = t.state WHERE s.name = $1 AND starts_with(s.data, $2) AND `, `t.until IS NULL`
		args := [][]byte{[]byte(of.workspace), []byte(inRows)}
		if of.serial != "" {
			from = ` t JOIN ` + s.table + ` s ON s.id = t.state JOIN LATERAL (SELECT max(number) AS number FROM ` + s.versions() + ` WHERE state = s.id AND serial::text = $2) v ON true WHERE s.name = $1 AND `
			when = `t.since <= v.number AND (t.until IS NULL OR t.until > v.number)`
			args[1] = []byte(of.serial)
		}
		for k, t := range rows.Tables {
			r := request{sql: `SELECT ` + columns(t) + ` FROM ` + s.part(rows.Kind(k)) + from + when, args: args, row: func(c [][]byte) { row(rows.Kind(k), c) }}
			if of.part != nil && rows.Kind(k) == rows.Objects {
				r.sql += ` AND ` + within(3)
				r.args, r.arrays = append(args[:2:2], resourceArgs(of.part)...), 2
			}
			r.sql += ` ORDER BY t.` + strings.ReplaceAll(t.Order, ", ", ", t.")
			if !yield(r) {
				return
			}
		}
		yield(request{sql: "COMMIT"})
	}
}

// listing is the request for what there is of each resource.
func (s *rowStore) listing(workspace string, to map[string]known) request {
	return request{sql: `SELECT r.resource, r.sum, r.stamp FROM ` + s.resources() + ` r JOIN ` + s.table + ` s ON s.id = r.state WHERE s.name = $1`, args: [][]byte{[]byte(workspace)}, row: func(c [][]byte) {
		sum, _ := rows.SumOf(unhex(c[1]))
		to[string(c[0])] = known{sum, string(c[2])}
	}}
}

// within is the condition that an object is of some resources, given by the arguments from the nth on: resourceArgs.
func within(n int) string {
	return fmt.Sprintf(`left(t.resource, 200) = ANY ($%d::text[]) AND t.resource = ANY ($%d::text[])`, n, n+1)
}

func resourceArgs(resources []string) [][]byte {
	var begin, all array
	for _, r := range resources {
		all.add([]byte(r))
		if runes := []rune(r); len(runes) > 200 {
			r = string(runes[:200])
		}
		begin.add([]byte(r))
	}
	return [][]byte{begin.arg(textType), all.arg(textType)}
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

// Delete implements store.Store.
func (s *rowStore) Delete(ctx context.Context, workspace string) error {
	if err := store.Deletable(workspace); err != nil {
		return err
	}
	args := [][]byte{[]byte(workspace), []byte(inRows)}
	const ours = `s.name = $1 AND (coalesce(s.data, '') = '' OR starts_with(s.data, $2))`
	var place []byte
	requests := []request{begin("READ COMMITTED"), {sql: `SELECT left(data, 100) FROM ` + s.table + ` WHERE name = $1 FOR UPDATE`, args: args[:1], row: func(c [][]byte) { place = bytes.Clone(c[0]) }}}
	for _, table := range append([]string{s.versions(), s.resources()}, s.part(rows.Objects), s.part(rows.Outputs), s.part(rows.Checks)) {
		requests = append(requests, request{sql: `DELETE FROM ` + table + ` t USING ` + s.table + ` s WHERE t.state = s.id AND ` + ours, args: args})
	}
	requests = append(requests, request{sql: `DELETE FROM ` + s.journals() + ` t USING ` + s.table + ` s WHERE t.workspace = s.name AND ` + ours, args: args})
	requests = append(requests, request{sql: `DELETE FROM ` + s.table + ` s WHERE ` + ours, args: args}, request{sql: `COMMIT`})
	err := s.use(ctx, func(conn *pgconn.PgConn) error {
		err := batch(ctx, conn, slices.Values(requests))
		return errors.Join(err, s.rollback(ctx, conn, err))
	})
	return cmp.Or(s.shape(err), s.layout(workspace, place))
}
