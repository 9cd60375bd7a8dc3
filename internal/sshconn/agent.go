package sshconn

import (
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// Agent holds keys for us.
type Agent struct {
	agent.ExtendedAgent
	identity string // the preferred key; "": any
	conn     io.Closer
}

// DialAgent connects to the SSH agent at a socket (the value of SSH_AUTH_SOCK). The identity is
// that of the key to be tried first: its comment, the public key itself, or the absolute path of a
// file with it; "": none.
func DialAgent(socket, identity string) (*Agent, error) {
	conn, err := dialAgent(socket)
	if err != nil {
		return nil, err
	}
	return &Agent{agent.NewClient(conn), identity, conn}, nil
}

// Close ends the connection to the agent.
func (a *Agent) Close() { a.conn.Close() }

// signers are the agent's keys, the preferred one first: one that is named by its comment, as a
// public key, or by a file with that.
func (a *Agent) signers() ([]ssh.Signer, error) {
	signers, err := a.Signers()
	if err != nil || a.identity == "" {
		return signers, err
	}
	keys, err := a.List()
	if err != nil {
		return nil, err
	}
	preferred := map[string]bool{}
	named := publicKey(a.identity)
	for _, k := range keys {
		if k.Comment == a.identity || named != nil && string(k.Blob) == string(named.Marshal()) {
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

// publicKey reads an identity that is a public key, or the path of a file with one: its own, or
// that of the private key beside it. It gives nil if it is neither.
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
