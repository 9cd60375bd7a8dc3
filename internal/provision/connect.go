package provision

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
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
	inner    []io.Closer   // from the target to the outside
	forward  bool          // the agent may be used from the other side
	over     chan struct{} // closed when the connection has ended
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
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
	if s.bastion != nil {
		bastion, err := s.bastion.login(ctx, reach)
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
	target, err := s.target.login(ctx, reach)
	if err != nil {
		if c.inner != nil {
			c.Close()
		}
		return nil, err
	}
	c.Client = target
	c.inner = slices.Insert(c.inner, 0, io.Closer(target))
	if a := s.target.agent; a != nil {
		c.forward = agent.ForwardToAgent(target, a) == nil
	}
	c.over = make(chan struct{})
	go func() {
		_ = target.Wait()
		close(c.over)
	}()
	go c.watch(alive, silent)
	return c, nil
}

// login connects to a hop and authenticates there. A host whose keys are to be checked is asked
// for one kind of them after the other.
func (h *hop) login(ctx context.Context, reach func(context.Context, string) (net.Conn, error)) (*ssh.Client, error) {
	var last error
	for _, algorithms := range h.proofs() {
		conn, err := reach(ctx, h.address())
		if err != nil {
			return nil, err
		}
		c, err := h.handshake(ctx, conn, algorithms)
		if err == nil {
			return c, nil
		}
		var key *hostKeyError
		if last == nil || errors.As(err, &key) { // a wrong key says more than a missing one
			last = err
		}
		if !unproven(err) {
			return nil, err
		}
	}
	return nil, last
}

func (h *hop) handshake(ctx context.Context, conn net.Conn, algorithms []string) (*ssh.Client, error) {
	config := &ssh.ClientConfig{User: h.user, Auth: h.auth(), HostKeyAlgorithms: algorithms, HostKeyCallback: h.checkHost}
	if h.hostKeys == nil {
		config.HostKeyCallback = ssh.InsecureIgnoreHostKey() // as documented: new hosts are not known
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	sc, channels, requests, err := ssh.NewClientConn(conn, h.address(), config)
	if !stop() {
		if err == nil {
			sc.Close()
		}
		return nil, fmt.Errorf("SSH handshake with %s: %w", h.address(), ctx.Err())
	}
	switch {
	case unauthorized(err):
		return nil, fmt.Errorf("SSH authentication failed (%s@%s): %w", h.user, h.address(), err)
	case err != nil:
		return nil, fmt.Errorf("SSH connection to %s: %w", h.address(), err)
	}
	return ssh.NewClient(sc, channels, requests), nil
}

// unauthorized reports that a host let us get as far as the login and no further. The library has
// no type for it.
func unauthorized(err error) bool {
	return err != nil && strings.Contains(err.Error(), "unable to authenticate")
}

// auth are the ways to log in: keys before passwords, and the configured key before the agent's,
// because servers count tries.
func (h *hop) auth() []ssh.AuthMethod {
	var signers []ssh.Signer
	if h.cert != nil {
		signers = append(signers, h.cert)
	}
	if h.key != nil {
		signers = append(signers, h.key)
	}
	var methods []ssh.AuthMethod
	if len(signers) > 0 || h.agent != nil {
		methods = append(methods, ssh.PublicKeysCallback(func() ([]ssh.Signer, error) {
			if h.agent == nil {
				return signers, nil
			}
			more, err := h.agent.signers()
			if len(signers) > 0 {
				err = nil // the agent is not all we have
			}
			return append(slices.Clip(signers), more...), err
		}))
	}
	if h.password != "" {
		methods = append(methods, ssh.Password(h.password), ssh.KeyboardInteractive(h.answer))
	}
	return methods
}

// answer gives the password to questions whose answers are not shown, and nothing to others.
func (h *hop) answer(_, _ string, questions []string, echos []bool) ([]string, error) {
	answers := make([]string, len(questions))
	for i, shown := range echos {
		if !shown {
			answers[i] = h.password
		}
	}
	return answers, nil
}

// watch asks now and then whether the host is still there, and ends the connection if it is not:
// a host that was switched off does not say so.
func (c *client) watch(alive, silent time.Duration) {
	tick := time.NewTicker(alive)
	defer tick.Stop()
	for {
		select {
		case <-c.over:
			return
		case <-tick.C:
		}
		dead := time.AfterFunc(silent, func() { c.Client.Close() })
		_, _, err := c.SendRequest("keepalive@openssh.com", true, nil)
		dead.Stop()
		if err != nil {
			return
		}
	}
}
