// Package sshconn logs in to a host over SSH: it proves who the host is, and to the host who we are.
//
// A Host says where it is and what is known of it; Login gives a connection of the ssh library.
// How the host is reached (directly, through a proxy or another host) is the caller's business.
// Errors may name addresses and users; Reason is for callers that must not show those.
package sshconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

// Reach makes a connection to an address.
type Reach func(ctx context.Context, address string) (net.Conn, error)

// Direct reaches an address without help.
func Direct(ctx context.Context, address string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// Login connects to the host and authenticates there. A host whose keys are to be checked is asked
// for one kind of them after the other.
func (h *Host) Login(ctx context.Context, reach Reach) (*ssh.Client, error) {
	var last error
	for _, algorithms := range h.proofs() {
		conn, err := reach(ctx, h.Address())
		if err != nil {
			return nil, err
		}
		c, err := h.handshake(ctx, conn, algorithms)
		if err == nil {
			return c, nil
		}
		var key *HostKeyError
		if last == nil || errors.As(err, &key) { // a wrong key says more than a missing one
			last = err
		}
		if !unproven(err) {
			return nil, err
		}
	}
	return nil, last
}

func (h *Host) handshake(ctx context.Context, conn net.Conn, algorithms []string) (*ssh.Client, error) {
	keys := &agentLogin{ctx: ctx, agent: h.Agent}
	defer keys.close()
	config := &ssh.ClientConfig{User: h.User, Auth: h.auth(keys), HostKeyAlgorithms: algorithms, HostKeyCallback: h.check}
	if h.HostKeys == nil {
		config.HostKeyCallback = ssh.InsecureIgnoreHostKey() // as documented: new hosts are not known
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	sc, channels, requests, err := ssh.NewClientConn(conn, h.Address(), config)
	if !stop() {
		if err == nil {
			sc.Close()
		}
		return nil, fmt.Errorf("SSH handshake with %s: %w", h.Address(), ctx.Err())
	}
	switch {
	case Unauthorized(err):
		return nil, fmt.Errorf("SSH authentication failed (%s@%s): %w", h.User, h.Address(), err)
	case err != nil:
		return nil, fmt.Errorf("SSH connection to %s: %w", h.Address(), err)
	}
	return ssh.NewClient(sc, channels, requests), nil
}

// Unauthorized reports that a host let us get as far as the login and no further. The library has
// no type for it.
func Unauthorized(err error) bool {
	return err != nil && strings.Contains(err.Error(), "unable to authenticate")
}

// Refused reports that the host was reached and that it is no use to try again: it does not let us
// in, or is not the one that was meant.
func Refused(err error) bool { return Unauthorized(err) || unproven(err) }

// auth returns the ways to log in: keys before passwords, and the configured key before the agent's keys,
// because servers count tries.
func (h *Host) auth(keys *agentLogin) []ssh.AuthMethod {
	var signers []ssh.Signer
	if h.Cert != nil {
		signers = append(signers, h.Cert)
	}
	if h.Key != nil {
		signers = append(signers, h.Key)
	}
	var methods []ssh.AuthMethod
	if len(signers) > 0 || h.Agent != nil {
		methods = append(methods, ssh.PublicKeysCallback(func() ([]ssh.Signer, error) {
			if h.Agent == nil {
				return signers, nil
			}
			more, err := keys.signers(len(signers) > 0)
			if len(signers) > 0 {
				err = nil
			}
			return append(slices.Clip(signers), more...), err
		}))
	}
	if h.Password != "" {
		methods = append(methods, ssh.Password(h.Password), ssh.KeyboardInteractive(h.answer))
	}
	return methods
}

// answer gives the password to questions whose answers are not shown, and nothing to others.
func (h *Host) answer(_, _ string, questions []string, echos []bool) ([]string, error) {
	answers := make([]string, len(questions))
	for i, shown := range echos {
		if !shown {
			answers[i] = h.Password
		}
	}
	return answers, nil
}

// Watch asks every now and then (alive) whether the host is still there, and ends the connection
// if it does not answer for a while (silent): a host that was switched off does not say so. The
// channel is closed when the connection has ended, for any reason.
func Watch(c *ssh.Client, alive, silent time.Duration) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		_ = c.Wait()
		close(over)
	}()
	go func() {
		tick := time.NewTicker(alive)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			dead := time.AfterFunc(silent, func() { c.Close() })
			_, _, err := c.SendRequest("keepalive@openssh.com", true, nil)
			dead.Stop()
			if err != nil {
				return
			}
		}
	}()
	return over
}

func (f Fixed) Error() string { return string(f) }

// Reason is what an error of this package, of the ssh library or of the network says about its
// kind, without any name, address or text that was sent from elsewhere; "" if nothing can be said.
func Reason(err error) string {
	var (
		ours  Fixed
		key   *HostKeyError
		errno syscall.Errno
		dns   *net.DNSError
		open  *ssh.OpenChannelError
	)
	switch {
	case errors.As(err, &ours):
		return ours.Error()
	case errors.As(err, &key):
		return key.Error()
	case errors.As(err, &open):
		return "the SSH server refused to connect (" + open.Reason.String() + ")"
	case errors.As(err, &errno):
		return errno.Error()
	case errors.As(err, &dns):
		return "the host's name cannot be resolved"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "it took too long"
	case Unauthorized(err):
		return "SSH authentication failed"
	}
	return ""
}
