package rpc

import (
	"context"
	"io"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// NewStream begins a call with one request and several answers, or with several requests and one answer. Several
// requests and several answers are not supported. Header and Trailer return nothing.
//
// In a call with several answers, SendMsg sends the request and ends the sending. RecvMsg returns the next answer, and
// io.EOF after the last. The caller must read until RecvMsg fails, or cancel the context, because otherwise the server
// waits.
//
// In a call with several requests, CloseSend ends the requests, and RecvMsg waits for the answer. If the call has ended
// before, SendMsg returns io.EOF, and RecvMsg returns the reason.
//
// Requests and answers have the same types as in Invoke. Options of the call are ignored.
func (c *Conn) NewStream(ctx context.Context, d *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	if d.ClientStreams && d.ServerStreams {
		return nil, status.Error(codes.Unimplemented, "streams in both directions are not supported")
	}
	if err := ctx.Err(); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	if d.ClientStreams {
		return c.openRequests(ctx, method)
	}
	s := &stream{done: make(chan struct{}, 1), many: true}
	return &serverStream{OneRequest: OneRequest{ctx}, conn: c, stream: s, method: method, stop: func() bool { return true }}, nil
}

// serverStream is a call with one request and several answers. Its fields do not change after the request is sent.
type serverStream struct {
	OneRequest
	conn   *Conn
	stream *stream
	method string
	id     uint32
	stop   func() bool // stops the goroutine that cancels the call when its context ends
}

// SendMsg sends the request. A second call returns an error.
func (r *serverStream) SendMsg(request any) error {
	if r.id != 0 {
		return status.Error(codes.Internal, "the request of the stream was sent already")
	}
	err := r.stream.encode(request, r.conn.max)
	if err == nil {
		r.id, err = r.conn.send(r.Ctx, r.method, r.stream)
	}
	if err == nil {
		r.stop = context.AfterFunc(r.Ctx, func() {
			r.conn.mu.Lock()
			defer r.conn.mu.Unlock()
			r.conn.cancel(r.id, r.stream, status.FromContextError(r.Ctx.Err()).Err())
		})
	}
	return err
}

// cancel ends a call whose answers are not needed any more. The call fails with the error why. The caller must hold
// c.mu.
func (c *Conn) cancel(id uint32, s *stream, why error) {
	if s.ended && len(s.queue) == 0 {
		return
	}
	if s.queue, s.queued = nil, 0; s.ended {
		s.err = why // otherwise the caller would consider the received answers complete
		return
	}
	c.reset(id)
	s.end(why)
	c.flush()
}

// RecvMsg waits for the next answer and decodes it. It returns io.EOF after the last answer, or the error with which
// the server ended the call.
func (r *serverStream) RecvMsg(answer any) error {
	if r.id == 0 {
		return status.Error(codes.Internal, "the request of the stream was not sent")
	}
	b, err := r.conn.receive(r.id, r.stream)
	if err != nil {
		r.stop()
		return err
	}
	return Decode(b, answer)
}

// receive waits for an answer and returns it, encoded. At the end of the stream, it first returns all answers that were
// received, and then the error of the call or io.EOF.
func (c *Conn) receive(id uint32, s *stream) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(s.queue) == 0 && !s.ended {
		c.changed.Wait()
	}
	switch {
	case len(s.queue) > 0:
		b := s.queue[0]
		s.queue = s.queue[1:]
		s.queued -= int64(len(b) + prefix)
		if !s.ended && c.allow(id, s) {
			c.flush()
		}
		return b, nil
	case s.err != nil:
		return nil, s.err
	}
	return nil, io.EOF
}

// OneRequest has the methods of a grpc.ClientStream that are the same for all calls with one request and several
// answers. The type requests embeds it, too, but has another CloseSend.
type OneRequest struct{ Ctx context.Context }

// CloseSend does nothing, because SendMsg ends the sending. It returns nil.
func (OneRequest) CloseSend() error { return nil }

// Context returns the context of the call.
func (r OneRequest) Context() context.Context { return r.Ctx }

// Header returns nil, because providers send no headers that a caller needs.
func (OneRequest) Header() (metadata.MD, error) { return nil, nil }

// Trailer returns nil, because providers send no trailers that a caller needs.
func (OneRequest) Trailer() metadata.MD { return nil }

// requests is a call with several requests and one answer.
type requests struct {
	OneRequest
	conn   *Conn
	stream *stream
	id     uint32
}

// openRequests begins a call with several requests.
func (c *Conn) openRequests(ctx context.Context, method string) (*requests, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &stream{done: make(chan struct{}, 1)}
	id, err := c.open(ctx, method, s)
	return &requests{OneRequest{ctx}, c, s, id}, err
}

// SendMsg sends a request. It returns io.EOF if the call has ended already: RecvMsg then returns the reason.
func (r *requests) SendMsg(request any) error {
	err := r.stream.encode(request, r.conn.max)
	r.conn.mu.Lock()
	defer r.conn.mu.Unlock()
	if err == nil {
		err = r.conn.write(r.Ctx, r.id, r.stream, false)
	}
	if err == nil && r.stream.ended {
		err = io.EOF
	}
	return err
}

// CloseSend ends the requests, so that the server answers. It always returns nil.
func (r *requests) CloseSend() error {
	r.conn.mu.Lock()
	defer r.conn.mu.Unlock()
	if !r.stream.ended && r.conn.err == nil {
		r.conn.out = appendHead(r.conn.out, 0, http2.FrameData, http2.FlagDataEndStream, r.id)
		r.conn.flush()
	}
	return nil
}

// RecvMsg waits for the only answer and decodes it. It returns the error with which the call ended.
func (r *requests) RecvMsg(answer any) error {
	if _, err := r.conn.wait(r.Ctx, r.id, r.stream); err != nil {
		return err
	}
	return Decode(r.stream.answer[prefix:], answer)
}
