package sshconn

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// Agent is an SSH agent, which holds keys. Each login opens a separate connection to the agent, so an agent that was
// restarted at the same socket is found again.
type Agent struct {
	socket   string
	identity string // the identity of the key to try first; "": no preference
}

// FindAgent returns the agent at a socket (the value of SSH_AUTH_SOCK), or an error if no agent can be reached there.
// The identity names the key to try first: the comment of the key, the public key itself, or the absolute path of a
// file with the public key. "" means no preference.
func FindAgent(ctx context.Context, socket, identity string) (*Agent, error) {
	a := &Agent{socket, identity}
	c, err := a.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c.Close()
	return a, nil
}

// Connect opens a connection to the agent. The connection is closed when ctx ends, so that no request outlives ctx.
func (a *Agent) Connect(ctx context.Context) (*AgentConn, error) {
	conn, err := dialAgent(ctx, a.socket)
	if err != nil {
		return nil, err
	}
	return &AgentConn{agent.NewClient(conn), conn, context.AfterFunc(ctx, func() { conn.Close() })}, nil
}

// AgentConn is a connection to an agent.
type AgentConn struct {
	agent.ExtendedAgent
	conn io.Closer
	stop func() bool
}

// Close closes the connection.
func (c *AgentConn) Close() error {
	c.stop()
	return c.conn.Close()
}

const usualPatience = 2 * time.Second

// agentPatience is the time that a login with a configured key waits for the keys of an agent.
var agentPatience = usualPatience

// agentLogin is the use of an agent during one login. The connection to the agent is opened when the login needs keys.
type agentLogin struct {
	ctx   context.Context
	agent *Agent // the agent; nil: no agent is used
	conn  *AgentConn
}

// signers returns the agent's keys. If extra is true, the login has other keys, so signers waits for the agent only for
// agentPatience.
func (l *agentLogin) signers(extra bool) (list []ssh.Signer, err error) {
	if l.conn, err = l.agent.Connect(l.ctx); err != nil {
		return nil, err
	}
	if extra {
		defer time.AfterFunc(agentPatience, func() { l.conn.Close() }).Stop()
	}
	return l.conn.signers(l.agent.identity)
}

func (l *agentLogin) close() {
	if l.conn != nil {
		l.conn.Close()
	}
}

// signers returns the agent's keys. The keys that match the identity come first; see FindAgent.
func (c *AgentConn) signers(identity string) ([]ssh.Signer, error) {
	signers, err := c.Signers()
	if err != nil || identity == "" {
		return signers, err
	}
	keys, err := c.List()
	if err != nil {
		return nil, err
	}
	preferred := map[string]bool{}
	named := publicKey(identity)
	for _, k := range keys {
		if k.Comment == identity || named != nil && string(k.Blob) == string(named.Marshal()) {
			preferred[string(k.Blob)] = true
		}
	}
	rank := func(s ssh.Signer) int {
		if preferred[string(s.PublicKey().Marshal())] {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(signers, func(x, y ssh.Signer) int { return rank(x) - rank(y) })
	return signers, nil
}

// publicKey returns the key that an identity contains, or the key in the file that an identity names: a file with a
// public key, or a private key with a public key beside it (.pub). It returns nil if the identity is neither.
func publicKey(identity string) ssh.PublicKey {
	if key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(identity)); err == nil {
		return key
	}
	for _, path := range []string{identity + ".pub", identity} {
		if !filepath.IsAbs(path) {
			return nil
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > 64<<10 {
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if key, _, _, _, err := ssh.ParseAuthorizedKey(b); err == nil {
			return key
		}
	}
	return nil
}
