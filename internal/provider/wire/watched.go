package wire

import (
	"context"
	"path"
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
	c := Call{Method: path.Base(method), Took: time.Since(started), Failed: err != nil}
	if about, ok := args.(interface{ GetTypeName() string }); ok {
		c.Type = about.GetTypeName()
	}
	w.called(c)
	return err
}
