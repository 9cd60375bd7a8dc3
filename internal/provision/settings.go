package provision

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/sshconn"
	"github.com/lethe-iac/lethe/internal/subprocess"
)

// settings are the settings of a connection block, with defaults for arguments that are not set.
type settings struct {
	platform platform
	timeout  time.Duration
	script   string        // the pattern of the paths of scripts on the target; "": the default of the platform
	proxy    *proxy        // nil for a direct connection
	bastion  *sshconn.Host // nil for a direct connection
	target   sshconn.Host
}

// readSettings reads a validated connection block. Its errors contain no values.
func readSettings(ctx context.Context, obj cty.Value, env []string) (*settings, error) {
	port, _ := schema.Number(obj, "port")
	s := &settings{
		platform: schema.Text(obj, "target_platform") == "windows",
		script:   schema.Text(obj, "script_path"),
		timeout:  5 * time.Minute,
		target: sshconn.Host{
			Name: schema.Text(obj, "host"),
			Port: cmp.Or(port, 22),
			User: cmp.Or(schema.Text(obj, "user"), "root"),
		},
	}
	if d, err := time.ParseDuration(schema.Text(obj, "timeout")); err == nil && d > 0 {
		s.timeout = d
	}
	if err := credentials(&s.target, obj, ""); err != nil {
		return nil, err
	}
	if schema.Text(obj, "bastion_host") != "" {
		port, _ := schema.Number(obj, "bastion_port")
		s.bastion = &sshconn.Host{
			Name: schema.Text(obj, "bastion_host"),
			Port: cmp.Or(port, s.target.Port),
			User: cmp.Or(schema.Text(obj, "bastion_user"), s.target.User),
		}
		if err := credentials(s.bastion, obj, "bastion_"); err != nil {
			return nil, err
		}
		inherit(s.bastion, &s.target)
	}
	if schema.Text(obj, "proxy_host") != "" {
		s.proxy = readProxy(obj)
	}
	return s, s.useAgent(ctx, obj, env)
}

// credentials reads the arguments that have the same names for the target and, with a prefix, for a bastion.
func credentials(h *sshconn.Host, obj cty.Value, prefix string) error {
	h.Password = schema.Text(obj, prefix+"password")
	if pem := schema.Text(obj, prefix+"private_key"); pem != "" {
		key, err := sshconn.ParseKey(pem)
		if err != nil {
			return fmt.Errorf("%sprivate_key cannot be used: %w", prefix, err)
		}
		h.Key = key
	}
	if cert := schema.Text(obj, prefix+"certificate"); cert != "" && h.Key != nil {
		signer, err := sshconn.Certify(h.Key, cert)
		if err != nil {
			return fmt.Errorf("%scertificate cannot be used: %w", prefix, err)
		}
		h.Cert = signer
	}
	if keys := schema.Text(obj, prefix+"host_key"); keys != "" {
		var err error
		if h.HostKeys, err = sshconn.ParseHostKeys(keys); err != nil {
			return fmt.Errorf("%shost_key cannot be used: %w", prefix, err)
		}
	}
	return nil
}

// inherit copies the password and the key of the target to a bastion that has none.
func inherit(h, from *sshconn.Host) {
	h.Password = cmp.Or(h.Password, from.Password)
	if h.Key == nil {
		h.Key, h.Cert = from.Key, from.Cert
	}
}

// useAgent connects to the SSH agent, unless the argument agent is false. A missing agent is an error only if agent is
// true.
func (s *settings) useAgent(ctx context.Context, obj cty.Value, env []string) error {
	wanted, set := flag(obj, "agent")
	if set && !wanted {
		return nil
	}
	socket := subprocess.Getenv(env, "SSH_AUTH_SOCK")
	a, err := sshconn.FindAgent(ctx, socket, schema.Text(obj, "agent_identity"))
	switch {
	case err != nil && !set:
		return nil
	case err != nil && socket == "":
		return errors.New("SSH agent requested but SSH_AUTH_SOCK not-specified")
	case err != nil:
		return errors.New("SSH agent requested, but no agent answers at SSH_AUTH_SOCK")
	}
	s.target.Agent = a
	if s.bastion != nil {
		s.bastion.Agent = a
	}
	return nil
}
