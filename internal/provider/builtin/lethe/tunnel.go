package lethe

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"
	"golang.org/x/crypto/ssh"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/sshconn"
)

const (
	loopback = "127.0.0.1"      // other machines cannot reach this address
	alive    = 15 * time.Second // interval of requests that check the connection
	silent   = 45 * time.Second // the connection is closed if the server answers nothing for this time
	again    = time.Second      // pause between attempts to connect to the server
)

// tunnels has the open tunnels. The keys are the private data of their leases.
type tunnels struct {
	mu   sync.Mutex
	open map[string]*tunnel
}

func (ts *tunnels) add(t *tunnel) string {
	id := rand.Text()
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.open == nil {
		ts.open = map[string]*tunnel{}
	}
	ts.open[id] = t
	return id
}

func (ts *tunnels) close(id string) provider.Diags {
	ts.mu.Lock()
	t := ts.open[id]
	delete(ts.open, id)
	ts.mu.Unlock()
	if t == nil {
		return nil
	}
	t.end()
	return t.complaint()
}

func (ts *tunnels) closeAll() {
	ts.mu.Lock()
	all := ts.open
	ts.open = nil
	ts.mu.Unlock()
	for _, t := range all {
		t.end()
	}
}

// tunnel is the tunnel of one lease. start opens it, and end closes it.
type tunnel struct {
	host          sshconn.Host
	remote, local string        // addresses; local is the address at which the tunnel listens
	limit         time.Duration // time limit for logging in, and for connecting to the remote address
	listener      net.Listener
	life          context.Context // ends when the lease of the tunnel is closed
	cancel        context.CancelFunc
	busy          sync.WaitGroup

	login  sync.Mutex // locked while a goroutine logs in
	client *ssh.Client
	ended  <-chan struct{} // closed when the SSH connection client has ended

	mu     sync.Mutex
	conns  map[io.Closer]bool // open connections through the tunnel; nil when the lease is closed
	failed int                // number of connections through the tunnel that failed
	why    string             // the error of the last failed connection
}

// start opens the local port and logs in to the server. After an error, the caller must call end.
func (t *tunnel) start(ctx context.Context) provider.Diags {
	var err error
	if t.listener, err = net.Listen("tcp", t.local); err != nil {
		return fails(refused("local_port", "Tunnel not opened", "Lethe cannot listen on the local port: %s.", reason(err)))
	}
	ctx, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	if _, err := t.server(ctx); err != nil {
		return fails(refused("tunnel_host", "Tunnel not opened", "The SSH server cannot be used: %s.", reason(err)))
	}
	t.busy.Go(t.accept)
	return nil
}

// reason returns the text of an error, without details that may be secret.
func reason(err error) string {
	switch s := sshconn.Reason(err); {
	case errors.Is(err, context.Canceled):
		return "it was interrupted"
	case s != "":
		return s
	}
	return "the connection was interrupted"
}

// server returns the connection to the SSH server. If no connection is open, server opens one. Only one caller at a
// time logs in.
func (t *tunnel) server(ctx context.Context) (*ssh.Client, error) {
	t.login.Lock()
	defer t.login.Unlock()
	if t.client != nil {
		select {
		case <-t.ended:
		default:
			return t.client, nil
		}
	}
	c, err := t.reach(ctx)
	if err != nil {
		return nil, err
	}
	t.client, t.ended = c, sshconn.Watch(c, alive, silent)
	return c, nil
}

// reach logs in to the SSH server. It repeats the attempt until the server answers or ctx ends, because a new server
// needs time until it accepts connections. If the server refuses the login, reach returns the error at once, because
// servers count failed logins.
func (t *tunnel) reach(ctx context.Context) (*ssh.Client, error) {
	var last error
	for {
		c, err := t.host.Login(ctx, sshconn.Direct)
		if err == nil || sshconn.Refused(err) || nameless(err) {
			return c, err
		}
		if last == nil || ctx.Err() == nil {
			last = err // keep the earlier error at a timeout, because it explains more
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil, ctx.Err()
			}
			return nil, last
		}
	}
}

// nameless reports whether an error means that the host name does not exist.
func nameless(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}

// accept accepts connections until the listener is closed.
func (t *tunnel) accept() {
	for {
		near, err := t.listener.Accept()
		if err != nil {
			if t.life.Err() != nil {
				return
			}
			time.Sleep(10 * time.Millisecond) // wait before the next attempt, because file descriptors may be exhausted
			continue
		}
		if !t.keep(near) {
			return
		}
		t.busy.Go(func() { t.carry(near) })
	}
}

// carry forwards one connection to the remote address, and returns when both directions have ended. If the remote
// address cannot be reached, carry records the error and closes the connection.
func (t *tunnel) carry(near net.Conn) {
	defer t.drop(near)
	far, err := t.dial()
	if err != nil {
		t.fail(err)
		return
	}
	if !t.keep(far) {
		return
	}
	defer t.drop(far)
	var both sync.WaitGroup
	both.Go(func() { pass(far, near) })
	both.Go(func() { pass(near, far) })
	both.Wait()
}

func (t *tunnel) dial() (net.Conn, error) {
	ctx, cancel := context.WithTimeout(t.life, t.limit)
	defer cancel()
	c, err := t.server(ctx)
	if err != nil {
		return nil, err
	}
	return c.DialContext(ctx, "tcp", t.remote)
}

// pass copies data from one connection to another until the first one ends. Then it closes the second one for writing.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	} else {
		to.Close()
	}
}

// keep registers a connection, so that the end of the lease closes it. If the lease has ended already, keep closes the
// connection and returns false.
func (t *tunnel) keep(c io.Closer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conns == nil {
		c.Close()
		return false
	}
	t.conns[c] = true
	return true
}

func (t *tunnel) drop(c io.Closer) {
	t.mu.Lock()
	delete(t.conns, c)
	t.mu.Unlock()
	c.Close()
}

func (t *tunnel) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.life.Err() == nil {
		t.failed++
		t.why = reason(err)
	}
}

// end closes the tunnel. It may be called more than once.
func (t *tunnel) end() {
	t.cancel()
	if t.listener != nil {
		t.listener.Close()
	}
	t.mu.Lock()
	conns := t.conns
	t.conns = nil
	t.mu.Unlock()
	for c := range conns {
		c.Close()
	}
	t.login.Lock()
	if t.client != nil {
		t.client.Close()
	}
	t.login.Unlock()
	t.busy.Wait()
}

// complaint returns a warning if connections through the tunnel failed, because the programs that use the tunnel see
// only broken connections. Otherwise it returns nil.
func (t *tunnel) complaint() provider.Diags {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == 0 {
		return nil
	}
	what := "A connection"
	if t.failed > 1 {
		what = fmt.Sprintf("%d connections", t.failed)
	}
	return fails(diag.Warningf("Connections through the tunnel failed", "%s to the remote address failed; the last error: %s.", what, t.why).In(cty.GetAttrPath("remote_host")))
}
