package provision

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"

	"golang.org/x/crypto/ssh"

	"github.com/zclconf/go-cty/cty"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/sshconn"
)

// redaction decides which texts of a run may be shown. It depends on the marks of the configuration.
type redaction struct {
	// why is the reason for omitting output and details: "ephemeral", "sensitive", or "" if they may be shown. A value
	// with both marks counts as ephemeral, as in the RFC about ephemeral values. Sensitive arguments of the connection are
	// no reason, because keys and passwords are not shown and the program does not receive them.
	why string
	// names is true if host, user and similar arguments of the connection must not be shown either, because they are
	// sensitive or ephemeral.
	names bool
	// script is true if script_path is sensitive or ephemeral: the path of a script must not be shown.
	script bool
}

// unnamed are the connection arguments that appear in no message.
var unnamed = []string{
	"password", "private_key", "certificate", "host_key", "agent", "agent_identity", "timeout", "type", "target_platform",
	"bastion_password", "bastion_private_key", "bastion_certificate", "bastion_host_key", "proxy_user_password", "proxy_scheme",
}

func newRedaction(config, connection mark.Value) redaction {
	var h redaction
	switch {
	case config.Has(mark.Ephemeral) || connection.Has(mark.Ephemeral):
		h.why = mark.Ephemeral.String()
	case config.Has(mark.Sensitive):
		h.why = mark.Sensitive.String()
	}
	for _, m := range connection.Marks {
		name := ""
		if len(m.Path) > 0 {
			step, _ := m.Path[0].(cty.GetAttrStep)
			name = step.Name
		}
		h.names = h.names || !slices.Contains(unnamed, name)
		h.script = h.script || name == "" || name == "script_path"
	}
	h.names = h.names || h.why != ""
	return h
}

// fault is a failure with two texts: one for messages that may show values, and one for messages that must not.
type fault struct {
	full   string // the failure with details
	safe   string // the failure without values of the configuration
	after  string // the output of the program; messages have it only together with full
	cause  error
	remote bool // the details may contain arguments of the connection, such as the host and the user
}

func (f *fault) Error() string {
	if f.cause == nil {
		return f.full
	}
	return f.full + ": " + f.cause.Error() + f.after
}

func (f *fault) Unwrap() error { return f.cause }

// text returns the text of an error. It leaves out the details that the marks of the configuration forbid to show.
func (h redaction) text(err error) string {
	if h.why == "" && !h.names {
		return err.Error()
	}
	var f *fault
	if !errors.As(err, &f) {
		return h.reason(err)
	}
	switch {
	case h.why == "" && !f.remote:
		return f.Error()
	case f.cause == nil:
		return f.safe
	}
	return f.safe + ": " + h.reason(f.cause)
}

// reason returns a text for the kind of an error, such as "exit status 1". The text contains nothing from the
// configuration and nothing that another machine has sent.
func (h redaction) reason(err error) string {
	var (
		local    *exec.ExitError
		far      *ssh.ExitError
		noStatus *ssh.ExitMissingError
		via      *proxyError
	)
	switch {
	case errors.As(err, &local):
		return local.ProcessState.String()
	case errors.As(err, &far):
		return exitText(far)
	case errors.As(err, &noStatus):
		return "the connection ended before the exit status came"
	case errors.Is(err, exec.ErrNotFound):
		return "the interpreter was not found"
	case errors.As(err, &via):
		return fmt.Sprintf("the proxy answered with status %d", via.status)
	}
	if why := sshconn.Reason(err); why != "" {
		return why
	}
	return "the reason is not shown, because the configuration contains secret values"
}

// exitText returns the exit status or the signal of a remote program, without the server's message.
func exitText(e *ssh.ExitError) string {
	if e.Signal() != "" && len(e.Signal()) < 10 {
		return "signal " + e.Signal()
	}
	return fmt.Sprintf("exit status %d", e.ExitStatus())
}

// errInterrupted reports that the context has ended.
const errInterrupted = sshconn.Fixed("interrupted")
