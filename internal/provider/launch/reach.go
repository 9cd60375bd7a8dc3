package launch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"time"

	"github.com/lethe-iac/lethe/internal/provider/rpc"
	"github.com/lethe-iac/lethe/internal/provider/wire"
)

// dialWithin connects to a program. It returns an error if the program does not accept the connection, does not complete
// the handshake of TLS, or does not send its HTTP/2 settings, within the limit.
func dialWithin(ctx context.Context, limit time.Duration, a net.Addr, t *tls.Config) (*rpc.Conn, error) {
	silent := fmt.Errorf("it did not answer at its address within %s", limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, silent)
	defer cancel()
	conn, err := rpc.Dial(ctx, a, t, wire.MaxMessage)
	if err != nil && context.Cause(ctx) == silent {
		err = silent
	}
	return conn, err
}

// reachTime is the time limit for a further connection. It is short, because the program has answered before, and no
// call needs the connection.
var reachTime = 3 * time.Second

// Reach makes a further connection to a running program. It returns an error if the address is invalid, or if the program
// does not answer in time, for example because it accepts only one connection.
func Reach(ctx context.Context, w Address) (*rpc.Conn, error) {
	if w.Key == nil {
		return dialWithin(ctx, reachTime, listens{w.Network, w.Address}, nil)
	}
	key, err := x509.ParsePKCS8PrivateKey(w.Key)
	if err != nil {
		return nil, err
	}
	server, err := x509.ParseCertificate(w.ServerCertificate)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{w.Certificate}, PrivateKey: key}},
		RootCAs:      x509.NewCertPool(), MinVersion: tls.VersionTLS12, ServerName: host, ClientSessionCache: w.resume(),
	}
	config.RootCAs.AddCert(server)
	return dialWithin(ctx, reachTime, listens{w.Network, w.Address}, config)
}

// listens is a network and an address as a net.Addr.
type listens struct{ network, address string }

func (l listens) Network() string { return l.network }
func (l listens) String() string  { return l.address }
