package provision

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/lethe-iac/lethe/internal/sshconn"
)

// attempt is the time limit of one attempt to connect.
const attempt = 30 * time.Second

var (
	// alive is the interval of keepalive requests. silent is the maximum time without an answer. After it, the connection
	// is closed.
	alive  = 15 * time.Second
	silent = 2 * time.Minute
)

// retries are the pauses between attempts to connect. The last pause is repeated.
var retries = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 15 * time.Second}

// client is an SSH connection to the target (the machine that the provisioner configures). It closes two more
// connections with it: the connection to the bastion, through which the target is reached, and the connection to the
// local SSH agent, which the target may use.
type client struct {
	*ssh.Client
	settings *settings
	inner    []io.Closer     // the connections that Close closes, in this order: to the agent, to the target, to the bastion. The agent and the bastion are optional
	forward  bool            // the target may use the SSH agent
	ended    <-chan struct{} // closed when the connection to the target has ended
}

// Close closes the connection. It waits up to two seconds for the other side.
func (c *client) Close() {
	closed := make(chan struct{})
	go func() {
		for _, x := range c.inner {
			x.Close()
		}
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(2 * time.Second):
		c.inner[len(c.inner)-1].Close()
	}
}

// broken reports whether the connection has ended. It waits a moment, because the end may not be known yet.
func (c *client) broken() bool {
	select {
	case <-c.ended:
		return true
	case <-time.After(200 * time.Millisecond): // wait, because the end may not be known yet
		return false
	}
}

// connect connects to the target. It tries again until the timeout, because a new host needs time until it listens, has
// its keys and knows its users. For the same reason it tries again after a wrong key and a failed login.
func (s *settings) connect(ctx context.Context) (*client, error) {
	within, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	var last error
	for try := 0; ; try++ {
		c, err := s.dial(within)
		if err == nil {
			return c, nil
		}
		if last == nil || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) {
			last = err // keep the earlier error at a timeout, because it explains more
		}
		select {
		case <-time.After(retries[min(try, len(retries)-1)]):
			continue
		case <-within.Done():
		}
		if ctx.Err() != nil {
			return nil, errInterrupted
		}
		return nil, &fault{full: "timeout - last error", safe: "timeout - last error", cause: last, remote: true}
	}
}

// dial makes one attempt to connect to the target.
func (s *settings) dial(ctx context.Context) (*client, error) {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	c := &client{settings: s}
	reach := func(ctx context.Context, address string) (net.Conn, error) {
		if s.proxy != nil {
			return s.proxy.dial(ctx, address)
		}
		return sshconn.Direct(ctx, address)
	}
	if s.bastion != nil {
		bastion, err := s.bastion.Login(ctx, reach)
		if err != nil {
			return nil, fmt.Errorf("bastion: %w", err)
		}
		c.inner = append(c.inner, bastion)
		reach = func(ctx context.Context, address string) (net.Conn, error) {
			conn, err := bastion.DialContext(ctx, "tcp", address)
			if err != nil {
				return nil, fmt.Errorf("bastion cannot reach the host: %w", err)
			}
			return conn, nil
		}
	}
	target, err := s.target.Login(ctx, reach)
	if err != nil {
		if c.inner != nil {
			c.Close()
		}
		return nil, err
	}
	c.Client = target
	c.inner = slices.Insert(c.inner, 0, io.Closer(target))
	if a := s.target.Agent; a != nil {
		if keys, err := a.Connect(context.WithoutCancel(ctx)); err == nil {
			c.inner = slices.Insert(c.inner, 0, io.Closer(keys))
			c.forward = agent.ForwardToAgent(target, keys) == nil
		}
	}
	c.ended = sshconn.Watch(target, alive, silent)
	return c, nil
}
