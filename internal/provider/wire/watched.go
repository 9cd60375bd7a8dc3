package wire

import (
	"context"
	"io"
	"path"
	"sync"
	"time"

	"google.golang.org/grpc"
)

// Call is a call to a provider that has ended.
type Call struct {
	Method string // "ApplyResourceChange"
	Type   string // of the object; "" if the call is about none
	Took   time.Duration
	Failed bool // there was no answer; errors in an answer are none here
}

// watched is a connection that notes its calls: the method, the type and the duration. It notes no content.
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

// NewStream begins a call with many answers or requests.
func (w watched) NewStream(ctx context.Context, d *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := w.ClientConnInterface.NewStream(ctx, d, method, opts...)
	if err != nil {
		return nil, err
	}
	return &watchedStream{ClientStream: s, w: w, method: method, started: time.Now()}, nil
}

// watchedStream is a call with many answers or requests that is noted when the stream ends or its caller gives it up.
type watchedStream struct {
	grpc.ClientStream
	w       watched
	method  string
	started time.Time
	request any
	once    sync.Once
}

// SendMsg sends a request. The first one is noted.
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
