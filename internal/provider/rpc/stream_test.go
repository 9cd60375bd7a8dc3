package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/lethe-iac/lethe/internal/provider/rpc"
)

// begin starts a stream and sends the request.
func begin(t *testing.T, ctx context.Context, c *rpc.Conn, request any) grpc.ClientStream {
	t.Helper()
	st, err := c.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
	if err == nil {
		err = st.SendMsg(request)
	}
	if err == nil {
		err = st.CloseSend()
	}
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// drain reads a stream to its end.
func drain(st grpc.ClientStream) (sizes []int, err error) {
	for {
		var m wrapperspb.BytesValue
		if err := st.RecvMsg(&m); err != nil {
			return sizes, err
		}
		sizes = append(sizes, len(m.Value))
	}
}

// TestStreamOfAnswers checks that answers of all sizes arrive whole and in order. Some are larger than the window of
// the server.
func TestStreamOfAnswers(t *testing.T) {
	want := []int{0, 1, 16379, 1 << 20, 5, 20 << 20, 3 << 20, 0, 7}
	c := serve(t, func(st grpc.ServerStream) error {
		var m wrapperspb.StringValue
		if err := st.RecvMsg(&m); err != nil || m.Value != "all" {
			return errors.Join(err, errors.New("the request was "+m.Value))
		}
		for i, n := range want {
			if err := st.SendMsg(&wrapperspb.BytesValue{Value: bytes.Repeat([]byte{byte(i)}, n)}); err != nil {
				return err
			}
		}
		return nil
	})
	st := begin(t, context.Background(), c, &wrapperspb.StringValue{Value: "all"})
	for i, n := range want {
		var m wrapperspb.BytesValue
		if err := st.RecvMsg(&m); err != nil || !bytes.Equal(m.Value, bytes.Repeat([]byte{byte(i)}, n)) {
			t.Fatalf("answer %d: %d bytes, %v", i, len(m.Value), err)
		}
	}
	for range 2 {
		if err := st.RecvMsg(&emptypb.Empty{}); err != io.EOF {
			t.Errorf("after the last answer: %v", err)
		}
	}
	if err := st.SendMsg(&emptypb.Empty{}); status.Code(err) != codes.Internal {
		t.Errorf("a second request: %v", err)
	}
}

// TestStreamFails checks that the error of a stream follows the answers before it.
func TestStreamFails(t *testing.T) {
	c := serve(t, func(st grpc.ServerStream) error {
		st.SendMsg(&wrapperspb.BytesValue{Value: []byte("one")})
		return status.Error(codes.NotFound, "no more")
	})
	sizes, err := drain(begin(t, context.Background(), c, nil))
	if len(sizes) != 1 || status.Code(err) != codes.NotFound || status.Convert(err).Message() != "no more" {
		t.Errorf("%v, %v", sizes, err)
	}
	c = serve(t, func(st grpc.ServerStream) error { return nil })
	if sizes, err := drain(begin(t, context.Background(), c, nil)); len(sizes) != 0 || err != io.EOF {
		t.Errorf("no answers: %v, %v", sizes, err)
	}
}

// TestStreamHoldsServer checks that the server waits while the client does not read its answers. Other calls on the connection
// continue.
func TestStreamHoldsServer(t *testing.T) {
	const size = 64 << 10
	var sent atomic.Int64
	c := serve(t, func(st grpc.ServerStream) error {
		var m wrapperspb.StringValue
		if err := st.RecvMsg(&m); err != nil || m.Value == "" {
			return errors.Join(err, st.SendMsg(&m))
		}
		for range 200 {
			if err := st.SendMsg(&wrapperspb.BytesValue{Value: make([]byte, size)}); err != nil {
				return err
			}
			sent.Add(size)
		}
		return nil
	})
	st := begin(t, context.Background(), c, &wrapperspb.StringValue{Value: "many"})
	var before int64
	// The test observes that nothing more is sent for a while.
	for before = -1; before != sent.Load(); time.Sleep(50 * time.Millisecond) {
		before = sent.Load()
	}
	if before > 3<<20 {
		t.Errorf("the server sent %d bytes to a caller who took none", before)
	}
	for range 20 {
		if err := c.Invoke(context.Background(), method, &wrapperspb.StringValue{}, &wrapperspb.StringValue{}); err != nil {
			t.Errorf("a call beside it: %v", err)
		}
	}
	if sizes, err := drain(st); len(sizes) != 200 || err != io.EOF {
		t.Errorf("%d answers, %v", len(sizes), err)
	}
}

// TestStreamCancelled checks that the caller and the server see at once that the call is cancelled or its deadline has
// passed.
func TestStreamCancelled(t *testing.T) {
	ended := make(chan error, 1)
	c := serve(t, func(st grpc.ServerStream) error {
		st.SendMsg(&wrapperspb.BytesValue{Value: []byte("one")})
		<-st.Context().Done()
		ended <- st.Context().Err()
		return st.Context().Err()
	})
	ctx, cancel := context.WithCancel(context.Background())
	st := begin(t, ctx, c, nil)
	if err := st.RecvMsg(&wrapperspb.BytesValue{}); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := drain(st); status.Code(err) != codes.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the server: %v", err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := drain(begin(t, ctx, c, nil)); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("with a deadline: %v", err)
	}
	<-ended
	if _, err := c.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("after the deadline: %v", err)
	}
}

// TestStreamCancelledAfterTheEnd checks that a stream that was cancelled before all answers were read ends with an
// error.
func TestStreamCancelledAfterTheEnd(t *testing.T) {
	c := serve(t, func(st grpc.ServerStream) error {
		if err := st.RecvMsg(&emptypb.Empty{}); err != nil {
			return err
		}
		return st.SendMsg(&wrapperspb.BytesValue{Value: []byte("one")})
	})
	for i := range 100 {
		ctx, cancel := context.WithCancel(context.Background())
		st := begin(t, ctx, c, nil)
		if i%2 == 0 { // in most of these cases the answer arrives before the cancellation
			time.Sleep(time.Millisecond)
		}
		cancel()
		if sizes, err := drain(st); len(sizes) == 0 && status.Code(err) != codes.Canceled {
			t.Fatalf("an answer was lost, and the stream ended with %v", err)
		}
	}
}

// TestStreamBreaks checks that a broken connection ends its streams.
func TestStreamBreaks(t *testing.T) {
	near, far := net.Pipe()
	go func() {
		buffer := make([]byte, 1<<16)
		for {
			if _, err := far.Read(buffer); err != nil {
				return
			}
		}
	}()
	c, err := rpc.New(near, false, limit)
	if err != nil {
		t.Fatal(err)
	}
	// The server sends no settings, so that the request waits.
	st, err := c.NewStream(context.Background(), &grpc.StreamDesc{ServerStreams: true}, method)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, func() { far.Close() })
	if err := st.SendMsg(nil); status.Code(err) != codes.Unavailable {
		t.Errorf("while it waits to be sent: %v", err)
	}
	if err := st.RecvMsg(nil); status.Code(err) != codes.Internal {
		t.Errorf("without a request: %v", err)
	}

	reached := make(chan bool)
	c = serve(t, func(st grpc.ServerStream) error {
		st.SendMsg(&wrapperspb.BytesValue{Value: []byte("one")})
		close(reached)
		<-st.Context().Done()
		return nil
	})
	st = begin(t, context.Background(), c, nil)
	<-reached
	time.AfterFunc(10*time.Millisecond, func() { c.Close() })
	if sizes, err := drain(st); len(sizes) > 1 || status.Code(err) != codes.Canceled {
		t.Errorf("%v, %v", sizes, err)
	}
}

// upload begins a call with many requests.
func upload(t *testing.T, ctx context.Context, c *rpc.Conn) grpc.ClientStream {
	t.Helper()
	st, err := c.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, method)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// TestStreamOfRequests checks that requests of all sizes arrive whole and in order, and that other calls continue.
func TestStreamOfRequests(t *testing.T) {
	want := []int{0, 1, 16379, 1 << 20, 5, 20 << 20, 3 << 20, 0, 7}
	c := serve(t, func(st grpc.ServerStream) error {
		for i := 0; ; i++ {
			var m wrapperspb.BytesValue
			switch err := st.RecvMsg(&m); {
			case err == io.EOF:
				return st.SendMsg(&wrapperspb.Int64Value{Value: int64(i)})
			case err != nil:
				return err
			case string(m.Value) == "alone":
				return st.SendMsg(&m)
			case !bytes.Equal(m.Value, bytes.Repeat([]byte{byte(i)}, want[i])):
				return status.Errorf(codes.DataLoss, "request %d has %d bytes", i, len(m.Value))
			}
		}
	})
	st := upload(t, context.Background(), c)
	for i, n := range want {
		if err := st.SendMsg(&wrapperspb.BytesValue{Value: bytes.Repeat([]byte{byte(i)}, n)}); err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		if err := c.Invoke(context.Background(), method, &wrapperspb.BytesValue{Value: []byte("alone")}, nil); err != nil {
			t.Errorf("a call beside it: %v", err)
		}
	}
	var answer wrapperspb.Int64Value
	if err := errors.Join(st.CloseSend(), st.RecvMsg(&answer)); err != nil || answer.Value != int64(len(want)) {
		t.Errorf("%d, %v", answer.Value, err)
	}
}

// TestStreamOfRequestsFails checks that the error of a server that stops reading reaches the caller, who may still
// send.
func TestStreamOfRequestsFails(t *testing.T) {
	c := serve(t, func(st grpc.ServerStream) error { return status.Error(codes.NotFound, "no more") })
	st := upload(t, context.Background(), c)
	var err error
	for n := 0; err == nil; n++ {
		if n > 1000 {
			t.Fatal("the caller may send forever")
		}
		err = st.SendMsg(&wrapperspb.BytesValue{Value: make([]byte, 1<<20)})
	}
	if err != io.EOF {
		t.Errorf("sending: %v", err)
	}
	if err := st.RecvMsg(&emptypb.Empty{}); status.Code(err) != codes.NotFound {
		t.Errorf("the answer: %v", err)
	}
}

// TestStreamOfRequestsCancelled checks that the end of the context ends the sending and the waiting for the answer.
func TestStreamOfRequestsCancelled(t *testing.T) {
	ended := make(chan error, 2)
	c := serve(t, func(st grpc.ServerStream) error {
		<-st.Context().Done()
		ended <- st.Context().Err()
		return nil
	})
	for _, send := range []bool{true, false} {
		ctx, cancel := context.WithCancel(context.Background())
		st := upload(t, ctx, c)
		time.AfterFunc(20*time.Millisecond, cancel)
		var err error
		for send && err == nil {
			err = st.SendMsg(&wrapperspb.BytesValue{Value: make([]byte, 1<<20)})
		}
		if send && status.Code(err) != codes.Canceled {
			t.Errorf("sending: %v", err)
		}
		if err := st.RecvMsg(&emptypb.Empty{}); status.Code(err) != codes.Canceled {
			t.Errorf("receiving: %v", err)
		}
		if err := <-ended; err == nil {
			t.Error("the server has not noticed the end")
		}
	}
}
