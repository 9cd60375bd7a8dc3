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

// redaction says what may be shown of a run, as the marks of its configuration decide.
type redaction struct {
	// why output and details are left out: "ephemeral" (the RFC's line says so, also of a value that is
	// sensitive, too), "sensitive", or "" if they are not.
	// A sensitive argument of the connection alone is no reason: keys and passwords are not shown
	// in any case, and the program does not get them.
	why string
	// names says that not even host, user and the like may be shown.
	names bool
}

// unnamed are the arguments of a connection that appear in no message.
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
	h.names = h.why != "" || slices.ContainsFunc(connection.Marks, func(m mark.At) bool {
		if len(m.Path) == 0 {
			return true
		}
		step, ok := m.Path[0].(cty.GetAttrStep)
		return !ok || !slices.Contains(unnamed, step.Name)
	})
	return h
}

// fault is a failure that can be reported with all details or without.
type fault struct {
	full   string // what failed, in full
	bare   string // the same without anything from the configuration
	after  string // what the program printed; not part of bare
	cause  error
	remote bool // it is about the connection
}

func (f *fault) Error() string {
	if f.cause == nil {
		return f.full
	}
	return f.full + ": " + f.cause.Error() + f.after
}

func (f *fault) Unwrap() error { return f.cause }

// text is what may be said of an error.
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
		return f.bare
	}
	return f.bare + ": " + h.reason(f.cause)
}

// reason is what may be said of the cause of a failure: its kind, but no text that is made from
// the configuration or was sent from elsewhere.
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
	return "the reason is left out, because the configuration holds values that must not be shown"
}

// exitText is the end of a remote program, without the server's words.
func exitText(e *ssh.ExitError) string {
	if e.Signal() != "" && len(e.Signal()) < 10 {
		return "signal " + e.Signal()
	}
	return fmt.Sprintf("exit status %d", e.ExitStatus())
}

// errInterrupted says that the context ended.
const errInterrupted = sshconn.Fixed("interrupted")
