package kubestore

import (
	"context"
	"errors"
	"maps"
	"net/http"

	"github.com/lethe-iac/lethe/internal/store"
)

// lockAnnotation is the annotation of a Lease that describes the holder of the lock.
const lockAnnotation = "app.terraform.io/lock-info"

func (r *remote) leaseName(workspace string) string { return "lock-" + r.name(workspace) }

// holder returns the holder of the lock that a Lease represents, or nil if the Lease is missing or free.
func (o *object) holder() *store.LockInfo {
	if o == nil || o.Spec == nil || o.Spec.HolderIdentity == "" {
		return nil
	}
	who, err := store.ParseLockInfo([]byte(o.Metadata.Annotations[lockAnnotation]))
	if err != nil || who.ID == "" {
		who = store.LockInfo{ID: o.Spec.HolderIdentity, Info: "the Lease has no other information"}
	}
	return &who
}

// Lock takes the lock of a workspace and returns the function that releases it. If another process holds the lock, the
// error is a *store.LockError. Unlocking keeps the Lease, without a holder, unless the workspace was deleted under the
// lock.
func (r *remote) Lock(ctx context.Context, workspace string, who store.LockInfo) (func(context.Context) error, error) {
	if err := checkName(workspace); err != nil {
		return nil, err
	}
	who.Path = r.o.Namespace + "/" + r.name(workspace)
	unlock := func(ctx context.Context) error { return r.Break(ctx, workspace, who.ID) }
	lease, err := r.load(ctx, r.leases(), r.leaseName(workspace))
	if err != nil {
		return nil, err
	}
	if held := lease.holder(); held != nil && held.ID == who.ID {
		return unlock, nil // an earlier request took the lock, and its answer was lost
	} else if held != nil {
		return nil, &store.LockError{Held: held, Err: errors.New("the state is locked")}
	}
	if lease == nil {
		lease = &object{Metadata: metadata{Name: r.leaseName(workspace), Namespace: r.o.Namespace}}
	}
	lease.APIVersion, lease.Kind, lease.Spec = "coordination.k8s.io/v1", "Lease", &leaseSpec{who.ID}
	if lease.Metadata.Labels == nil {
		lease.Metadata.Labels = map[string]string{}
	}
	maps.Copy(lease.Metadata.Labels, r.labels(workspace))
	if lease.Metadata.Annotations == nil {
		lease.Metadata.Annotations = map[string]string{}
	}
	lease.Metadata.Annotations[lockAnnotation] = string(who.Marshal())
	err = r.save(ctx, r.leases(), lease)
	if store.Refused(err, http.StatusConflict) {
		now, err := r.load(ctx, r.leases(), r.leaseName(workspace))
		if err != nil {
			return nil, err
		}
		switch held := now.holder(); {
		case held == nil: // the lock is free: another process changed a field of the Lease, or released the lock
			return nil, &store.UnansweredError{Err: errors.New("another process is changing the Lease"), Unsent: true}
		case held.ID != who.ID:
			return nil, &store.LockError{Held: held, Err: errors.New("another process has just locked the state")}
		}
		return unlock, nil // an earlier request took the lock, and its answer was lost
	}
	if err != nil {
		return nil, err
	}
	return unlock, nil
}

// Break releases the lock with the given ID. If the workspace has no such lock, the error is a *store.LockError.
func (r *remote) Break(ctx context.Context, workspace, id string) error {
	if err := checkName(workspace); err != nil {
		return err
	}
	for range 10 {
		lease, err := r.load(ctx, r.leases(), r.leaseName(workspace))
		if err != nil {
			return err
		}
		held := lease.holder()
		if held == nil || held.ID != id && lease.Spec.HolderIdentity != id {
			return store.OtherLock(held, id)
		}
		if err = r.free(ctx, workspace, lease); !store.Refused(err, http.StatusConflict, http.StatusNotFound) {
			return err
		}
		// the Lease has changed, and perhaps not its holder: read it again
	}
	return &store.UnansweredError{Err: errors.New("other processes keep changing the Lease"), Unsent: true}
}

// free releases the lock by clearing the holder of the Lease. If the workspace was deleted under the lock, free deletes
// the Lease instead. If the Lease has changed since it was loaded, the error is a *store.RefusedError with the status
// 409.
func (r *remote) free(ctx context.Context, workspace string, lease *object) error {
	r.mu.Lock()
	removed := r.removed[workspace]
	r.mu.Unlock()
	if removed {
		return r.remove(ctx, r.leases(), lease.Metadata.Name, lease.Metadata.ResourceVersion)
	}
	lease.Spec = &leaseSpec{}
	delete(lease.Metadata.Annotations, lockAnnotation)
	return r.save(ctx, r.leases(), lease)
}

// dropLease deletes the Lease of a deleted workspace. If a process holds the Lease, it stays until that process unlocks
// it. If another process acquires the Lease in the meantime, the Lease stays.
func (r *remote) dropLease(ctx context.Context, workspace string) error {
	lease, err := r.load(ctx, r.leases(), r.leaseName(workspace))
	if err != nil || lease == nil {
		return err
	}
	if lease.holder() != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.removed[workspace] = true
		return nil
	}
	err = r.remove(ctx, r.leases(), lease.Metadata.Name, lease.Metadata.ResourceVersion)
	if store.Refused(err, http.StatusConflict) {
		return nil // another process has acquired the Lease in the meantime
	}
	return err
}
