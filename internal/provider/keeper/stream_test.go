//go:build unix

package keeper

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	listing  = "/tfplugin6.Provider/ListResource"
	invoking = "/tfplugin6.Provider/InvokeAction"
)

// streams sets the answers of the provider to ListResource and InvokeAction, the calls with a stream of answers. f
// receives the request and sends the answers.
func (w *world) streams(f func(st grpc.ServerStream, request []byte) error) {
	g := func(st grpc.ServerStream) error {
		var request []byte
		if err := st.RecvMsg(&request); err != nil {
			return err
		}
		return f(st, request)
	}
	w.server.Streams = map[string]func(grpc.ServerStream) error{"ListResource": g, "InvokeAction": g}
}

// begin starts a call with a stream of answers.
func (w *world) begin(ctx context.Context, method string) grpc.ClientStream {
	w.t.Helper()
	var c *conn
	for _, c = range w.keeper.now.providers {
	}
	st, err := c.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
	if err == nil {
		err = st.SendMsg(wrapperspb.String("all"))
	}
	if err == nil {
		err = st.CloseSend()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return st
}

// drain reads a stream to its end.
func drain(st grpc.ClientStream) (sizes []int, err error) {
	for {
		var b []byte
		if err := st.RecvMsg(&b); err != nil {
			return sizes, err
		}
		sizes = append(sizes, len(b))
	}
}

func answer(st grpc.ServerStream, n int) error {
	b := bytes.Repeat([]byte{1}, n)
	return st.SendMsg(&b)
}

// TestStream checks that answers of all sizes arrive in order through the keeper, followed by the error that ends the
// stream.
func TestStream(t *testing.T) {
	w := newWorld(t)
	want := []int{0, 1, 70_000, 5 << 20, 2, room, 0}
	w.streams(func(st grpc.ServerStream, request []byte) error {
		if !strings.HasSuffix(string(request), "all") {
			return errors.New("another request")
		}
		for _, n := range want {
			if err := answer(st, n); err != nil {
				return err
			}
		}
		return status.Error(codes.NotFound, "no more")
	})
	for _, method := range []string{listing, invoking} {
		got, err := drain(w.begin(context.Background(), method))
		if len(got) != len(want) || status.Code(err) != codes.NotFound || status.Convert(err).Message() != "no more" {
			t.Errorf("%s: %v, %v", method, got, err)
		}
		for i, n := range got {
			if n != want[i] {
				t.Errorf("%s: answer %d has %d bytes", method, i, n)
			}
		}
	}
	w.streams(func(grpc.ServerStream, []byte) error { return nil })
	if got, err := drain(w.begin(context.Background(), invoking)); len(got) != 0 || err != io.EOF {
		t.Errorf("no answers: %v, %v", got, err)
	}
	w.lose()
	w.recovered()
}

// TestStreamHoldsProvider checks that the provider waits while the caller reads no answers. Other calls continue.
func TestStreamHoldsProvider(t *testing.T) {
	const size = 64 << 10
	w := newWorld(t)
	var sent atomic.Int64
	w.streams(func(st grpc.ServerStream, _ []byte) error {
		for range 300 {
			if err := answer(st, size); err != nil {
				return err
			}
			sent.Add(size)
		}
		return nil
	})
	st := w.begin(context.Background(), invoking)
	var before int64
	// The test observes that nothing more is sent for a while.
	for before = -1; before != sent.Load(); time.Sleep(50 * time.Millisecond) {
		before = sent.Load()
	}
	if before > 6<<20 {
		t.Errorf("the provider sent %d bytes to a caller who took none", before)
	}
	if ds := w.apply(w.intend("a"), "a"); ds.HasErrors() {
		t.Error(ds)
	}
	if got, err := drain(st); len(got) != 300 || err != io.EOF {
		t.Errorf("%d answers, %v", len(got), err)
	}
	w.lose()
	w.recovered()
}

// TestStreamCancelled checks that the caller and the provider see at once that the call is cancelled or its deadline
// has passed.
func TestStreamCancelled(t *testing.T) {
	w := newWorld(t)
	ended := make(chan bool, 1)
	w.streams(func(st grpc.ServerStream, _ []byte) error {
		_ = answer(st, 1)
		<-st.Context().Done()
		ended <- true
		return st.Context().Err()
	})
	ctx, cancel := context.WithCancel(context.Background())
	st := w.begin(ctx, invoking)
	if err := st.RecvMsg(new([]byte)); err != nil {
		t.Fatal(err)
	}
	cancel() // the caller is not in RecvMsg at this time
	<-ended
	if _, err := drain(st); status.Code(err) != codes.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := drain(w.begin(ctx, invoking)); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("with a deadline: %v", err)
	}
	<-ended
	w.lose()
	w.recovered()
}

// TestStreamOfLostEngine checks streams after a crash of the engine. A stream that changes nothing is cancelled. A
// stream that changes an object runs to its end, although no process reads its answers.
func TestStreamOfLostEngine(t *testing.T) {
	w := newWorld(t)
	started, listed, invoked := make(chan bool, 2), make(chan bool, 1), make(chan bool, 1)
	w.streams(func(st grpc.ServerStream, _ []byte) error {
		started <- true
		name, _ := grpc.MethodFromServerStream(st)
		if name == listing {
			<-st.Context().Done()
			listed <- true
			return nil
		}
		for range 300 {
			if err := answer(st, 64<<10); err != nil {
				return err
			}
		}
		invoked <- true
		return nil
	})
	w.begin(context.Background(), listing)
	w.begin(context.Background(), invoking)
	<-started
	<-started
	w.lose()
	<-listed
	<-invoked
	w.recovered()
}

// TestStreamOfLostKeeper checks that a stream returns the answers that arrived, and then an error that names the
// keeper.
func TestStreamOfLostKeeper(t *testing.T) {
	w := newWorld(t)
	release := make(chan bool)
	w.streams(func(st grpc.ServerStream, _ []byte) error {
		_ = answer(st, 1)
		<-release
		return nil
	})
	st := w.begin(context.Background(), invoking)
	if err := st.RecvMsg(new([]byte)); err != nil {
		t.Fatal(err)
	}
	w.lose() // the engine and the keeper see the end of the connection
	if _, err := drain(st); status.Code(err) != codes.Unavailable {
		t.Errorf("got %v", err)
	}
	close(release) // until then the keeper waits for the call, because the call changes an object
	w.recovered()
}
