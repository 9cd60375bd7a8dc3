package provision

import (
	"context"

	"github.com/lethe-iac/lethe/internal/diag"
)

// Run runs a provisioner. It failed if an error is among the diagnostics, which have neither
// address nor place; some have the path of an argument. When the context ends, what runs is asked
// to stop, and killed if it does not; scripts that were uploaded are removed all the same.
func Run(ctx context.Context, req Request) []diag.Diagnostic {
	r := newRun(req)
	if r.said = r.check(); hasErrors(r.said) {
		return r.said
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
	return append(r.said, r.failure(err)...)
}
