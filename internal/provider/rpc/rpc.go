// Package rpc makes gRPC calls to a provider process: calls with one request and one answer, over
// one connection, with as little as that takes.
//
// It is the client's half of HTTP/2 (RFC 9113) and of gRPC on it ("gRPC over HTTP2" of the gRPC
// project), cut down to what providers need: no proxies, balancing, retries, compression or
// interceptors. A caller writes its request itself, together with those of others who call at the
// same time; one goroutine reads answers and wakes their callers. A call costs a tenth of what it
// costs with a complete implementation, and a plan of ten thousand resources makes forty thousand.
//
// Errors are those of package status, with the codes and texts that grpc-go has for the same
// things, so that callers need not know which of the two made a call.
package rpc

import (
	"bufio"
	"context"
	"crypto/tls"
	"math"
	"net"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lethe-iac/lethe/internal/diag"
)

// Conn is a connection to a server. It may be used from many goroutines.
type Conn struct {
	net    net.Conn
	secure bool
	max    int // bytes that no message may exceed

	mu         sync.Mutex
	changed    sync.Cond // windows, the number of streams, or err
	err        error     // why no call can be made any more, and those under way have failed
	leaving    error     // why no call can be made any more, though those under way may be answered
	streams    map[uint32]*stream
	next       uint32            // id of the next stream
	heads      map[string][]byte // what a request begins with, by method
	out, spare []byte            // to be written; a buffer to fill meanwhile
	writing    bool              // a caller writes, and will write what is in out
	window     int64             // bytes of messages that the server still takes
	initial    int64             // the same for a stream, at first
	frame      int               // the longest frame that the server takes
	most       uint32            // streams at a time; 0 before the server has introduced itself

	// The reader's own.
	decoder *hpack.Decoder
	fields  fields
	got     uint32 // bytes of messages since the server was last allowed to go on
}

// Our side of flow control: a server may send what it likes, up to the longest message. The
// connection as a whole is given more whenever half of this is used up.
const window = math.MaxInt32

// Dial connects to a server, with TLS if there is a configuration for it. No message may be longer
// than max bytes, in either direction.
func Dial(ctx context.Context, a net.Addr, t *tls.Config, max int) (*Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, a.Network(), a.String())
	if err != nil {
		return nil, err
	}
	if t == nil {
		return New(c, false, max)
	}
	t = t.Clone()
	t.NextProtos = []string{"h2"}
	secure := tls.Client(c, t)
	if err := secure.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return New(secure, true, max)
}

// New speaks gRPC over a connection that is there already; secure says that it is one with TLS.
func New(nc net.Conn, secure bool, max int) (*Conn, error) {
	c := &Conn{
		net: nc, secure: secure, max: max,
		streams: map[uint32]*stream{}, next: 1, heads: map[string][]byte{},
		window: 65535, initial: 65535, frame: 16384, // until the server says otherwise
	}
	c.changed.L = &c.mu
	c.decoder = hpack.NewDecoder(4096, c.fields.add)
	c.decoder.SetMaxStringLength(1 << 20)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = append(c.out, http2.ClientPreface...)
	c.out = appendHead(c.out, 12, http2.FrameSettings, 0, 0)
	c.out = appendSetting(c.out, http2.SettingEnablePush, 0)
	c.out = appendSetting(c.out, http2.SettingInitialWindowSize, window)
	c.out = appendUpdate(c.out, window-65535)
	c.flush()
	if c.err != nil {
		return nil, c.err
	}
	c.Go(c.read)
	return c, nil
}

// Close ends the connection. Calls that have no answer yet fail.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail(status.Error(codes.Canceled, "the connection was closed"))
	return nil
}

// fail ends everything. The caller holds the lock.
func (c *Conn) fail(err error) {
	if c.err != nil {
		return
	}
	c.err = err
	c.net.Close()
	for id, s := range c.streams {
		s.end(err)
		delete(c.streams, id)
	}
	c.changed.Broadcast()
}

// flush writes what is in out, unless another caller does already. The caller holds the lock, which is
// not held while writing.
func (c *Conn) flush() {
	if c.writing {
		return
	}
	c.writing = true
	for len(c.out) > 0 && c.err == nil {
		b := c.out
		c.out = c.spare[:0]
		c.mu.Unlock()
		_, err := c.net.Write(b)
		c.mu.Lock()
		if c.spare = b[:0]; cap(b) > 1<<20 {
			c.spare = nil
		}
		if err != nil {
			c.fail(status.Errorf(codes.Unavailable, "error writing to server: %v", err))
		}
	}
	c.writing = false
}

// Go does something for the connection in a goroutine of its own. An error of it ends the
// connection, and a panic does, as a *diag.Bug: all who call hear of it, and nothing else ends.
func (c *Conn) Go(f func() error) {
	go func() {
		if err := safely(f); err != nil {
			c.mu.Lock()
			c.fail(err)
			c.mu.Unlock()
		}
	}()
}

func safely(f func() error) (err error) {
	defer diag.Caught(&err)
	return f()
}

// read takes what the server sends until the connection ends, and says why it did.
func (c *Conn) read() error {
	f := http2.NewFramer(nil, bufio.NewReaderSize(c.net, 32<<10))
	f.SetReuseFrames()
	f.SetMaxReadFrameSize(16384) // longer ones have to be allowed first
	for {
		x, err := f.ReadFrame()
		if err == nil {
			err = c.take(x, f)
		}
		if err != nil {
			return status.Errorf(codes.Unavailable, "error reading from server: %v", err)
		}
	}
}

// NewStream is there for grpc.ClientConnInterface: providers have no streams.
func (c *Conn) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "streams are not supported")
}
