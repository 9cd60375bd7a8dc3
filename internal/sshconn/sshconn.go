// Package sshconn logs in to a host over SSH. It verifies the host, and authenticates the user to the host.
//
// A Host holds the address, the expected keys and the credentials. Login returns a connection of the ssh library. The
// caller connects to the host: directly, through a proxy or through another host. Errors may contain addresses and
// users; callers that may not show them use Reason.
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

// Reach connects to an address, directly or through other hosts.
type Reach func(ctx context.Context, address string) (net.Conn, error)

// Direct connects to an address directly.
func Direct(ctx context.Context, address string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// Login connects to the host and authenticates there. If the host's keys must be verified, it connects again for each
// list of key algorithms until one succeeds.
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
		if last == nil || errors.As(err, &key) { // keep the error about a wrong key, because it explains the failure better than a key type that the host lacks
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
		config.HostKeyCallback = ssh.InsecureIgnoreHostKey() // without configured keys, any host is accepted, as documented
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

// Unauthorized reports whether the host refused the login. The library has no type for this error.
func Unauthorized(err error) bool {
	return err != nil && strings.Contains(err.Error(), "unable to authenticate")
}

// Refused reports whether the host was reached and another attempt is useless: it refused the login, or its key is not
// the expected key.
func Refused(err error) bool { return Unauthorized(err) || unproven(err) }

// auth returns the authentication methods. Keys come before passwords, and the configured key before the agent's keys,
// because servers limit the number of attempts.
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

// answer is the callback for keyboard-interactive logins. It returns the password for each question whose answer is not
// shown, and "" for other questions.
func (h *Host) answer(_, _ string, questions []string, echos []bool) ([]string, error) {
	answers := make([]string, len(questions))
	for i, shown := range echos {
		if !shown {
			answers[i] = h.Password
		}
	}
	return answers, nil
}

// Watch sends a request to the host at intervals of alive, and closes the connection if the host does not answer for
// the duration silent. Otherwise a host that was switched off would not be noticed. The returned channel is closed when
// the connection ends, for any reason.
func Watch(c *ssh.Client, alive, silent time.Duration) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		_ = c.Wait()
		close(done)
	}()
	go func() {
		tick := time.NewTicker(alive)
		defer tick.Stop()
		for {
			select {
			case <-done:
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
	return done
}

func (f Fixed) Error() string { return string(f) }

// Reason returns the kind of an error of this package, of the ssh library or of the network, without names, addresses
// and text from other systems. It returns "" if it cannot classify the error.
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
