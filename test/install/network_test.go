package install

import (
	"net"
	"sync"
	"time"
)

// network is what lies between a client and a server of this machine.
type network struct {
	net.Listener
	latency time.Duration // there and back
	rate    int           // bytes a second that a connection carries to the client; 0: all
}

func (n network) Accept() (net.Conn, error) {
	c, err := n.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &far{Conn: c, network: n, turn: 2, free: time.Now()}, nil // to connect is a way there and back by itself
}

// burst is for how long what was not sent may be sent afterwards: without it, a server that is woken late would be slower
// than the network.
const burst = 200 * time.Millisecond

// far is a connection over a network. A client that waits for an answer before it says more waits for the latency each
// time; what is sent on and on comes at the rate.
type far struct {
	net.Conn
	network

	mu   sync.Mutex
	turn int       // ways there and back that what is read next has behind it
	free time.Time // when what was written so far has gone
}

func (f *far) Read(b []byte) (int, error) {
	n, err := f.Conn.Read(b)
	f.mu.Lock()
	wait := time.Duration(f.turn) * f.latency
	f.turn = 0
	f.mu.Unlock()
	time.Sleep(wait)
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
		time.Sleep(wait)
	}
	return f.Conn.Write(b)
}
