package wire

import "google.golang.org/grpc"

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
