// Package plugin serves the built-in provider lethe as a plugin, so that Terraform and OpenTofu can use it.
//
// A plugin host, such as Terraform, starts a provider without arguments, with a cookie (a fixed value) in the
// environment. If the program is started in this way, it serves the provider. Otherwise it runs a command. A provider
// may start commands of Lethe: these inherit the cookie, but have arguments.
//
// The package implements the plugin's side of go-plugin's protocol: the socket, the certificate, the line of the
// handshake and the call that ends the process. It does not use the server of go-plugin, which also serves net/rpc.
// net/rpc finds methods by reflection, so the linker would keep all exported methods of the program: 10 of 51 MB (ADR
// 17).
package plugin

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/launch"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/provider/wire/serve"
	"github.com/lethe-iac/lethe/internal/subprocess"
)

// Hosted reports whether a plugin host has started this process. args begins with the name of the program.
func Hosted(args []string) bool {
	return len(args) == 1 && os.Getenv(launch.Handshake.MagicCookieKey) == launch.Handshake.MagicCookieValue
}

// Serve serves a provider over protocol 6 on a local socket, until the host ends the plugin with the call Shutdown of
// go-plugin. Serve then shuts the provider down. It returns the exit code of the process; before it returns 1, it has
// printed the error.
func Serve(p provider.Provider) int {
	subprocess.Hide()
	err := serveHost(&serve.Server{Major: protocol, Provider: p})
	if err = errors.Join(err, p.Shutdown()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// protocol is the major version of the provider protocol.
const protocol = 6

// serveHost listens, writes the line of the handshake to the standard output, and answers calls. It returns when the
// host has ended the plugin.
func serveHost(s *serve.Server) error {
	listener, remove, err := listen()
	if err != nil {
		return err
	}
	defer remove()
	options := s.Options(wire.MaxMessage)
	line := fmt.Sprintf("1|%d|%s|%s|grpc|", protocol, listener.Addr().Network(), listener.Addr())
	if client := os.Getenv(launch.CertVariable); client != "" {
		config, _, err := launch.Identify()
		if err != nil {
			return err
		}
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM([]byte(client)) {
			return fmt.Errorf("%s has no certificate", launch.CertVariable)
		}
		options = append(options, grpc.Creds(credentials.NewTLS(config)))
		line += certificate(config)
	}
	if os.Getenv("PLUGIN_MULTIPLEX_GRPC") != "" {
		line += "|false" // the seventh field of the handshake, which only a host that sets this variable reads
	}
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // do not react: the host gets the interrupt, too, and ends the plugin after its work
	server := grpc.NewServer(options...)
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "plugin.GRPCController", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Shutdown", Handler: func(any, context.Context, func(any) error, grpc.UnaryServerInterceptor) (any, error) {
			go server.GracefulStop()
			return &[]byte{}, nil
		}}},
	}, nil)
	fmt.Println(line)
	return server.Serve(listener)
}

// certificate returns a server's certificate in the form of the handshake: base64 without padding.
func certificate(c *tls.Config) string {
	return base64.RawStdEncoding.EncodeToString(c.Certificates[0].Certificate[0])
}

// listen opens a socket for the host: a Unix socket in a new directory, or a TCP port on Windows. remove removes the
// directory.
func listen() (l net.Listener, remove func(), err error) {
	if runtime.GOOS == "windows" {
		l, err = listenOnPort()
		return l, func() {}, err
	}
	if os.Getenv("PLUGIN_UNIX_SOCKET_GROUP") != "" {
		return nil, nil, errors.New("sockets for the group in PLUGIN_UNIX_SOCKET_GROUP are not supported: remove the variable")
	}
	dir, err := os.MkdirTemp(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "plugin")
	if err != nil {
		return nil, nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	if l, err = net.Listen("unix", filepath.Join(dir, "socket")); err != nil {
		remove()
	}
	return l, remove, err
}

// listenOnPort listens on the first free port of the range that the host permits.
func listenOnPort() (net.Listener, error) {
	least, err1 := strconv.Atoi(os.Getenv("PLUGIN_MIN_PORT"))
	most, err2 := strconv.Atoi(os.Getenv("PLUGIN_MAX_PORT"))
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("the host permits no range of ports: %w", err)
	}
	var last error
	for port := least; port <= most; port++ {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return l, nil
		}
		last = err
	}
	return nil, fmt.Errorf("no port from %d to %d is free: %w", least, most, last)
}
