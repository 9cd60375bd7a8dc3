package wire

import (
	"fmt"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
)

// MaxMessage is the size in bytes that no message may exceed in either direction. The SDKs have
// the same limit for what they take.
const MaxMessage = 256 << 20

// Options are what a client needs to know beside its connection. All may be left out.
type Options struct {
	// Version is the provider's own version, for messages.
	Version string
	// Terraform is the version that the provider is to work for, such as "1.12.0": SDKs
	// branch on it.
	Terraform string
	// Ended says how the process behind the connection ended ("exit status 2"), "" if it has
	// not. It is asked when a call fails, and may wait a moment for the process to be gone.
	Ended func() string
	// Kept has what the provider said of its schemas to an earlier command. May be nil.
	Kept Kept
	// Called gets each call when it is over, from many goroutines. May be nil.
	Called func(Call)
	// Close ends the process. It is called once, by the first Shutdown.
	Close func() error
}

// client is a provider behind a connection.
type client struct {
	conn    grpc.ClientConnInterface
	major   int
	methods *table
	addr    addr.Provider
	opts    Options
	close   func() error
	schemas onceSchemas
	lost    atomic.Bool // the process has ended, as a call found out
}

// onceSchemas is what the process described, asked for once, however many ask at a time.
type onceSchemas struct {
	turn chan struct{} // full while a caller asks
	done atomic.Pointer[described]
}

type described struct {
	schemas *provider.Schemas
	diags   provider.Diags
}

// Kept is where the answers of a provider about its schemas stay from one command to the next. What
// is stored is good for the same package in the same circumstances only; an implementation sees
// to that, and that Load gives all of what was stored, or nil. Answers are stored if they gave no
// diagnostics and if the provider does not rely on being asked (SchemaOptional).
type Kept interface {
	// Load gives what was stored, nil if that is nothing.
	Load() []byte
	// Store keeps answers for other commands.
	Store(answers []byte)
}

// response is an answer of the protocol.
type response[T any] interface {
	*T
	proto.Message
	GetDiagnostics() []*wirepb.Diagnostic
}

// Lost reports whether a call found the process gone: no other will be answered.
func (c *client) Lost() bool { return c.lost.Load() }

// Client makes a provider of a connection over which a process speaks a major version of the
// protocol, 5 or 6. The connection must have been made with DialOptions.
func Client(conn grpc.ClientConnInterface, major int, p addr.Provider, o Options) provider.Provider {
	if tables[major] == nil {
		panic(fmt.Sprintf("no protocol version %d", major)) // the dialler has agreed on a version before
	}
	if o.Close == nil {
		o.Close = func() error { return nil }
	}
	if o.Called != nil {
		conn = watched{conn, o.Called}
	}
	return &client{conn: conn, major: major, methods: tables[major], addr: p, opts: o,
		close: sync.OnceValue(o.Close), schemas: onceSchemas{turn: make(chan struct{}, 1)}}
}

// Addr is the provider's address.
func (c *client) Addr() addr.Provider { return c.addr }

// String names the provider in messages: "provider hashicorp/time (version 0.14.2)".
func (c *client) String() string {
	if c.opts.Version == "" {
		return "provider " + c.addr.String()
	}
	return "provider " + c.addr.String() + " (version " + c.opts.Version + ")"
}

// window is how much a provider may send before we have read it. The default of 64 KiB makes a
// schema of several megabytes wait for acknowledgements; the connection is local, so that a
// larger one costs nothing.
const window = 4 << 20

// DialOptions are what every connection to a provider needs, however it is made.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)),
		grpc.WithInitialWindowSize(window),
		grpc.WithInitialConnWindowSize(4 * window),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(), // a call that changes something must not be made twice
	}
}
