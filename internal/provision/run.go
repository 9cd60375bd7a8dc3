package provision

import (
	"cmp"
	"context"
	"os"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/zclconf/go-cty/cty"
)

// Request describes a provisioner to run: its configuration, and the functions that receive its output.
type Request struct {
	Type       string     // LocalExec, RemoteExec or File
	Config     mark.Value // an object of the type of Schema(Type)
	Connection mark.Value // an object of the type of ConnectionSchema; the zero value means no connection

	// Output receives the output of the provisioner line by line. Calls do not overlap. It may be nil.
	Output func(line string)
	// Scrub masks the secrets in the output of a program. nil means that no secret is known.
	Scrub func(string) string

	// Dir is the absolute path of the directory in which relative local paths start, and the working directory of
	// commands. If Dir is "", commands run in the directory of the process, and the arguments must not contain relative
	// paths.
	Dir string
	// Env is the environment of commands. Commands do not receive the variables that subprocess.Environ withholds, such
	// as TF_VAR_ variables. Env names the SSH agent, too. nil means the environment of the process.
	Env []string
	// Abandon ends the grace time of an interrupted program: the program is killed at once. nil means the whole grace
	// time.
	Abandon context.Context
}

// run is the state of a provisioner while it runs.
type run struct {
	Request
	redaction   redaction
	diagnostics []diag.Diagnostic // warnings so far
}

func newRun(req Request) *run {
	if req.Abandon == nil {
		req.Abandon = context.Background()
	}
	if req.Env == nil {
		req.Env = os.Environ()
	}
	if req.Scrub == nil {
		req.Scrub = func(text string) string { return text }
	}
	out := req.Output
	r := &run{Request: req, redaction: newRedaction(req.Config, req.Connection)}
	r.Output = func(line string) {
		if r.redaction.why != "" {
			line = "(output suppressed due to " + r.redaction.why + " value in config)"
		}
		if out != nil {
			out(line)
		}
	}
	return r
}

// failure returns the diagnostic for an error, with secrets masked, or nil if err is nil.
func (r *run) failure(err error) []diag.Diagnostic {
	if err == nil {
		return nil
	}
	return []diag.Diagnostic{diag.Errorf(r.Type+" provisioner error", "%s", r.redaction.text(err))}
}

// path returns the absolute path of a local path of the configuration, which may be relative to Dir.
func (r *run) path(p string) string {
	return cmp.Or(paths.In(r.Dir, p), r.Dir)
}

// flag returns the value of a boolean argument, and whether it is set.
func flag(obj cty.Value, name string) (is, set bool) {
	v := obj.GetAttr(name)
	if v.IsNull() {
		return false, false
	}
	return v.True(), true
}
