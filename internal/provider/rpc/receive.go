package rpc

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// dispatch handles one HTTP/2 frame of the server. An error of dispatch ends the connection.
func (c *Conn) dispatch(x http2.Frame, f *http2.Framer) error {
	switch x := x.(type) {
	case *http2.HeadersFrame:
		return c.receiveHeaders(x, f)
	case *http2.DataFrame:
		return c.receiveData(x)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch x := x.(type) {
	case *http2.SettingsFrame:
		return c.receiveSettings(x)
	case *http2.WindowUpdateFrame:
		if s := c.streams[x.StreamID]; s != nil {
			s.window += int64(x.Increment)
		} else if x.StreamID == 0 {
			c.window += int64(x.Increment)
		}
		c.changed.Broadcast()
	case *http2.RSTStreamFrame:
		c.end(x.StreamID, status.Errorf(resetCode(x.ErrCode), "stream terminated by RST_STREAM with error code: %s", x.ErrCode))
	case *http2.PingFrame:
		if !x.IsAck() {
			c.out = append(appendHead(c.out, 8, http2.FramePing, http2.FlagPingAck, 0), x.Data[:]...)
			c.later()
		}
	case *http2.GoAwayFrame:
		return c.receiveGoAway(x)
	case *http2.PushPromiseFrame:
		return errors.New("the server pushes, which it was told not to")
	}
	return nil
}

// later writes the buffered frames in another goroutine, unless a goroutine is writing already. The reading goroutine
// must not wait for a write, because the server may read nothing until the client has read its answers.
func (c *Conn) later() {
	if !c.writing {
		c.Go(func() error {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.flush()
			return nil
		})
	}
}

// read reads frames of the server until the connection ends, and returns the reason of the end.
func (c *Conn) read() error {
	f := http2.NewFramer(nil, bufio.NewReaderSize(c.net, 32<<10))
	f.SetReuseFrames()
	f.SetMaxReadFrameSize(16384) // the client's settings do not permit longer frames
	for {
		x, err := f.ReadFrame()
		if err == nil {
			err = c.dispatch(x, f)
		}
		if err != nil {
			return status.Errorf(codes.Unavailable, "error reading from server: %v", err)
		}
	}
}

func (c *Conn) receiveSettings(x *http2.SettingsFrame) error {
	if x.IsAck() {
		return nil
	}
	if c.most == 0 {
		c.most = math.MaxUint32
	}
	err := x.ForeachSetting(func(s http2.Setting) error {
		switch s.ID {
		case http2.SettingInitialWindowSize:
			for _, open := range c.streams {
				open.window += int64(s.Val) - c.initial
			}
			c.initial = int64(s.Val)
		case http2.SettingMaxFrameSize:
			c.frame = int(s.Val)
		case http2.SettingMaxConcurrentStreams:
			c.most = s.Val
		}
		return s.Valid()
	})
	c.out = appendHead(c.out, 0, http2.FrameSettings, http2.FlagSettingsAck, 0)
	c.changed.Broadcast()
	c.later()
	return err
}

// receiveGoAway handles the announcement that the server ends the connection. It ends the calls that the server will
// not answer. Later new calls return an error.
func (c *Conn) receiveGoAway(x *http2.GoAwayFrame) error {
	why := fmt.Sprintf("the server goes away (%s)", x.ErrCode)
	if text := x.DebugData(); len(text) > 0 {
		why += ": " + string(text)
	}
	c.leaving = status.Error(codes.Unavailable, why)
	for id := range c.streams {
		if id > x.LastStreamID {
			c.end(id, c.leaving)
		}
	}
	return nil
}

// end ends the call on the stream id with err. It does nothing if the call has ended. The caller must hold c.mu.
func (c *Conn) end(id uint32, err error) {
	s := c.streams[id]
	if s == nil {
		return // the caller of the call no longer waits
	}
	delete(c.streams, id)
	c.changed.Broadcast()
	s.end(err)
}

// receiveData handles a frame with a part of an answer.
func (c *Conn) receiveData(x *http2.DataFrame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.got += x.Length; c.got > window/2 {
		c.out = appendUpdate(c.out, 0, c.got)
		c.got = 0
		c.later()
	}
	s := c.streams[x.StreamID]
	if s == nil {
		return nil
	}
	s.takes -= int64(x.Length)
	if err := s.append(x.Data(), c.max); err != nil {
		c.reset(x.StreamID)
		c.later()
		s.end(err)
		return nil
	}
	if len(s.queue) > 0 {
		c.changed.Broadcast()
	}
	if !x.StreamEnded() && c.allow(x.StreamID, s) {
		c.later()
	}
	if x.StreamEnded() {
		c.end(x.StreamID, status.Error(codes.Internal, "server closed the stream without sending trailers"))
	}
	return nil
}

// allow permits the server to send more on a stream if the server would otherwise have to wait. It permits the rest of
// a message, and in calls with several answers up to room bytes. It returns true if it has buffered a frame. The caller
// must hold c.mu.
func (c *Conn) allow(id uint32, s *stream) bool {
	var rest, free int64
	if len(s.answer) >= prefix && !s.answered {
		rest = int64(s.size() + prefix - len(s.answer))
	}
	if s.many {
		free = room - s.queued
	}
	more := max(rest, free) - s.takes
	if more <= 0 || rest <= s.takes && more < room/2 {
		return false
	}
	s.takes += more
	c.out = appendUpdate(c.out, id, uint32(more))
	return true
}

// append adds received bytes to the current answer, whose prefix contains the length of the message. If the stream may
// have several answers, a complete message is passed to hear or added to the queue. If a message is longer than max,
// append returns an error with the code ResourceExhausted. A compressed message, or a second message in a call with one
// answer, is an error with the code Internal.
func (s *stream) append(b []byte, max int) error {
	for len(b) > 0 {
		if s.answered {
			return status.Error(codes.Internal, "the server answered with more than one message")
		}
		if len(s.answer) < prefix {
			n := min(prefix-len(s.answer), len(b))
			s.answer = append(s.answer, b[:n]...)
			if b = b[n:]; len(s.answer) < prefix {
				return nil
			}
			if s.answer[0] != 0 {
				return status.Error(codes.Internal, "grpc: compressed flag set with identity or empty encoding")
			}
			size := s.size()
			if size > max {
				return status.Errorf(codes.ResourceExhausted, "grpc: received message larger than max (%d vs. %d)", size, max)
			}
			if cap(s.answer) < size+prefix {
				s.answer = append(make([]byte, 0, size+prefix), s.answer...)
			}
		}
		n := min(s.size()+prefix-len(s.answer), len(b))
		s.answer = append(s.answer, b[:n]...)
		b = b[n:]
		s.answered = len(s.answer) == s.size()+prefix
		if s.answered && s.hear != nil {
			s.hear(s.answer[prefix:])
			s.answer, s.answered = s.answer[:0], false
		} else if s.answered && s.many {
			s.queue, s.queued = append(s.queue, s.answer[prefix:]), s.queued+int64(len(s.answer))
			s.answer, s.answered = nil, false
		}
	}
	return nil
}

// size returns the length of the current message from its prefix, which must be complete.
func (s *stream) size() int { return int(binary.BigEndian.Uint32(s.answer[1:])) }

// receiveHeaders handles a header block before or after an answer. It must decode every block, even if the caller of
// the call no longer waits, because later blocks refer to earlier blocks.
func (c *Conn) receiveHeaders(x *http2.HeadersFrame, f *http2.Framer) error {
	c.fields = fields{}
	id, last := x.StreamID, x.StreamEnded()
	if _, err := c.decoder.Write(x.HeaderBlockFragment()); err != nil {
		return err
	}
	for whole := x.HeadersEnded(); !whole; {
		more, err := f.ReadFrame()
		if err != nil {
			return err
		}
		next, ok := more.(*http2.ContinuationFrame)
		if !ok {
			return errors.New("a header block is interrupted")
		}
		if _, err := c.decoder.Write(next.HeaderBlockFragment()); err != nil {
			return err
		}
		whole = next.HeadersEnded()
	}
	if err := c.decoder.Close(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.streams[id]
	if s == nil {
		return nil
	}
	if err := c.fields.verdict(last); err != nil {
		if !last {
			c.reset(id)
			c.later()
		}
		delete(c.streams, id)
		c.changed.Broadcast()
		s.end(err)
		return nil
	}
	switch {
	case last && !s.answered && !s.many:
		c.end(id, status.Error(codes.Internal, "the server answered without a message"))
	case last && s.many && len(s.answer) > 0:
		c.end(id, status.Error(codes.Internal, "the server ended the stream within a message"))
	case last:
		c.end(id, nil)
	}
	return nil
}

// verdict returns the result of a call from the header fields of a block: nil, or an error. last is true for the last
// block of a call. In the last block, a missing status is an error.
func (f *fields) verdict(last bool) error {
	if f.http != "" && f.http != "200" {
		n, _ := strconv.Atoi(f.http)
		return status.Errorf(httpCode(n), "unexpected HTTP status code received from server: %s", f.http)
	}
	if !last {
		return nil
	}
	if f.code == "0" {
		return nil
	}
	n, err := strconv.ParseUint(f.code, 10, 32)
	if err != nil {
		return status.Error(codes.Internal, "server closed the stream without saying how the call went")
	}
	text, err := url.PathUnescape(f.message)
	if err != nil {
		text = f.message
	}
	return status.Error(codes.Code(n), text)
}

// httpCode returns the gRPC code for an HTTP status, as the gRPC project defines it.
func httpCode(n int) codes.Code {
	switch n {
	case 400:
		return codes.Internal
	case 401:
		return codes.Unauthenticated
	case 403:
		return codes.PermissionDenied
	case 404:
		return codes.Unimplemented
	case 429, 502, 503, 504:
		return codes.Unavailable
	}
	return codes.Unknown
}

// resetCode returns the gRPC code for a stream that the server has reset.
func resetCode(e http2.ErrCode) codes.Code {
	switch e {
	case http2.ErrCodeRefusedStream:
		return codes.Unavailable
	case http2.ErrCodeCancel:
		return codes.Canceled
	case http2.ErrCodeEnhanceYourCalm:
		return codes.ResourceExhausted
	case http2.ErrCodeInadequateSecurity:
		return codes.PermissionDenied
	}
	return codes.Internal
}
