package keeper

import (
	"context"
	"encoding/binary"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lethe-iac/lethe/internal/provider/rpc"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/state/journal"
)

// NewStream begins a call with one request and several answers. If the call has no lasting effect and c has a direct
// connection to the provider, the call uses that connection. Otherwise the keeper makes the call.
func (c *conn) NewStream(ctx context.Context, d *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if c.own != nil && effectOf(method) == none {
		return c.own.NewStream(ctx, d, method)
	}
	if d.ClientStreams {
		return nil, status.Error(codes.Unimplemented, "streams of requests are not supported")
	}
	if err := ctx.Err(); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	a := &answers{OneRequest: rpc.OneRequest{Ctx: ctx}, conn: c, method: method}
	for _, o := range opts {
		if n, ok := o.(wire.Noted); ok {
			a.op = journal.Op(n.Call)
		}
	}
	return a, nil
}

// answers is the engine's side of a stream.
type answers struct {
	rpc.OneRequest
	conn         *conn
	method       string
	op           journal.Op  // number of the call in the journal; 0: not in a journal
	number       uint32      // number of the call; 0 before the request is sent
	w            *waiting    // the answers
	acknowledged uint32      // bytes that the caller has taken and that the keeper was not told about
	stop         func() bool // ends the wait for the end of the context
}

// SendMsg sends the request.
func (a *answers) SendMsg(asked any) error {
	if a.number != 0 {
		return status.Error(codes.Internal, "the request of the stream was sent already")
	}
	body, err := encoded(asked)
	if err != nil {
		return err
	}
	if a.number, a.w, err = a.conn.keeper.expect(); err != nil {
		return err
	}
	r := request{provider: a.conn.number, op: a.op, method: a.method}
	k := a.conn.keeper
	k.link.send(streamFrame, a.number, append([][]byte{r.head(0)}, body...)...)
	a.stop = context.AfterFunc(a.Ctx, func() {
		k.mu.Lock()
		delete(k.waiting, a.number)
		k.mu.Unlock()
		k.link.send(cancelFrame, a.number)
	})
	return nil
}

// RecvMsg waits for the next answer. At the end of the stream, it first returns all answers that were received, and
// then the error or io.EOF.
func (a *answers) RecvMsg(answer any) error {
	if a.number == 0 {
		return status.Error(codes.Internal, "the request of the stream was not sent")
	}
	for done := false; ; {
		if err := a.Ctx.Err(); err != nil {
			return status.FromContextError(err).Err()
		}
		b, ok := a.conn.keeper.pop(a.w)
		switch {
		case ok:
			a.took(len(b))
			return rpc.Decode(b, answer)
		case done:
			if a.stop(); a.w.err != nil {
				return a.w.err
			}
			return io.EOF
		}
		select {
		case <-a.w.more:
		case <-a.w.done:
			done = true
		case <-a.Ctx.Done():
		}
	}
}

// took adds n to the number of bytes that the caller has taken. It tells the keeper the number after each room/2 bytes.
func (a *answers) took(n int) {
	if a.acknowledged += uint32(n); a.acknowledged >= room/2 {
		a.conn.keeper.link.send(tookFrame, a.number, binary.LittleEndian.AppendUint32(nil, a.acknowledged))
		a.acknowledged = 0
	}
}

// pop removes and returns the next answer of a stream, or false if none was received.
func (k *peer) pop(w *waiting) ([]byte, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(w.queue) == 0 {
		return nil, false
	}
	b := w.queue[0]
	w.queue = w.queue[1:]
	return b, true
}
