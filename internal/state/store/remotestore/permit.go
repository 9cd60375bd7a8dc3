package remotestore

import (
	"context"
	"fmt"
	"strings"
)

// Permit implements store.Governed.
func (r *remote) Permit(ctx context.Context, of string, runs bool, version string) error {
	name, err := r.name(of)
	if err != nil {
		return err
	}
	var w *workspace
	err = r.o.Tries.Do(ctx, func() error {
		w, err = r.find(ctx, name)
		return err
	})
	if err != nil || w == nil || w.Attributes.Mode == "local" {
		return err
	}
	if runs && !r.o.Here {
		return fmt.Errorf("the workspace %s runs plans and applies on %s (its execution mode is %q), but Lethe runs them on the machine where it is called: set the execution mode of the workspace to local, or TF_FORCE_LOCAL_BACKEND to 1; commands about the state work as it is", r.path(name), r.o.Host, w.Attributes.Mode)
	}
	if there := w.Attributes.Terraform; version != "" && there != "latest" && series(there) != series(version) {
		return fmt.Errorf("the workspace %s is run by Terraform %s on %s, and the state would be written as of version %s, which it may not read: with -ignore-remote-version it is written all the same", r.path(name), there, r.o.Host, version)
	}
	return nil
}

// series is a version without its last number: states of one series are read by all of it.
func series(version string) string {
	version = strings.TrimLeft(version, "~>= ")
	if i := strings.LastIndexByte(version, '.'); strings.Count(version, ".") > 1 {
		return version[:i]
	}
	return version
}
