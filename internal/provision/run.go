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

// Request is one provisioner to be run.
type Request struct {
	Type       string     // LocalExec, RemoteExec or File
	Config     mark.Value // an object as Schema(Type) describes it
	Connection mark.Value // an object as ConnectionSchema describes it; the zero value: there is none

	// Output takes what the provisioner prints, line by line, as it comes. Calls do not overlap.
	// It may be nil.
	Output func(line string)

	// Dir is what relative local paths start from, and where commands run; "": the directory of
	// the process.
	Dir string
	// Env is the environment that commands get, without TF_VAR_ variables, and in which the SSH
	// agent is found; nil: that of the process.
	Env []string
	// Abandon, when it ends, has a program that was asked to stop killed at once; nil: it gets its time.
	Abandon context.Context
}

// run is a provisioner being run.
type run struct {
	Request
	redaction redaction
	said      []diag.Diagnostic // warnings so far
}

func newRun(req Request) *run {
	if req.Abandon == nil {
		req.Abandon = context.Background()
	}
	if req.Env == nil {
		req.Env = os.Environ()
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

// failure is what is reported of an error.
func (r *run) failure(err error) []diag.Diagnostic {
	if err == nil {
		return nil
	}
	return []diag.Diagnostic{diag.Errorf(r.Type+" provisioner error", "%s", r.redaction.text(err))}
}

// path is a local path as the program opens it.
func (r *run) path(p string) string {
	return cmp.Or(paths.In(r.Dir, p), r.Dir)
}

// flag is an argument's value, and whether it is set.
func flag(obj cty.Value, name string) (is, set bool) {
	v := obj.GetAttr(name)
	if v.IsNull() {
		return false, false
	}
	return v.True(), true
}
