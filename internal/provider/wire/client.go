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

// MaxMessage is the maximum size of a message in bytes, in both directions. It is also the limit of the SDKs for
// messages that they receive.
const MaxMessage = 256 << 20

// Options are settings of a client. All are optional.
type Options struct {
	// Version is the provider's version, for messages.
	Version string
	// Terraform is the version of Terraform that the provider gets, such as "1.12.0". SDKs behave differently for
	// different versions.
	Terraform string
	// Ended returns how the process behind the connection has ended ("exit status 2"), or "" if it is running. Further
	// lines contain its last output. Ended is called when a call fails, and may wait a moment for the end of the
	// process. It may be nil.
	Ended func() string
	// Attached is true if another program started the process, so that its output is not in the log.
	Attached bool
	// Deadlines are the time limits of answers. The zero value has no limits.
	Deadlines provider.Deadlines
	// Kept is the cache with the schemas from earlier commands. It may be nil.
	Kept Kept
	// Called is called after each call. It is called from several goroutines. It may be nil.
	Called func(Call)
	// Close ends the process. It is called once, by the first Shutdown. It may be nil.
	Close func() error
}

// client is the provider.Provider for a connection to a provider process.
type client struct {
	conn    grpc.ClientConnInterface
	major   int
	methods *table
	addr    addr.Provider
	opts    Options
	close   func() error
	schemas onceSchemas
	crashed atomic.Bool // a call has found that the process has ended
	stopped atomic.Bool // the provider was asked to stop its running calls
}

// onceSchemas has the schemas of the process after the first request. Concurrent callers make only one request.
type onceSchemas struct {
	turn chan struct{} // has an element while a caller makes the request
	done atomic.Pointer[described]
}

type described struct {
	schemas *provider.Schemas
	diags   provider.Diags
}

// Kept is a cache for the encoded schemas of a provider, which lasts from one command to the next. Schemas are stored
// if the answers of the provider have no diagnostics, and if the provider does not need the request for them
// (SchemaOptional).
type Kept interface {
	// Load returns the stored answers unchanged. It returns nil if none are stored, or if they came from another package
	// of the provider or other circumstances.
	Load() []byte
	// Store stores answers for later commands.
	Store(answers []byte)
}

// response is an answer of the protocol: a message with diagnostics.
type response[T any] interface {
	*T
	proto.Message
	GetDiagnostics() []*wirepb.Diagnostic
}

// Crashed reports whether a call has found that the process has ended. All later calls then fail.
func (c *client) Crashed() bool { return c.crashed.Load() }

// Client returns a provider for a connection to a process that uses major version 5 or 6 of the protocol. It panics for
// other versions. A connection of grpc-go must have the options DialOptions.
func Client(conn grpc.ClientConnInterface, major int, p addr.Provider, o Options) provider.Provider {
	if tables[major] == nil {
		panic(fmt.Sprintf("no protocol version %d", major)) // Client's caller has negotiated the version
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

// Addr returns the provider's address.
func (c *client) Addr() addr.Provider { return c.addr }

// String returns the name of the provider for messages, such as "provider hashicorp/time (version 0.14.2)".
func (c *client) String() string {
	if c.opts.Version == "" {
		return "provider " + c.addr.String()
	}
	return "provider " + c.addr.String() + " (version " + c.opts.Version + ")"
}

// window is the number of bytes that a provider may send before Lethe reads them. With the default of 64 KiB, a
// provider that sends schemas of several megabytes would wait for many acknowledgements. The connection is local, so a
// larger window costs nothing.
const window = 4 << 20

// DialOptions returns the options that every connection of grpc-go to a provider needs.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)),
		grpc.WithInitialWindowSize(window),
		grpc.WithInitialConnWindowSize(4 * window),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(), // without the retries of grpc-go, because a call that changes something must not be repeated
	}
}
