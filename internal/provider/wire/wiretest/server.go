// Package wiretest serves any provider.Provider over gRPC, in protocol 5 or 6, in the process of a test. If a test
// calls this server with a client of package wire, requests and answers make a round trip. So the test notices lost
// data as a difference between two Go values. A test can replace single calls by handlers that answer with any bytes,
// or with an error, to imitate a provider that breaks the protocol.
//
// The answers to all other calls come from package serve.
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

// Server serves a provider over gRPC.
type Server struct {
	Major    int // 5 or 6
	Provider provider.Provider
	// Handlers replaces calls with one answer, by their names in protocol 6.
	Handlers map[string]Handler
	// Streams has functions that answer calls instead of Provider, by the name of the call in the served protocol, such
	// as "ListResource". A function receives and sends messages of type *[]byte.
	Streams map[string]func(grpc.ServerStream) error

	grpc *grpc.Server
}

// Handler answers a call that has one answer. Request and answer are encoded messages.
type Handler func(ctx context.Context, request []byte) (answer []byte, err error)

// Dial serves on a connection in memory until the test ends, and returns the client's end as a connection of grpc-go.
// The parameter more has further options of the client.
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

// Connect serves on a connection in memory until the test ends, and returns the client's end as a connection of package
// rpc. max is the maximum length of a message in bytes.
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

// Start serves on a listener, in another goroutine, until Kill is called.
func (s *Server) Start(l net.Listener) {
	s.grpc = s.server(nil)
	go s.grpc.Serve(l)
}

func (s *Server) server(more []grpc.ServerOption) *grpc.Server {
	return grpc.NewServer(append(more, grpc.UnknownServiceHandler(s.serve), grpc.ForceServerCodecV2(serve.Codec{}),
		grpc.MaxRecvMsgSize(1<<30), grpc.MaxSendMsgSize(1<<30))...)
}

// Kill ends all connections at once, and so all running calls.
func (s *Server) Kill() { s.grpc.Stop() }

// serve answers one call, with a handler of the test or with the provider.
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

// Answer returns a handler that always answers with the message m.
func Answer(m proto.Message) Handler {
	b, err := proto.Marshal(m)
	return func(context.Context, []byte) ([]byte, error) { return b, err }
}

// Fail returns a handler that always fails with the given code and text.
func Fail(code codes.Code, text string) Handler {
	return func(context.Context, []byte) ([]byte, error) { return nil, status.Error(code, text) }
}
