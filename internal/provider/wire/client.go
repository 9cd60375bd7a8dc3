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

// MaxMessage is the maximum size of a message in bytes, in both directions. The SDKs have the same limit for messages
// that they receive.
const MaxMessage = 256 << 20

// Options are settings of a client. All are optional.
type Options struct {
	// Version is the provider's own version, for messages.
	Version string
	// Terraform is the version that the provider is to work for, such as "1.12.0": SDKs branch on it.
	Terraform string
	// Ended returns how the process behind the connection ended ("exit status 2"), "" if it has not. The lines after
	// that contain its last output. It is called when a call fails, and may wait a moment for the end of the process.
	Ended func() string
	// Deadlines are the time limits of answers; the zero value has none.
	Deadlines provider.Deadlines
	// Kept has the schemas from an earlier command. May be nil.
	Kept Kept
	// Called is called with each call after its end, from many goroutines. May be nil.
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
	crashed atomic.Bool // the process has ended, as a call found out
	stopped atomic.Bool // the provider was asked to give up the calls in progress
}

// onceSchemas has the schemas of the process. Concurrent callers share one request.
type onceSchemas struct {
	turn chan struct{} // full while a caller asks
	done atomic.Pointer[described]
}

type described struct {
	schemas *provider.Schemas
	diags   provider.Diags
}

// Kept stores the schema answers of a provider from one command to the next. A stored answer is valid for the same
// package in the same circumstances only; an implementation ensures that, and Load returns everything that was stored,
// or nil. Answers are stored if they have no diagnostics and if the provider does not need the call (SchemaOptional).
type Kept interface {
	// Load returns the stored answers, nil if nothing or nothing usable is stored.
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

// Crashed reports whether a call found that the process has ended. Later calls get no answer either.
func (c *client) Crashed() bool { return c.crashed.Load() }

// Client returns a provider for a connection to a process that speaks major version 5 or 6 of the protocol. The
// connection must have been made with DialOptions.
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

// DialOptions are the options that every connection to a provider needs.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)),
		grpc.WithInitialWindowSize(window),
		grpc.WithInitialConnWindowSize(4 * window),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(), // a call that changes something must not be made twice
	}
}
