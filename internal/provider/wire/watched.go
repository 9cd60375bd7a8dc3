package wire

import (
	"context"
	"path"
	"time"

	"google.golang.org/grpc"
)

// Call is a call to a provider that is over.
type Call struct {
	Method string // "ApplyResourceChange"
	Type   string // of the object; "" where it is about none
	Took   time.Duration
	Failed bool // there was no answer; errors in an answer are none here
}

// watched is a connection whose calls are noted: what was called, for which type, and how long it took. Nothing that is
// sent or answered is.
type watched struct {
	grpc.ClientConnInterface
	called func(Call)
}

// Invoke makes a call.
func (w watched) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	begun := time.Now()
	err := w.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
	c := Call{Method: path.Base(method), Took: time.Since(begun), Failed: err != nil}
	if about, ok := args.(interface{ GetTypeName() string }); ok {
		c.Type = about.GetTypeName()
	}
	w.called(c)
	return err
}
