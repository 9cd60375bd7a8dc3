// Package plugin serves the built-in provider lethe as a plugin, so that Terraform and OpenTofu can use it.
//
// A plugin host starts a provider without arguments, with a cookie in the environment. If the program is started like
// that, it is the plugin; every other start is a command. A provider may start commands of Lethe, which inherit the
// cookie and have arguments.
package plugin

import (
	"context"
	"os"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/launch"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/provider/wire/serve"
	"github.com/lethe-iac/lethe/internal/subprocess"
)

// Hosted reports whether a plugin host has started this process. args begin with the name of the program.
func Hosted(args []string) bool {
	return len(args) == 1 && os.Getenv(launch.Handshake.MagicCookieKey) == launch.Handshake.MagicCookieValue
}

// Serve serves a provider over protocol 6 on a local socket, until the host ends the connection. It returns the exit
// code of the process.
func Serve(p provider.Provider) int {
	subprocess.Hide()
	s := &serve.Server{Major: 6, Provider: p}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  launch.Handshake,
		VersionedPlugins: map[int]plugin.PluginSet{s.Major: {"provider": unregistered{}}},
		GRPCServer: func(more []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(more, s.Options(wire.MaxMessage)...)...)
		},
	})
	if p.Shutdown() != nil {
		return 1
	}
	return 0
}

// unregistered is a plugin without services: package serve answers calls that no service is registered for.
type unregistered struct{ plugin.NetRPCUnsupportedPlugin }

// GRPCServer registers nothing.
func (unregistered) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error { return nil }

// GRPCClient is not called in the process of a plugin.
func (unregistered) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}
