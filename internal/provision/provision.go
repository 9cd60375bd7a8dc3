package provision

import (
	"context"

	"github.com/lethe-iac/lethe/internal/diag"
)

// Run runs a provisioner. The provisioner has failed if the diagnostics contain an error. The diagnostics have no
// address and no range; some have the path of an argument. When ctx ends, Run interrupts a running program, and kills
// it if it does not end. Run removes uploaded scripts even then.
func Run(ctx context.Context, req Request) []diag.Diagnostic {
	r := newRun(req)
	if r.diagnostics = r.check(); hasErrors(r.diagnostics) {
		return r.diagnostics
	}
	var err error
	switch req.Type {
	case LocalExec:
		err = r.local(ctx)
	case RemoteExec:
		err = r.remote(ctx)
	case File:
		err = r.file(ctx)
	}
	return append(r.diagnostics, r.failure(err)...)
}
