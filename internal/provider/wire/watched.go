package wire

import (
	"context"
	"io"
	"path"
	"sync"
	"time"

	"google.golang.org/grpc"
)

// Call describes a call to a provider, for logs. The call has ended.
type Call struct {
	Method string // such as "ApplyResourceChange"
	Type   string // type of the object; "" if the call is not about an object
	Took   time.Duration
	Failed bool // the call got no answer; false for an answer with errors
}

// watched is a connection that reports its calls: the method, the type and the duration, but no content.
type watched struct {
	grpc.ClientConnInterface
	called func(Call)
}

// Invoke makes a call.
func (w watched) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	started := time.Now()
	err := w.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
	w.note(method, args, started, err)
	return err
}

// NewStream begins a call with several answers or requests.
func (w watched) NewStream(ctx context.Context, d *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := w.ClientConnInterface.NewStream(ctx, d, method, opts...)
	if err != nil {
		return nil, err
	}
	return &watchedStream{ClientStream: s, w: w, method: method, started: time.Now()}, nil
}

// watchedStream is a call with several answers or requests. It is reported when the stream or its context ends.
type watchedStream struct {
	grpc.ClientStream
	w       watched
	method  string
	started time.Time
	request any
	once    sync.Once
}

// SendMsg sends a request. The first request determines the type in the report.
func (s *watchedStream) SendMsg(m any) error {
	if s.request != nil {
		return s.ClientStream.SendMsg(m)
	}
	s.request = m
	context.AfterFunc(s.Context(), func() { s.ended(nil) })
	return s.ClientStream.SendMsg(m)
}

// RecvMsg reads the next answer.
func (s *watchedStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil {
		s.ended(err)
	}
	return err
}

func (s *watchedStream) ended(err error) {
	s.once.Do(func() {
		if err == io.EOF {
			err = nil
		}
		s.w.note(s.method, s.request, s.started, err)
	})
}

func (w watched) note(method string, request any, started time.Time, err error) {
	c := Call{Method: path.Base(method), Took: time.Since(started), Failed: err != nil}
	if about, ok := request.(interface{ GetTypeName() string }); ok {
		c.Type = about.GetTypeName()
	} else if about, ok := request.(interface{ GetActionType() string }); ok {
		c.Type = about.GetActionType()
	}
	w.called(c)
}
