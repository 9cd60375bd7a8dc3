package provision

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/zclconf/go-cty/cty"
)

// sshAgent holds keys for us.
type sshAgent struct {
	agent.ExtendedAgent
	identity string // the preferred key; "": any
	conn     io.Closer
}

// useAgent connects to the SSH agent: if the configuration asks for it, or says nothing and there
// is one.
func (s *settings) useAgent(obj cty.Value, env []string) error {
	wanted, set := flag(obj, "agent")
	if set && !wanted {
		return nil
	}
	socket := lookup(env, "SSH_AUTH_SOCK")
	conn, err := dialAgent(socket)
	switch {
	case err != nil && !set:
		return nil
	case err != nil && socket == "":
		return errors.New("SSH agent requested but SSH_AUTH_SOCK not-specified")
	case err != nil:
		return errors.New("SSH agent requested, but there is none that can be reached at SSH_AUTH_SOCK")
	}
	a := &sshAgent{agent.NewClient(conn), text(obj, "agent_identity"), conn}
	s.target.agent = a
	if s.bastion != nil {
		s.bastion.agent = a
	}
	return nil
}

// close ends the connection to the agent.
func (s *settings) close() {
	if a := s.target.agent; a != nil {
		a.conn.Close()
	}
}

// lookup finds a variable in an environment; the last one counts.
func lookup(env []string, name string) string {
	for _, e := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// signers are the agent's keys, the preferred one first: one that is named by its comment, as a
// public key, or by a file with that.
func (a *sshAgent) signers() ([]ssh.Signer, error) {
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
