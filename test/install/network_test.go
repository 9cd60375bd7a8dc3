package install

import (
	"net"
	"sync"
	"time"
)

// network simulates the network between a client and a server on this machine.
type network struct {
	net.Listener
	latency time.Duration // the time of a round trip
	rate    int           // maximum number of bytes per second on a connection to the client; 0: no limit
}

func (n network) Accept() (net.Conn, error) {
	c, err := n.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &far{Conn: c, network: n, turn: 2, free: time.Now()}, nil // connecting takes a round trip
}

// burst is the time for which a connection may send unused capacity later. Without it, a server that wakes up late
// would be slower than the network.
const burst = 200 * time.Millisecond

// far is a connection over a network. A client that waits for an answer before its next request waits for the latency
// each time. Continuous data arrives at the rate.
type far struct {
	net.Conn
	network

	mu   sync.Mutex
	turn int       // number of round trips before the next data that the client reads
	free time.Time // the time at which all written data has been sent
}

func (f *far) Read(b []byte) (int, error) {
	n, err := f.Conn.Read(b)
	f.mu.Lock()
	wait := time.Duration(f.turn) * f.latency
	f.turn = 0
	f.mu.Unlock()
	time.Sleep(wait) // wait for the latency of the simulated network
	return n, err
}

func (f *far) Write(b []byte) (int, error) {
	f.mu.Lock()
	f.turn = 1
	var wait time.Duration
	if f.rate > 0 {
		now := time.Now()
		if least := now.Add(-burst); f.free.Before(least) {
			f.free = least
		}
		f.free = f.free.Add(time.Duration(len(b)) * time.Second / time.Duration(f.rate))
		wait = f.free.Sub(now)
	}
	f.mu.Unlock()
	if wait > time.Millisecond {
		time.Sleep(wait) // wait as the rate of the simulated network requires
	}
	return f.Conn.Write(b)
}
