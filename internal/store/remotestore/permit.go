package remotestore

import (
	"context"
	"fmt"
	"strings"

	goversion "github.com/hashicorp/go-version"
)

// Permit returns an error if the service does not permit an operation on the workspace. It permits everything if the
// workspace does not exist, or has the execution mode "local". Otherwise it refuses plans and applies (runs is true)
// unless Options.Here is set, and a write of a state whose version the workspace's Terraform may not read.
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
		return fmt.Errorf("the workspace %s runs plans and applies on %s (its execution mode is %q), but Lethe runs them on this machine. Set the execution mode of the workspace to local, or TF_FORCE_LOCAL_BACKEND to 1. Commands about the state need neither", r.path(name), r.o.Host, w.Attributes.Mode)
	}
	if existing := w.Attributes.Terraform; version != "" && existing != "latest" && !reads(existing, version) {
		return fmt.Errorf("the workspace %s uses Terraform %s on %s, which may not read a state of version %s. To write the state anyway, use -ignore-remote-version", r.path(name), existing, r.o.Host, version)
	}
	return nil
}

// reads reports whether a workspace can read a state of a version. The argument existing is the version of Terraform of
// the workspace. If it is a constraint, such as "~> 1.5", the version of the state must satisfy it.
func reads(existing, version string) bool {
	if _, err := goversion.NewSemver(existing); err == nil {
		return series(existing) == series(version)
	}
	permitted, err := goversion.NewConstraint(existing)
	if err != nil {
		return false
	}
	v, err := goversion.NewVersion(version)
	return err == nil && permitted.Check(v)
}

// series returns a version without its patch number. All versions of a series can read each other's states.
func series(version string) string {
	if i := strings.LastIndexByte(version, '.'); strings.Count(version, ".") > 1 {
		return version[:i]
	}
	return version
}
