package wire_test

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
	"github.com/lethe-iac/lethe/internal/provider/wire/wiretest"
	"google.golang.org/grpc"
)

// canned is a connection that answers every call with the same bytes. So the benchmark measures this package and
// protobuf without gRPC.
type canned []byte

func (c canned) Invoke(_ context.Context, _ string, req, resp any, _ ...grpc.CallOption) error {
	buf, err := proto.MarshalOptions{}.MarshalAppend(scratch[:0], req.(proto.Message))
	if err != nil || len(buf) == 0 {
		return err
	}
	return proto.Unmarshal(c, resp.(proto.Message))
}

func (canned) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	panic("no streams")
}

var scratch [64 << 10]byte

var readRequest = provider.ReadRequest{
	Type:    "playground_thing",
	State:   provider.Dynamic{Msgpack: make([]byte, 300)},
	Private: make([]byte, 60),
}

func readAnswer() *wirepb.ReadResource_Response {
	return &wirepb.ReadResource_Response{
		NewState: &wirepb.DynamicValue{Msgpack: make([]byte, 300)},
		Private:  make([]byte, 60),
	}
}

// BenchmarkReadResource measures a call for an object of 300 bytes: this package alone, and the whole call with a
// server in the same process.
func BenchmarkReadResource(b *testing.B) {
	b.Run("layer", func(b *testing.B) {
		answer, err := proto.Marshal(readAnswer())
		if err != nil {
			b.Fatal(err)
		}
		p := wire.Client(canned(answer), 6, playground, wire.Options{})
		b.ReportAllocs()
		for b.Loop() {
			if _, ds := p.Read(context.Background(), readRequest); ds != nil {
				b.Fatal(ds)
			}
		}
	})
	for way, dial := range dials {
		for name, parallel := range map[string]int{"": 1, ", 10 at a time": 5} {
			b.Run(way+name, func(b *testing.B) {
				s := &wiretest.Server{Major: 6, Handlers: map[string]wiretest.Handler{"ReadResource": wiretest.Answer(readAnswer())}}
				p := wire.Client(dial(b, s, wire.MaxMessage), 6, playground, wire.Options{})
				b.ReportAllocs()
				b.SetParallelism(parallel)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if _, ds := p.Read(context.Background(), readRequest); ds != nil {
							b.Error(ds)
							return
						}
					}
				})
			})
		}
	}
}
