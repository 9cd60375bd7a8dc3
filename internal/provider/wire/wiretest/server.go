// Package wiretest is the other side of the wire: it serves any provider.Provider over gRPC, as
// protocol 5 or 6, in this process. Together with package wire it is a round trip, so that
// anything lost on the way shows as a difference between two Go values; and single calls can be
// replaced by handlers that answer with any bytes, or with an error, so that a provider that
// misbehaves is a few lines of test.
//
// The answers are those of package serve, with which the built-in provider is a plugin.
package wiretest

import (
	"context"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/rpc"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/provider/wire/serve"
)

// Server serves a provider.
type Server struct {
	Major    int // 5 or 6
	Provider provider.Provider
	// Handlers replace calls, by their names in protocol 6.
	Handlers map[string]Handler
	// Streams are the calls with many answers, by their names. Messages are *[]byte.
	Streams map[string]func(grpc.ServerStream) error

	grpc *grpc.Server
}

// Handler answers a call. Request and answer are encoded messages.
type Handler func(ctx context.Context, request []byte) (answer []byte, err error)

// Dial serves on a connection in memory until the test ends, and returns its other end. The options are in addition to
// the options of every connection.
func (s *Server) Dial(t testing.TB, more ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	l := bufconn.Listen(1 << 20)
	s.Start(l)
	t.Cleanup(s.Kill)
	opts := append(wire.DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	conn, err := grpc.NewClient("passthrough:///test", append(opts, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// Connect is Dial with package rpc, for messages of max bytes at most.
func (s *Server) Connect(t testing.TB, max int) *rpc.Conn {
	t.Helper()
	l := bufconn.Listen(1 << 20)
	s.Start(l)
	t.Cleanup(s.Kill)
	pipe, err := l.Dial()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := rpc.New(pipe, false, max)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// Start serves on a listener.
func (s *Server) Start(l net.Listener) {
	s.grpc = s.server(nil)
	go s.grpc.Serve(l)
}

func (s *Server) server(more []grpc.ServerOption) *grpc.Server {
	return grpc.NewServer(append(more, grpc.UnknownServiceHandler(s.serve), grpc.ForceServerCodecV2(serve.Codec{}),
		grpc.MaxRecvMsgSize(1<<30), grpc.MaxSendMsgSize(1<<30))...)
}

// Kill breaks the connection off, with all calls on it.
func (s *Server) Kill() { s.grpc.Stop() }

// serve answers one call.
func (s *Server) serve(_ any, stream grpc.ServerStream) error {
	full, _ := grpc.MethodFromServerStream(stream)
	if f := s.Streams[full[strings.LastIndexByte(full, '/')+1:]]; f != nil {
		return f(stream)
	}
	real := &serve.Server{Major: s.Major, Provider: s.Provider}
	name, ok := real.Name(full)
	if !ok {
		return status.Errorf(codes.Unimplemented, "unknown method %s", full)
	}
	var request []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	if serve.Streams(name) {
		return real.Stream(stream, name, request)
	}
	handler := s.Handlers[name]
	if handler == nil {
		handler = func(ctx context.Context, request []byte) ([]byte, error) { return real.Answer(ctx, name, request) }
	}
	answer, err := handler(stream.Context(), request)
	if err != nil {
		return err
	}
	return stream.SendMsg(&answer)
}

// Answer is a handler that always answers with this message.
func Answer(m proto.Message) Handler {
	b, err := proto.Marshal(m)
	return func(context.Context, []byte) ([]byte, error) { return b, err }
}

// Fail is a handler that always fails with this code.
func Fail(code codes.Code, text string) Handler {
	return func(context.Context, []byte) ([]byte, error) { return nil, status.Error(code, text) }
}
