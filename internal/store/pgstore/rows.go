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
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/pgstore/rows"
)

// rowStore keeps states in rows, with the layout "rows". The row in the table "states" identifies the lock and names
// the layout. Former states are kept, too: a write does not change the content of a row. Instead, the row gets the
// number of the writing that changed or removed it. Only RewriteFormer changes the content of rows, to remove secrets.
// A writing is one write of a state; the writings of a state are numbered.
type rowStore struct{ journaling }

// Capabilities returns the optional abilities of the store. A nil member means that the store lacks the ability.
func (s *rowStore) Capabilities() store.Capabilities {
	out := s.journaling.Capabilities()
	out.NoEncryption, out.Versioner, out.Concurrent, out.Parts, out.History, out.Rewriter = s, s, s, s, s, s
	return out
}

// NoEncryption returns the reason why the store cannot keep encrypted states, as the end of a sentence.
func (s *rowStore) NoEncryption() string {
	return "layout = \"rows\" stores each object in columns, but an encrypted state is a single text"
}

// inRows is the beginning of the text that the table of states has for a state in rows. A program that expects a
// document there finds an unknown version and stops.
const (
	inRows = `{"version":5,"layout":"rows","format":`
	first  = inRows + `1}` // the text of the first format, in which the digest of a writing is the digest of the document
	marker = inRows + `2}` // the text of the present format, in which a writing has the sum of the digests of its rows
)

// layoutError reports that a state has another layout (document or rows) than the store.
type layoutError struct{ text string }

func (e *layoutError) Error() string { return e.text }

// layout returns a *layoutError if data, the entry of a workspace in the table of states, belongs to another layout
// than the layout of the store.
func (r *remote) layout(workspace string, data []byte) error {
	const move = "or move it, in its own directory, with: lethe init -migrate-state"
	in, rest := bytes.HasPrefix(data, []byte(inRows)), string(data)
	switch {
	case len(data) == 0 || in && r.o.Rows && (rest == marker || rest == first) || !in && !r.o.Rows:
		return nil
	case in && r.o.Rows:
		return &layoutError{fmt.Sprintf("the rows of workspace %q were written by a newer version of Lethe, in another format: %.100s", workspace, rest)}
	case in:
		return &layoutError{fmt.Sprintf("the state of workspace %q is stored in rows, not as a document. Set layout = \"rows\" in the settings of the backend, %s", workspace, move)}
	}
	return &layoutError{fmt.Sprintf("the state of workspace %q is stored as a document, not in rows. Set layout = \"document\" in the settings of the backend, %s", workspace, move)}
}

// header describes one writing of a state: its number, its digests, and the fields of the state that are not in rows.
type header struct {
	place    []byte // the first 100 bytes of the data in the table of states; nil if the workspace has no row there
	number   int64  // the number of the writing, from 1; 0 if no writing exists
	digest   string // identifies the content; seal computes it
	document []byte
	size     int // the size of the document, in bytes
	sum      rows.Sum
	summed   bool // sum is valid; false for documents and in the first format
	rows.Head
}

// seal computes h.digest: from the document if the document is stored whole, otherwise from the head and the sum.
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

// damaged is the beginning of the version of a damaged state: its rows differ from the rows that were written.
const damaged = "damaged-"

// version returns the version of the state with this header, or "" if the state does not exist in rows.
func (h *header) version() store.Version {
	if h.number == 0 || !bytes.HasPrefix(h.place, []byte(inRows)) {
		return ""
	}
	return store.Version(fmt.Sprintf("%d-%s", h.number, h.digest))
}

// heading returns the request that reads the header of a writing into h: the latest writing if serial is "", and
// otherwise the latest writing with that serial. If number is not "", it is the writing with that number. The request
// reads only the first 100 bytes of the data in the table of states, which are enough to recognize the layout.
func (s *rowStore) heading(workspace, serial, number string, h *header) request {
	sql := `SELECT left(s.data, 100), v.number, v.digest, v.document, v.size, v.serial, v.lineage, v.terraform_version, v.more, v.sum FROM ` + s.table + ` s
LEFT JOIN LATERAL (SELECT * FROM ` + s.versions() + ` v WHERE v.state = s.id AND ($2 = '' OR v.serial::text = $2) AND ($3 = '' OR v.number::text = $3) ORDER BY v.number DESC LIMIT 1) v ON true WHERE s.name = $1`
	return request{sql: sql, args: [][]byte{[]byte(workspace), []byte(serial), []byte(number)}, row: func(c [][]byte) {
		h.place, h.digest, h.document = append([]byte{}, c[0]...), string(c[2]), bytes.Clone(c[3])
		h.number, _ = strconv.ParseInt(string(c[1]), 10, 64)
		h.size, _ = strconv.Atoi(string(c[4]))
		h.Serial, _ = strconv.ParseUint(string(c[5]), 10, 64)
		h.Lineage, h.TerraformVersion, h.More = string(c[6]), string(c[7]), bytes.Clone(c[8])
		h.sum, h.summed = rows.SumOf(unhex(c[9]))
	}}
}

// unhex decodes a bytea column in the text format of PostgreSQL. It returns nil if the text is not hexadecimal.
func unhex(text []byte) []byte {
	out, err := hex.AppendDecode(nil, bytes.TrimPrefix(text, []byte(`\x`)))
	if err != nil {
		return nil
	}
	return out
}

func begin(mode string) request { return request{sql: "BEGIN ISOLATION LEVEL " + mode} }

// Get returns the state of a workspace and its version, or nil and "" if no state exists. It reads all rows in one
// transaction, so that they belong to one state.
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

// Version returns the version of a state without reading the state, or "" if no state exists.
func (s *rowStore) Version(ctx context.Context, workspace string) (store.Version, error) {
	if err := store.CheckName(workspace); err != nil {
		return "", err
	}
	var h header
	err := s.use(ctx, func(conn *pgconn.PgConn) error {
		h = header{}
		return batch(ctx, conn, slices.Values([]request{s.heading(workspace, "", "", &h)}))
	})
	if err == nil {
		err = s.layout(workspace, h.place)
	}
	return h.version(), s.shape(err)
}

// selected selects the state to read: the latest state, the state with a serial, or a part of the latest state.
type selected struct {
	workspace, serial string
	number            string   // the number of the writing; "" means the latest writing with the serial
	part              []string // the resources to read; nil means all
}

// read returns the document of a state, or nil if the state does not exist. If the rows differ from the rows that were
// written, the error is a *store.DamagedError.
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
		// The writing of the state is missing in the table of writings. The state is damaged, not empty: a run that took it
		// for empty would create all its objects again.
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
			err.Err = fmt.Errorf("the rows of workspace %q are no longer in the table %s: another program removed them. Restore them from a backup of the database", of.workspace, s.versions())
		}
		return nil, h, err
	}
	return out.Bytes(), h, nil
}

func errRows(workspace string, serial uint64) error {
	return fmt.Errorf("the rows of workspace %q with the serial %d do not match their digest: another program changed or removed some of them. Restore them from a backup of the database", workspace, serial)
}

// reading returns the requests that read a state in one transaction. They read the header into h, and pass the rows to
// the function row, in the order of the document. If only a part is read, they also read the sums of all resources into
// part.known. Otherwise they first grow the buffer out to the expected size of the document.
func (s *rowStore) reading(of selected, h *header, out *bytes.Buffer, part *partSums, row func(rows.Kind, [][]byte)) iter.Seq[request] {
	return func(yield func(request) bool) {
		head := s.heading(of.workspace, of.serial, of.number, h)
		fill := head.row
		head.row = func(c [][]byte) {
			fill(c)
			if of.part == nil {
				out.Grow(h.size + bytes.MinRead)
			}
		}
		// with this memory for sorting, the query takes half the time
		if !yield(begin("REPEATABLE READ READ ONLY")) || !yield(request{sql: "SET LOCAL work_mem = '64MB'"}) || !yield(head) {
			return
		}
		if of.part != nil && !yield(s.listing(of.workspace, part.known)) {
			return
		}
		from, when := ` t JOIN `+s.table+` s ON s.id = t.state WHERE s.name = $1 AND starts_with(s.data, $2) AND `, `t.until IS NULL`
		args := [][]byte{[]byte(of.workspace), []byte(inRows)}
		if of.serial != "" {
			from = ` t JOIN ` + s.table + ` s ON s.id = t.state JOIN LATERAL (SELECT max(number) AS number FROM ` + s.versions() + ` WHERE state = s.id AND serial::text = $2 AND ($3 = '' OR number::text = $3)) v ON true WHERE s.name = $1 AND `
			when = `t.since <= v.number AND (t.until IS NULL OR t.until > v.number)`
			args = append(args[:1], []byte(of.serial), []byte(of.number))
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

// listing returns the request that reads the sums and stamps of all resources of a state into a map.
func (s *rowStore) listing(workspace string, to map[string]known) request {
	return request{sql: `SELECT r.resource, r.sum, r.stamp FROM ` + s.resources() + ` r JOIN ` + s.table + ` s ON s.id = r.state WHERE s.name = $1`, args: [][]byte{[]byte(workspace)}, row: func(c [][]byte) {
		sum, _ := rows.SumOf(unhex(c[1]))
		to[string(c[0])] = known{sum, string(c[2])}
	}}
}

// within returns the SQL condition that an object belongs to one of some resources. Its two arguments, which
// resourceArgs returns, have the numbers n and n+1.
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

// columns returns the column list of a table.
func columns(t rows.Table) string {
	var names []string
	for _, c := range t.Columns {
		names = append(names, "t."+quoted(c.Name))
	}
	return strings.Join(names, ", ")
}

// rollback rolls back a transaction after an error. If the rollback fails, it closes the connection. It always returns
// nil.
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

// Delete deletes a workspace and its state. For the default workspace it returns store.ErrDefault.
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
