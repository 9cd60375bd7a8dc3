package rpc

import (
	"context"
	"encoding/binary"
	"runtime"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// prefix is the number of bytes before a message: one byte for the compression, and four for the length of the message.
const prefix = 5

// Invoke makes a call. The request is a proto.Message, an encoded message ([]byte), or nil for an empty message. The
// answer is a proto.Message, a *[]byte, which gets the encoded message, or nil if the answer is not needed.
func (c *Conn) Invoke(ctx context.Context, method string, request, answer any, _ ...grpc.CallOption) error {
	s := streams.Get().(*stream)
	if err := s.encode(request, c.max); err != nil {
		s.free()
		return err
	}
	if err := c.call(ctx, method, s); err != nil {
		return err
	}
	defer s.free()
	err := Decode(s.answer[prefix:], answer)
	if _, raw := answer.(*[]byte); raw {
		s.answer = nil // the bytes of the answer belong to the caller now
	}
	return err
}

// Decode decodes b into answer, a proto.Message, or stores b in answer, a *[]byte. If answer is nil, Decode does
// nothing. The answer may share memory with b. Bytes that are not a valid message are an error.
func Decode(b []byte, answer any) error {
	switch out := answer.(type) {
	case proto.Message:
		if err := Unmarshal(b, out); err != nil {
			return status.Errorf(codes.Internal, "grpc: failed to unmarshal the received message: %v", err)
		}
	case *[]byte:
		*out = b
	}
	return nil
}

// Listen makes a call with an empty request and a stream of answers, and calls hear for each answer. It returns nil
// after the last answer, or the error of the call. hear must neither keep its argument nor wait for other calls.
func (c *Conn) Listen(ctx context.Context, method string, hear func(message []byte)) error {
	s := streams.Get().(*stream)
	s.many, s.hear = true, hear
	if err := s.encode(nil, c.max); err != nil {
		return err
	}
	if err := c.call(ctx, method, s); err != nil {
		return err
	}
	s.free()
	return nil
}

// encode encodes the request with its prefix. It does not copy long byte fields, so the caller must not change them
// before the end of the call. max is the maximum size of a message in bytes; for larger messages encode returns an
// error with the code ResourceExhausted.
func (s *stream) encode(request any, max int) error {
	s.request = append(s.request[:0], 0, 0, 0, 0, 0)
	var err error
	switch m := request.(type) {
	case []byte:
		if len(m) >= large {
			s.more = [][]byte{m}
		} else {
			s.request = append(s.request, m...)
		}
	case proto.Message:
		if proto.Size(m) >= large {
			s.more, err = pieces(m.ProtoReflect(), inside)
		} else {
			s.request, err = proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(s.request, m)
		}
	}
	if err != nil {
		return status.Errorf(codes.Internal, "grpc: error while marshaling: %v", err)
	}
	n := len(s.request) - prefix + total(s.more)
	if n > max {
		return status.Errorf(codes.ResourceExhausted, "trying to send message larger than max (%d vs. %d)", n, max)
	}
	binary.BigEndian.PutUint32(s.request[1:], uint32(n))
	return nil
}

// call sends the request of s and waits for the answer. After an error, the caller must not use s.
func (c *Conn) call(ctx context.Context, method string, s *stream) error {
	id, err := c.send(ctx, method, s)
	if err != nil {
		return err
	}
	gaveUp, err := c.wait(ctx, id, s)
	if err != nil && !gaveUp {
		s.free()
	}
	return err
}

// wait waits for the answer to a call. gaveUp is true if ctx ended first. The reading goroutine may then still use s.
func (c *Conn) wait(ctx context.Context, id uint32, s *stream) (gaveUp bool, err error) {
	select {
	case <-s.done:
	case <-ctx.Done():
		if c.giveUp(id, s) {
			return true, status.FromContextError(ctx.Err()).Err()
		}
		<-s.done // the call ended at the same time as ctx
	}
	return false, s.err
}

// send opens a stream (an HTTP/2 stream, one for each call) and writes the only request to it. It returns the id of the
// stream.
func (c *Conn) send(ctx context.Context, method string, s *stream) (uint32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, err := c.open(ctx, method, s)
	if err != nil {
		return 0, err
	}
	return id, c.write(ctx, id, s, true)
}

// open opens a stream for a call and returns the id of the stream. It first waits until the server permits a further
// stream. The caller must hold c.mu.
func (c *Conn) open(ctx context.Context, method string, s *stream) (uint32, error) {
	if err := c.await(ctx, func() bool { return uint32(len(c.streams)) < c.most || c.leaving != nil }); err != nil {
		return 0, err
	}
	if c.leaving != nil {
		return 0, c.leaving
	}
	id := c.next
	c.next += 2
	c.streams[id] = s
	s.window, s.takes = c.initial, room
	head := c.head(method)
	c.out = appendHead(c.out, len(head), http2.FrameHeaders, http2.FlagHeadersEndHeaders, id)
	c.out = append(c.out, head...)
	return id, nil
}

// write writes a request to an open stream. last is true if it is the last request. The caller must hold c.mu.
func (c *Conn) write(ctx context.Context, id uint32, s *stream, last bool) error {
	more := s.more
	for rest := s.request; ; {
		if err := c.await(ctx, func() bool { return s.ended || c.window > 0 && s.window > 0 && len(c.out) < brim }); err != nil {
			if c.err == nil { // if c.err is set, the connection has ended
				c.reset(id)
				c.flush()
			}
			return err
		}
		if s.ended {
			break // the server has ended the call and does not need the rest of the request
		}
		n := int(min(int64(len(rest)), c.window, s.window, int64(c.frame)))
		var flags http2.Flags
		if last && n == len(rest) && len(more) == 0 {
			flags = http2.FlagDataEndStream
		}
		c.window -= int64(n)
		s.window -= int64(n)
		c.out = appendHead(c.out, n, http2.FrameData, flags, id)
		c.out = append(c.out, rest[:n]...)
		for rest = rest[n:]; len(rest) == 0 && len(more) > 0; {
			rest, more = more[0], more[1:]
		}
		if len(rest) == 0 {
			break
		}
	}
	if s.more = nil; cap(s.request) > long {
		s.request = nil // the buffer is too large to be kept
	}
	c.mu.Unlock()
	runtime.Gosched() // other goroutines may add requests, which are sent together
	c.mu.Lock()
	c.flush()
	return nil
}

// await waits until ready returns true. If it has to wait, it first sends the buffered data. It returns an error if ctx
// or the connection ends. The caller must hold c.mu; await releases it while it waits or writes.
func (c *Conn) await(ctx context.Context, ready func() bool) error {
	if err := ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	if c.err != nil || ready() {
		return c.err
	}
	c.flush()
	stop := context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changed.Broadcast()
	})
	defer stop()
	for c.err == nil && ctx.Err() == nil && !ready() {
		c.changed.Wait()
	}
	if c.err == nil && ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	return c.err
}

// giveUp cancels a call whose caller no longer waits. It returns false if the call has ended before.
func (c *Conn) giveUp(id uint32, s *stream) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.ended {
		return false
	}
	c.reset(id)
	c.flush()
	return true
}

// reset removes a call from c.streams, and buffers a frame that tells the server to stop answering the call. The caller
// must hold c.mu, and call flush afterwards.
func (c *Conn) reset(id uint32) {
	delete(c.streams, id)
	c.changed.Broadcast()
	c.out = appendHead(c.out, 4, http2.FrameRSTStream, 0, id)
	c.out = binary.BigEndian.AppendUint32(c.out, uint32(http2.ErrCodeCancel))
}
