// Package serve answers the calls of the provider protocol with a provider.Provider. It is the server for the client in
// package wire.
//
// The built-in provider lethe uses it to run as a plugin, and tests use it to check that package wire loses nothing. It
// has a separate list of the names of the calls, so that tests find wrong names in package wire.
package serve

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec "proto", which gRPC finds by its name
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Options returns the options of a gRPC server that answers all calls with s. max is the maximum size of a message in
// bytes.
func (s *Server) Options(max int) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.UnknownServiceHandler(s.serve), grpc.ForceServerCodecV2(Codec{}), grpc.MaxRecvMsgSize(max), grpc.MaxSendMsgSize(max),
	}
}

// serve answers one call of any kind. A call that protocol 6 or 5 does not define is an error.
func (s *Server) serve(_ any, stream grpc.ServerStream) error {
	full, _ := grpc.MethodFromServerStream(stream)
	name, ok := s.Name(full)
	if !ok {
		return status.Errorf(codes.Unimplemented, "unknown method %s", full)
	}
	var request []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	if streams[name] != nil {
		return s.Stream(stream, name, request)
	}
	answer, err := s.Answer(stream.Context(), name, request)
	if err != nil {
		return err
	}
	return stream.SendMsg(&answer)
}

// Answer answers a call that has one answer. name is the call's name in protocol 6, as the method Name returns it.
// Request and answer are encoded messages.
func (s *Server) Answer(ctx context.Context, name string, request []byte) ([]byte, error) {
	answer, err := calls[name](s, ctx, request)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(answer)
}

// streams has the functions for calls with several answers, by the names of the calls in protocol 6.
var streams map[string]func(s *Server, ctx context.Context, request []byte, send func(proto.Message) error) error

func init() {
	streams = map[string]func(*Server, context.Context, []byte, func(proto.Message) error) error{"ListResource": (*Server).list, "InvokeAction": (*Server).invoke}
}

// Streams reports whether a call has several answers. name is the call's name in protocol 6.
func Streams(name string) bool { return streams[name] != nil }

// Stream answers a call that has several answers. name is the call's name in protocol 6.
func (s *Server) Stream(stream grpc.ServerStream, name string, request []byte) error {
	return streams[name](s, stream.Context(), request, func(m proto.Message) error {
		b, err := proto.Marshal(m)
		if err != nil {
			return err
		}
		return stream.SendMsg(&b)
	})
}

// newNames has the names in protocol 6 of the calls that have another name in protocol 5. The keys are the names in
// protocol 5.
var newNames = map[string]string{
	"GetSchema":                  "GetProviderSchema",
	"PrepareProviderConfig":      "ValidateProviderConfig",
	"ValidateResourceTypeConfig": "ValidateResourceConfig",
	"ValidateDataSourceConfig":   "ValidateDataResourceConfig",
	"Configure":                  "ConfigureProvider",
	"Stop":                       "StopProvider",
}

// Name returns the name in protocol 6 of a call of the served protocol. full is the name of the call with its service.
// Name returns false if the call is unknown.
func (s *Server) Name(full string) (string, bool) {
	service, name, _ := strings.Cut(strings.TrimPrefix(full, "/"), "/")
	if s.Major == 6 {
		return name, service == "tfplugin6.Provider" && newNames[name] == "" && (calls[name] != nil || Streams(name))
	}
	if service != "tfplugin5.Provider" {
		return "", false
	}
	if new := newNames[name]; new != "" {
		return new, true
	}
	for _, new := range newNames {
		if new == name {
			return "", false
		}
	}
	return name, calls[name] != nil || Streams(name)
}

// Codec is a codec of gRPC that leaves messages of the type *[]byte encoded: the messages of the provider protocol. It
// encodes and decodes all other messages, such as the messages of go-plugin.
type Codec struct{}

// Name returns "proto", the name of the codec that Codec replaces.
func (Codec) Name() string { return "proto" }

// Marshal returns the bytes of a *[]byte, and encodes other messages as protobuf messages.
func (Codec) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.(*[]byte)
	if !ok {
		return encoding.GetCodecV2("proto").Marshal(v)
	}
	return mem.BufferSlice{mem.SliceBuffer(*b)}, nil
}

// Unmarshal stores data in a *[]byte, and decodes data into other messages.
func (Codec) Unmarshal(data mem.BufferSlice, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return encoding.GetCodecV2("proto").Unmarshal(data, v)
	}
	*b = data.Materialize()
	return nil
}
