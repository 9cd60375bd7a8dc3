// Package rpc makes gRPC calls to a provider process over one connection: calls with one request, and one answer or a
// stream of answers, and calls with a stream of requests and one answer.
//
// The package implements the client's half of HTTP/2 (RFC 9113) and of gRPC on HTTP/2 ("gRPC over HTTP2" of the gRPC
// project), as far as providers need them: without proxies, balancing, retries, compression and interceptors. A caller
// writes its own request, together with the requests of concurrent callers. One goroutine reads the answers and wakes
// their callers. A call takes a tenth of the time of a complete implementation, and a plan of ten thousand resources
// makes forty thousand calls.
//
// Errors are errors of package status, with the codes and texts of grpc-go, so that callers need not distinguish the
// two implementations.
package rpc

import (
	"context"
	"crypto/tls"
	"net"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Dial connects to a server, with TLS if t is not nil, and waits for the server's settings, the first frame of every
// HTTP/2 server. max is the maximum length of a message in bytes, in both directions. Dial returns an error if the
// connection fails, or if ctx ends first.
func Dial(ctx context.Context, a net.Addr, t *tls.Config, max int) (*Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, a.Network(), a.String())
	if err != nil {
		return nil, err
	}
	if t == nil {
		return begin(ctx, c, false, max)
	}
	t = t.Clone()
	t.NextProtos = []string{"h2"}
	secure := tls.Client(c, t)
	if err := secure.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return begin(ctx, secure, true, max)
}

// begin returns a Conn over an open connection after the server has sent its settings. Calls would wait for the settings
// without a limit, because most calls have no deadline.
func begin(ctx context.Context, nc net.Conn, secure bool, max int) (*Conn, error) {
	c, err := New(nc, secure, max)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.await(ctx, func() bool { return c.most != 0 }); err != nil {
		c.fail(err)
		return nil, err
	}
	return c, nil
}

// New returns a Conn over an open connection. secure is true if the connection uses TLS. max is the maximum size of a
// message in bytes.
func New(nc net.Conn, secure bool, max int) (*Conn, error) {
	c := &Conn{
		net: nc, secure: secure, max: max,
		streams: map[uint32]*stream{}, next: 1, heads: map[string][]byte{},
		window: 65535, initial: 65535, frame: 16384, // the values of HTTP/2 until the server sends its settings
	}
	c.changed.L = &c.mu
	c.decoder = hpack.NewDecoder(4096, c.fields.add)
	c.decoder.SetMaxStringLength(16 << 20) // as in grpc-go: a field contains the text of an error
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = append(c.out, http2.ClientPreface...)
	c.out = appendHead(c.out, 12, http2.FrameSettings, 0, 0)
	c.out = appendSetting(c.out, http2.SettingEnablePush, 0)
	c.out = appendSetting(c.out, http2.SettingInitialWindowSize, room)
	c.out = appendUpdate(c.out, 0, window-65535)
	c.flush()
	if c.err != nil {
		return nil, c.err
	}
	c.Go(c.read)
	return c, nil
}

// Close ends the connection. Calls that were not answered yet fail.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail(status.Error(codes.Canceled, "the connection was closed"))
	return nil
}
