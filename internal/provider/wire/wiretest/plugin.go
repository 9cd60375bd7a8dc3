package wiretest

import (
	"context"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// Main is the main function of a provider program: it serves s to the plugin host that started the process, and returns
// when the connection ends. A test binary can be such a program: it starts itself, with an environment variable that
// makes TestMain call Main.
func (s *Server) Main() {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			MagicCookieKey:   "TF_PLUGIN_MAGIC_COOKIE",
			MagicCookieValue: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
		},
		VersionedPlugins: map[int]plugin.PluginSet{s.Major: {"provider": nothing{}}},
		GRPCServer:       s.server,
	})
}

// nothing is a plugin of go-plugin without services, because Server answers all calls without registration.
type nothing struct {
	plugin.NetRPCUnsupportedPlugin
}

func (nothing) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error { return nil }

func (nothing) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}
