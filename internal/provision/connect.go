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

// attempt is how long one try to connect may take.
const attempt = 30 * time.Second

var (
	// alive is how often we ask whether a host still answers, and silent how long it may not.
	alive  = 15 * time.Second
	silent = 2 * time.Minute
)

// retries are the pauses between tries to connect; the last one again and again.
var retries = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 15 * time.Second}

// client is an SSH connection to the target, and what it goes through.
type client struct {
	*ssh.Client
	settings *settings
	inner    []io.Closer     // from the target to the outside
	forward  bool            // the agent may be used from the other side
	over     <-chan struct{} // closed when the connection has ended
}

// Close ends the connection, politely if the other side still listens.
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

// lost reports that the connection has ended without our doing.
func (c *client) lost() bool {
	select {
	case <-c.over:
		return true
	case <-time.After(200 * time.Millisecond): // the news may be under way
		return false
	}
}

// connect connects to the target, again and again until the timeout: a host that was just made
// takes a while until it listens, has its keys, and knows its users. That is also why a wrong key
// and a failed login are tried again.
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
			last = err // that the time was over says less than what was wrong before
		}
		select {
		case <-time.After(retries[min(try, len(retries)-1)]):
			continue
		case <-within.Done():
		}
		if ctx.Err() != nil {
			return nil, errInterrupted
		}
		return nil, &fault{full: "timeout - last error", bare: "timeout - last error", cause: last, remote: true}
	}
}

// dial tries once.
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
	c.over = sshconn.Watch(target, alive, silent)
	return c, nil
}
