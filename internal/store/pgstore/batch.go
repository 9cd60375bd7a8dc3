package pgstore

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"

	"github.com/jackc/pgx/v5/pgconn"
)

// request is one SQL statement of a batch, with its arguments and the functions that receive its result.
type request struct {
	sql    string
	args   [][]byte
	arrays int                         // the last n arguments are arrays in PostgreSQL's binary format
	binary bool                        // the result is requested in the binary format
	row    func(values [][]byte)       // called for each row of the result; nil: rows are ignored
	done   func(tag pgconn.CommandTag) // called at the end of the statement; nil: not needed
}

// flushAt is the number of collected bytes after which batch sends the collected statements to the server.
const flushAt = 1 << 20

// batch sends statements without waiting for the answer to each, so that a batch takes one round trip. After the first
// error, the server executes no further statement, and batch returns that error.
func batch(ctx context.Context, conn *pgconn.PgConn, requests iter.Seq[request]) error {
	p := conn.StartPipeline(ctx)
	var sent []request
	size := 0
	for r := range requests {
		formats := make([]int16, len(r.args))
		for i, a := range r.args {
			if i >= len(r.args)-r.arrays {
				formats[i] = 1
			}
			size += len(a)
		}
		var results []int16
		if r.binary {
			results = []int16{1}
		}
		p.SendQueryParams(r.sql, r.args, nil, formats, results)
		r.args = nil
		sent = append(sent, r)
		if size > flushAt {
			size = 0
			if err := p.Flush(); err != nil {
				return answered(errors.Join(err, p.Close()))
			}
		}
	}
	if err := p.Sync(); err != nil {
		return answered(errors.Join(err, p.Close()))
	}
	err := results(p, sent)
	if failed := p.Close(); err == nil {
		err = failed
	}
	return answered(err)
}

// results reads the results of the sent statements, and stops at the first error.
func results(p *pgconn.Pipeline, sent []request) error {
	for _, r := range sent {
		got, err := p.GetResults()
		if err != nil {
			return err
		}
		reader, ok := got.(*pgconn.ResultReader)
		if !ok {
			return errors.New("the server gave no answer to a statement")
		}
		for reader.NextRow() {
			if r.row != nil {
				r.row(reader.Values())
			}
		}
		tag, err := reader.Close()
		if err != nil {
			return err
		}
		if r.done != nil {
			r.done(tag)
		}
	}
	return nil
}

// array collects the elements of an array argument in the binary format of PostgreSQL. A nil element is NULL.
type array struct {
	buf []byte
	n   int
}

// textType and bytesType are PostgreSQL's OIDs (type numbers) of the types text and bytea.
const textType, bytesType = 25, 17

func (a *array) add(cell []byte) {
	a.n++
	if cell == nil {
		a.buf = binary.BigEndian.AppendUint32(a.buf, 0xffffffff)
		return
	}
	a.buf = append(binary.BigEndian.AppendUint32(a.buf, uint32(len(cell))), cell...)
}

// arg returns the array argument, with elements of the type element (an OID), and then empties a.
func (a *array) arg(element uint32) []byte {
	out := make([]byte, 0, 20+len(a.buf))
	for _, n := range []uint32{1, 1, element, uint32(a.n), 1} { // the header of an array: one dimension, NULLs are possible, the type, the length, the first index
		out = binary.BigEndian.AppendUint32(out, n)
	}
	out = append(out, a.buf...)
	a.buf, a.n = a.buf[:0], 0
	return out
}
