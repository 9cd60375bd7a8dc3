package pgstore

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"

	"github.com/jackc/pgx/v5/pgconn"
)

// request is a statement of a batch.
type request struct {
	sql    string
	args   [][]byte
	arrays int                         // how many of the last arguments are arrays, in the binary format
	binary bool                        // the result is to be in that
	row    func(values [][]byte)       // takes each row of the result; nil: they are of no interest
	done   func(tag pgconn.CommandTag) // may be nil
}

// flushAt is how much is collected before it is sent.
const flushAt = 1 << 20

// batch sends statements without waiting for the answer to each: a batch is one round trip, however many there are.
// After the first that fails no other is carried out; its error is that of the batch.
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

// results reads what came of statements that were sent.
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

// array is an argument that is an array, in the binary format of PostgreSQL. The type of its elements is text.
type array struct {
	buf []byte
	n   int
}

const textType, bytesType = 25, 17

func (a *array) add(cell []byte) {
	a.n++
	if cell == nil {
		a.buf = binary.BigEndian.AppendUint32(a.buf, 0xffffffff)
		return
	}
	a.buf = append(binary.BigEndian.AppendUint32(a.buf, uint32(len(cell))), cell...)
}

// arg gives the argument, and begins anew.
func (a *array) arg(element uint32) []byte {
	out := make([]byte, 0, 20+len(a.buf))
	for _, n := range []uint32{1, 1, element, uint32(a.n), 1} { // one dimension, NULLs, the type, the length, the first index
		out = binary.BigEndian.AppendUint32(out, n)
	}
	out = append(out, a.buf...)
	a.buf, a.n = a.buf[:0], 0
	return out
}
