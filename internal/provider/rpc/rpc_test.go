package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that grpc-go finds by its name
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider/rpc"
)

const (
	method = "/test.Test/Call"
	limit  = 64 << 20
)

// serve starts a grpc-go server that answers every call with f.
func serve(t testing.TB, f func(grpc.ServerStream) error, o ...grpc.ServerOption) *rpc.Conn {
	t.Helper()
	l := bufconn.Listen(1 << 16)
	s := grpc.NewServer(append(o, grpc.UnknownServiceHandler(func(_ any, st grpc.ServerStream) error { return f(st) }), grpc.MaxRecvMsgSize(limit))...)
	go s.Serve(l)
	t.Cleanup(s.Stop)
	pipe, err := l.Dial()
	if err != nil {
		t.Fatal(err)
	}
	c, err := rpc.New(pipe, false, limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// echo returns the request.
func echo(st grpc.ServerStream) error {
	var m wrapperspb.BytesValue
	if err := st.RecvMsg(&m); err != nil {
		return err
	}
	return st.SendMsg(&m)
}

// TestMessagesOfAllSizes sends messages of all sizes at the same time to a server with small windows.
func TestMessagesOfAllSizes(t *testing.T) {
	c := serve(t, echo, grpc.MaxConcurrentStreams(7), grpc.InitialWindowSize(1<<16), grpc.InitialConnWindowSize(1<<16))
	var all sync.WaitGroup
	for i := range 25 {
		all.Go(func() {
			for _, n := range []int{0, 1, i, 16379, 16384, 70_000 + i, 1_500_000} {
				want := bytes.Repeat([]byte{byte(i), byte(n)}, n/2+1)
				var got wrapperspb.BytesValue
				if err := c.Invoke(context.Background(), method, &wrapperspb.BytesValue{Value: want}, &got); err != nil {
					t.Errorf("%d bytes: %v", n, err)
				} else if !bytes.Equal(got.Value, want) {
					t.Errorf("%d bytes came back as others", n)
				}
			}
		})
	}
	all.Wait()
}

// TestRaw checks that a caller can receive an answer as bytes, or ignore it.
func TestRaw(t *testing.T) {
	c := serve(t, func(st grpc.ServerStream) error {
		if err := st.RecvMsg(&emptypb.Empty{}); err != nil {
			return err
		}
		return st.SendMsg(&wrapperspb.StringValue{Value: "text"})
	})
	var raw []byte
	if err := c.Invoke(context.Background(), method, nil, &raw); err != nil || string(raw) != "\n\x04text" {
		t.Errorf("%q, %v", raw, err)
	}
	if err := c.Invoke(context.Background(), method, nil, nil); err != nil {
		t.Error(err)
	}
	if string(raw) != "\n\x04text" {
		t.Errorf("the answer changed afterwards: %q", raw)
	}
}

func TestErrors(t *testing.T) {
	text := "it is 100% broken:\n„völlig“"
	c := serve(t, func(st grpc.ServerStream) error { return status.Error(codes.FailedPrecondition, text) })
	err := c.Invoke(context.Background(), method, nil, nil)
	if st := status.Convert(err); st.Code() != codes.FailedPrecondition || st.Message() != text {
		t.Errorf("got %v", err)
	}
	text = strings.Repeat("%", 2<<20) // each takes three bytes
	if err := c.Invoke(context.Background(), method, nil, nil); status.Convert(err).Message() != text {
		t.Errorf("got %.100v", err)
	}
	c = serve(t, func(st grpc.ServerStream) error { return nil })
	if err := c.Invoke(context.Background(), method, nil, nil); status.Code(err) != codes.Internal {
		t.Errorf("no message: %v", err)
	}
	c = serve(t, func(st grpc.ServerStream) error {
		st.SendMsg(&wrapperspb.StringValue{Value: "one"})
		return st.SendMsg(&wrapperspb.StringValue{Value: "two"})
	})
	if err := c.Invoke(context.Background(), method, nil, nil); status.Code(err) != codes.Internal {
		t.Errorf("two messages: %v", err)
	}
	if _, err := c.NewStream(context.Background(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method); status.Code(err) != codes.Unimplemented {
		t.Errorf("streams in both directions: %v", err)
	}
}

func TestLimits(t *testing.T) {
	c := serve(t, func(st grpc.ServerStream) error {
		if err := st.RecvMsg(&emptypb.Empty{}); err != nil {
			return err
		}
		return st.SendMsg(&wrapperspb.BytesValue{Value: make([]byte, limit+1)})
	})
	for _, request := range []any{nil, &wrapperspb.BytesValue{Value: make([]byte, limit+1)}} {
		if err := c.Invoke(context.Background(), method, request, nil); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("got %v", err)
		}
	}
}

// TestCancelledCall checks that a cancelled call returns at once in every phase, and that the server sees the
// cancellation. Other calls continue.
func TestCancelledCall(t *testing.T) {
	ended := make(chan error, 10)
	read := make(chan bool)
	c := serve(t, func(st grpc.ServerStream) error {
		var m wrapperspb.BytesValue
		if <-read {
			if err := st.RecvMsg(&m); err == nil && len(m.Value) == 1 {
				return st.SendMsg(&m)
			}
		}
		<-st.Context().Done() // the message may have failed to arrive before the cancellation
		ended <- st.Context().Err()
		return st.Context().Err()
	})
	for name, big := range map[string]int{"waiting for an answer": 10, "waiting to send": 10 << 20} {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- c.Invoke(ctx, method, &wrapperspb.BytesValue{Value: make([]byte, big)}, nil) }()
		read <- big == 10
		cancel()
		if err := <-done; status.Code(err) != codes.Canceled {
			t.Errorf("%s: %v", name, err)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the server: %v", name, err)
		}
		go func() { read <- true }()
		if err := c.Invoke(context.Background(), method, &wrapperspb.BytesValue{Value: []byte("x")}, nil); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	go func() { read <- false }()
	if err := c.Invoke(ctx, method, nil, nil); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("with a deadline: %v", err)
	}
	if err := c.Invoke(ctx, method, nil, nil); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("after the deadline: %v", err)
	}
}

func TestListen(t *testing.T) {
	c := serve(t, func(st grpc.ServerStream) error {
		for i := range 1000 {
			if err := st.SendMsg(&wrapperspb.StringValue{Value: fmt.Sprint("line ", i)}); err != nil {
				return err
			}
		}
		return nil
	})
	var got []string
	if err := c.Listen(context.Background(), method, func(m []byte) { got = append(got, string(m[2:])) }); err != nil {
		t.Error(err)
	}
	if len(got) != 1000 || got[999] != "line 999" {
		t.Errorf("%d messages, the last %q", len(got), got[len(got)-1])
	}
}

// TestBreak checks that a broken connection fails the calls in progress and all later calls.
func TestBreak(t *testing.T) {
	s, peer := script(t)
	done := make(chan error)
	go func() { done <- s.Invoke(context.Background(), method, nil, nil) }()
	peer.request(t)
	peer.net.Close()
	if err := <-done; status.Code(err) != codes.Unavailable {
		t.Errorf("under way: %v", err)
	}
	if err := s.Invoke(context.Background(), method, nil, nil); status.Code(err) != codes.Unavailable {
		t.Errorf("afterwards: %v", err)
	}
	s, _ = script(t)
	s.Close()
	if err := s.Invoke(context.Background(), method, nil, nil); status.Code(err) != codes.Canceled {
		t.Errorf("after Close: %v", err)
	}
}

// TestDialWaitsForSettings checks that Dial fails if the server sends nothing before the context ends, or ends the
// connection.
func TestDialWaitsForSettings(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		c, _ := l.Accept()
		c.Read(make([]byte, len(http2.ClientPreface)))
		cancel()
		c, _ = l.Accept()
		c.Close()
	}()
	if _, err := rpc.Dial(ctx, l.Addr(), nil, limit); status.Code(err) != codes.Canceled {
		t.Errorf("a mute server: %v", err)
	}
	if _, err := rpc.Dial(context.Background(), l.Addr(), nil, limit); status.Code(err) != codes.Unavailable {
		t.Errorf("a server that ends the connection: %v", err)
	}
}

// peer is a server that sends the frames of a test.
type peer struct {
	net  net.Conn
	f    *http2.Framer
	h    *hpack.Encoder
	head bytes.Buffer
}

func script(t testing.TB) (*rpc.Conn, *peer) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn)
	go func() { c, _ := l.Accept(); accepted <- c }()
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := rpc.New(near, false, limit)
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{net: <-accepted}
	p.f, p.h = http2.NewFramer(p.net, p.net), hpack.NewEncoder(&p.head)
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := p.net.Read(preface); err != nil || string(preface) != http2.ClientPreface {
		t.Fatalf("%q, %v", preface, err)
	}
	p.f.WriteSettings()
	t.Cleanup(func() { c.Close(); p.net.Close() })
	return c, p
}

// request waits for the next request and returns its stream.
func (p *peer) request(t testing.TB) uint32 {
	t.Helper()
	for {
		f, err := p.f.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := f.(*http2.DataFrame); ok && d.StreamEnded() {
			return d.StreamID
		}
	}
}

func (p *peer) block(pairs ...string) []byte {
	p.head.Reset()
	for i := 0; i < len(pairs); i += 2 {
		p.h.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return bytes.Clone(p.head.Bytes())
}

func (p *peer) headers(id uint32, end bool, pairs ...string) {
	p.f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.block(pairs...), EndStream: end, EndHeaders: true})
}

// answer sends a complete answer: the headers, the message "hi" and the trailers.
func (p *peer) answer(id uint32) {
	p.headers(id, false, ":status", "200", "content-type", "application/grpc")
	p.f.WriteData(id, false, []byte("\x00\x00\x00\x00\x02hi"))
	p.headers(id, true, "grpc-status", "0")
}

// TestScripts checks the result of a call for valid and invalid behaviour of a server.
func TestScripts(t *testing.T) {
	for name, c := range map[string]struct {
		play func(p *peer, id uint32)
		code codes.Code
		text string
	}{
		"a plain answer": {func(p *peer, id uint32) { p.answer(id) }, codes.OK, ""},
		"a message in pieces, with padding": {func(p *peer, id uint32) {
			p.headers(id, false, ":status", "200")
			for _, b := range []byte("\x00\x00\x00\x00\x02hi") {
				p.f.WriteDataPadded(id, false, []byte{b}, make([]byte, 9))
			}
			p.headers(id, true, "grpc-status", "0")
		}, codes.OK, ""},
		"a header block in pieces": {func(p *peer, id uint32) {
			b := p.block(":status", "200", "x-long", strings.Repeat("long", 5000), "content-type", "application/grpc")
			p.f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: b[:10], PadLength: 3})
			p.f.WriteContinuation(id, false, b[10:1000])
			p.f.WriteContinuation(id, true, b[1000:])
			p.f.WriteData(id, false, []byte("\x00\x00\x00\x00\x02hi"))
			p.headers(id, true, "grpc-status", "0")
		}, codes.OK, ""},
		"pings, settings and unknown frames in between": {func(p *peer, id uint32) {
			p.f.WritePing(false, [8]byte{1})
			p.f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1}, http2.Setting{ID: 99, Val: 1})
			p.f.WriteRawFrame(0xee, 0, id, []byte("?"))
			p.answer(id)
		}, codes.OK, ""},
		"an answer to another call": {func(p *peer, id uint32) { p.answer(id + 2); p.answer(id) }, codes.OK, ""},
		"nothing but an end": {func(p *peer, id uint32) {
			p.headers(id, true, ":status", "200", "grpc-status", "5", "grpc-message", "not%20there")
		},
			codes.NotFound, "not there"},
		"a message that is no percent-encoding": {func(p *peer, id uint32) { p.headers(id, true, "grpc-status", "5", "grpc-message", "100%") },
			codes.NotFound, "100%"},
		"an end without a status": {func(p *peer, id uint32) { p.headers(id, true, ":status", "200") }, codes.Internal, "without saying"},
		"an end without trailers": {func(p *peer, id uint32) {
			p.headers(id, false, ":status", "200")
			p.f.WriteData(id, true, []byte("\x00\x00\x00\x00\x02hi"))
		}, codes.Internal, "without sending trailers"},
		"half a message": {func(p *peer, id uint32) {
			p.headers(id, false, ":status", "200")
			p.f.WriteData(id, false, []byte("\x00\x00\x00\x00\x02h"))
			p.headers(id, true, "grpc-status", "0")
		}, codes.Internal, "without a message"},
		"a compressed message": {func(p *peer, id uint32) {
			p.headers(id, false, ":status", "200")
			p.f.WriteData(id, false, []byte("\x01\x00\x00\x00\x02hi"))
		}, codes.Internal, "compressed"},
		"a web page":       {func(p *peer, id uint32) { p.headers(id, false, ":status", "502", "content-type", "text/html") }, codes.Unavailable, "502"},
		"not found":        {func(p *peer, id uint32) { p.headers(id, true, ":status", "404") }, codes.Unimplemented, "404"},
		"a reset":          {func(p *peer, id uint32) { p.f.WriteRSTStream(id, http2.ErrCodeRefusedStream) }, codes.Unavailable, "REFUSED_STREAM"},
		"a cancel":         {func(p *peer, id uint32) { p.f.WriteRSTStream(id, http2.ErrCodeCancel) }, codes.Canceled, "CANCEL"},
		"goes away before": {func(p *peer, id uint32) { p.f.WriteGoAway(id-2, http2.ErrCodeNo, []byte("tired")) }, codes.Unavailable, "tired"},
		"goes away after":  {func(p *peer, id uint32) { p.f.WriteGoAway(id, http2.ErrCodeNo, nil); p.answer(id) }, codes.OK, ""},
		"pushes": {func(p *peer, id uint32) {
			p.f.WritePushPromise(http2.PushPromiseParam{StreamID: id, PromiseID: 2, BlockFragment: p.block(":status", "200"), EndHeaders: true})
		}, codes.Unavailable, ""},
		"speaks another language": {func(p *peer, id uint32) {
			p.net.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n" + strings.Repeat(" ", 1<<15)))
		}, codes.Unavailable, ""},
		"a header block that cannot be": {func(p *peer, id uint32) {
			p.f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte{0xff, 0xff, 0xff, 0xff, 0xff}, EndHeaders: true})
		}, codes.Unavailable, ""},
	} {
		t.Run(name, func(t *testing.T) {
			conn, p := script(t)
			go func() {
				if err := conn.Invoke(context.Background(), method, nil, nil); false {
					t.Error(err)
				}
			}()
			first := p.request(t)
			p.answer(first)
			done := make(chan error)
			var got []byte
			go func() { done <- conn.Invoke(context.Background(), method, nil, &got) }()
			id := p.request(t)
			go c.play(p, id)
			err := <-done
			if st := status.Convert(err); st.Code() != c.code || !strings.Contains(st.Message(), c.text) {
				t.Errorf("got %v", err)
			}
			if err == nil && string(got) != "hi" {
				t.Errorf("the answer is %q", got)
			}
		})
	}
}

// TestGoAway checks that a server that has sent GOAWAY gets no new calls.
func TestGoAway(t *testing.T) {
	conn, p := script(t)
	done := make(chan error)
	go func() { done <- conn.Invoke(context.Background(), method, nil, nil) }()
	id := p.request(t)
	p.f.WriteGoAway(id, http2.ErrCodeNo, []byte("closing time"))
	p.f.WriteSettings()
	for { // the acknowledgement shows that the GOAWAY frame has been read
		f, err := p.f.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := f.(*http2.SettingsFrame); ok && s.IsAck() {
			break
		}
	}
	p.answer(id)
	if err := <-done; err != nil {
		t.Errorf("under way: %v", err)
	}
	for range 50 {
		err := conn.Invoke(context.Background(), method, nil, nil)
		if status.Code(err) == codes.Unavailable && strings.Contains(err.Error(), "closing time") {
			return
		}
	}
	t.Error("a new call is made")
}

// FuzzServer checks that no answer of a server causes a panic, and that the call ends.
func FuzzServer(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x00\x00\x01\x01\x05\x00\x00\x00\x01\x88"))
	f.Add([]byte("\x00\x00\x07\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x02hi"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		here, serverEnd := net.Pipe()
		go func() {
			buf := make([]byte, 1<<16)
			serverEnd.Read(buf)
			go func() {
				for {
					if _, err := serverEnd.Read(buf); err != nil {
						return
					}
				}
			}()
			serverEnd.Write(sent)
			serverEnd.Close()
		}()
		c, err := rpc.New(here, false, 1<<20)
		if err != nil {
			return
		}
		defer c.Close()
		if err := c.Invoke(context.Background(), method, nil, nil); err != nil && status.Code(err) == codes.OK {
			t.Error(err)
		}
	})
}

// TestPanic checks that a panic inside Lethe during a read fails the calls of this connection. The error does not show
// the value of the panic.
func TestPanic(t *testing.T) {
	const canary = "canary-51c7-0123456789"
	c, p := script(t)
	done := make(chan error)
	go func() { done <- c.Invoke(context.Background(), method, nil, nil) }()
	p.request(t)
	go func() { done <- c.Listen(context.Background(), method, func([]byte) { panic(canary) }) }()
	p.answer(p.request(t))
	for range 2 {
		bug(t, <-done, canary)
	}
	bug(t, c.Invoke(context.Background(), method, nil, nil), canary)

	c, _ = script(t)
	c.Go(func() error {
		var none []int
		_ = none[len(canary)]
		return nil
	})
	for {
		if err := c.Invoke(context.Background(), "/x", nil, nil); err != nil {
			bug(t, err, canary)
			if !strings.Contains(err.Error(), "index out of range") {
				t.Errorf("what the runtime says is not shown: %v", err)
			}
			return
		}
	}
}

func bug(t *testing.T, err error, canary string) {
	t.Helper()
	var b *diag.Bug
	if !errors.As(err, &b) || !strings.Contains(err.Error(), "a bug in Lethe") || !strings.Contains(err.Error(), "rpc.(*Conn)") {
		t.Errorf("want a bug, with its stack: %v", err)
	}
	if err != nil && strings.Contains(err.Error(), canary) {
		t.Errorf("the secret is shown: %v", err)
	}
}
