package box

import (
	"encoding/json"
	"net"
	"os"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/lethe-iac/lethe/test/combine/cloud"
)

// Address is the address of the provider, without the registry host.
const Address = "lethe/combine"

// Attached is a provider that engines attach to (TF_REATTACH_PROVIDERS). Each connection is a separate provider, like a
// separate process.
type Attached struct {
	server *grpc.Server
	path   string
}

// Attach serves a cloud at a new Unix socket until Close. Unix limits the path to about 100 bytes; a longer path and an
// existing file are errors. Attach sets the environment variable TF_LOG_SDK_PROTO of this process.
func Attach(c *cloud.Cloud, path string) (*Attached, error) {
	os.Setenv("TF_LOG_SDK_PROTO", "OFF") // without this variable the library logs every call
	a := &Attached{server: grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20)), path: path}
	p := &Provider{Cloud: c}
	plugin := &tf6server.GRPCProviderPlugin{
		Name: "registry.terraform.io/" + Address, GRPCProvider: func() tfprotov6.ProviderServer { return p },
	}
	if err := plugin.GRPCServer(nil, a.server); err != nil {
		return nil, err
	}
	h := health.NewServer()
	h.SetServingStatus("plugin", healthpb.HealthCheckResponse_SERVING)
	healthpb.RegisterHealthServer(a.server, h)
	l, err := net.Listen("unix", a.path)
	if err != nil {
		return nil, err
	}
	go func() { _ = a.server.Serve(listener{l}) }()
	return a, nil
}

// Environ returns the value of TF_REATTACH_PROVIDERS. If test is true, Terraform does not end the provider. Lethe never
// ends it.
func (a *Attached) Environ(test bool) string {
	entry := map[string]any{
		"Protocol": "grpc", "ProtocolVersion": 6, "Pid": os.Getpid(), "Test": test,
		"Addr": map[string]string{"Network": "unix", "String": a.path},
	}
	text, _ := json.Marshal(map[string]any{"registry.terraform.io/" + Address: entry})
	return string(text)
}

// Close ends the server and its connections.
func (a *Attached) Close() {
	a.server.Stop()
}

// listener makes a conn with a separate session of each connection.
type listener struct {
	net.Listener
}

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	own := &conn{Conn: c}
	own.session.crash = func() { c.Close() }
	return own, nil
}

// A conn is a connection and also the address of its other end. A call knows this address, and so finds its session.
type conn struct {
	net.Conn
	session session
}

func (c *conn) RemoteAddr() net.Addr { return c }
func (c *conn) Network() string      { return "unix" }
func (c *conn) String() string       { return "@" }
