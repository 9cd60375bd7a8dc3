package provision

import (
	"errors"

	"github.com/zclconf/go-cty/cty"

	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/sshconn"
	"github.com/lethe-iac/lethe/internal/subprocess"
)

// useAgent connects to the SSH agent: if the configuration asks for it, or says nothing and there
// is one.
func (s *settings) useAgent(obj cty.Value, env []string) error {
	wanted, set := flag(obj, "agent")
	if set && !wanted {
		return nil
	}
	socket := subprocess.Getenv(env, "SSH_AUTH_SOCK")
	a, err := sshconn.DialAgent(socket, schema.Text(obj, "agent_identity"))
	switch {
	case err != nil && !set:
		return nil
	case err != nil && socket == "":
		return errors.New("SSH agent requested but SSH_AUTH_SOCK not-specified")
	case err != nil:
		return errors.New("SSH agent requested, but there is none that can be reached at SSH_AUTH_SOCK")
	}
	s.target.Agent = a
	if s.bastion != nil {
		s.bastion.Agent = a
	}
	return nil
}

// close ends the connection to the agent.
func (s *settings) close() {
	if a := s.target.Agent; a != nil {
		a.Close()
	}
}
