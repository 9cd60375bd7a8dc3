package wire

import (
	"context"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

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

// Dial connects to a provider that another program started and that uses no TLS. It does not wait
// for the connection; the caller closes it.
func Dial(a net.Addr) (*grpc.ClientConn, error) {
	opts := append(DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithIdleTimeout(0),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, a.Network(), a.String())
		}))
	return grpc.NewClient("passthrough:///provider", opts...)
}
