package wire_test

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/providertest"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/provider/wire/serve"
	"github.com/lethe-iac/lethe/internal/provider/wire/wiretest"
)

var playground = addr.Provider{Host: addr.DefaultHost, Namespace: "acme", Type: "playground"}

// open connects a client to a server.
func open(t testing.TB, s *wiretest.Server, o wire.Options) provider.Provider {
	return wire.Client(s.Dial(t), s.Major, playground, o)
}

// dial opens a connection for messages of at most max bytes.
type dial func(t testing.TB, s *wiretest.Server, max int) grpc.ClientConnInterface

// dials lists the implementations of a connection.
var dials = map[string]dial{
	"all of gRPC": func(t testing.TB, s *wiretest.Server, max int) grpc.ClientConnInterface {
		return s.Dial(t, grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(max), grpc.MaxCallSendMsgSize(max)))
	},
	"package rpc": func(t testing.TB, s *wiretest.Server, max int) grpc.ClientConnInterface { return s.Connect(t, max) },
}

// each runs a test with each implementation.
func each(t *testing.T, test func(t *testing.T, dial dial)) {
	for name, d := range dials {
		t.Run(name, func(t *testing.T) { test(t, d) })
	}
}

// TestContract checks that both protocols transport all fields in both directions.
func TestContract(t *testing.T) {
	each(t, func(t *testing.T, dial dial) {
		for _, major := range []int{5, 6} {
			t.Run(fmt.Sprintf("protocol %d", major), func(t *testing.T) {
				providertest.Run(t, providertest.Contract{
					FlatTypes: major == 5,
					Open: func(t *testing.T, far provider.Provider) provider.Provider {
						return wire.Client(dial(t, &wiretest.Server{Major: major, Provider: far}, wire.MaxMessage), major, playground, wire.Options{})
					},
				})
			})
		}
	})
}

// TestConfigure checks that the provider receives the version of its caller, and that the caller receives the settings
// that an old SDK has completed.
func TestConfigure(t *testing.T) {
	for major, want := range map[int]string{5: "completed", 6: "given"} {
		var version string
		p := open(t, &wiretest.Server{Major: major, Provider: &providertest.Fake{
			OnValidateConfig: func(context.Context, provider.Dynamic) (provider.Dynamic, provider.Diags) {
				return providertest.Msgpack("completed"), nil
			},
			OnConfigure: func(ctx context.Context, _ provider.Dynamic, _ provider.Allow) provider.Diags {
				version = serve.TerraformVersion(ctx)
				return nil
			},
		}}, wire.Options{Terraform: "1.12.0"})
		got, ds := p.ValidateConfig(context.Background(), providertest.Msgpack("given"))
		if string(got.Msgpack) != want || ds != nil {
			t.Errorf("protocol %d: got %s, %v", major, got.Msgpack, ds)
		}
		if ds := p.Configure(context.Background(), got, provider.Allow{}); ds != nil || version != "1.12.0" {
			t.Errorf("protocol %d: told %q, %v", major, version, ds)
		}
	}
}
