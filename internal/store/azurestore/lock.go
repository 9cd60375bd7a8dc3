package azurestore

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"github.com/lethe-iac/lethe/internal/store"
)

// Lock takes the lock of a workspace and returns the function that releases it. If another process holds the lock, the
// error is a *store.LockError.
func (r *remote) Lock(ctx context.Context, workspace string, who store.LockInfo) (func(context.Context) error, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, err
	}
	b := r.blob(workspace)
	_, err := b.Upload(ctx, streaming.NopCloser(bytes.NewReader(nil)), &blockblob.UploadOptions{
		HTTPHeaders:      &blob.HTTPHeaders{BlobContentType: to.Ptr("application/json")},
		AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}},
	})
	if err != nil && !bloberror.HasCode(err, bloberror.BlobAlreadyExists, bloberror.ConditionNotMet) && !isLeased(err) {
		return nil, answered(err)
	}
	l, err := lease.NewBlobClient(b, &lease.BlobClientOptions{LeaseID: &who.ID})
	if err != nil {
		return nil, err
	}
	// AcquireLease succeeds again if an earlier request acquired the lease with this ID.
	if _, err := l.AcquireLease(ctx, -1, nil); isLeased(err) {
		return nil, r.locked(ctx, workspace, errors.New("the state is locked"))
	} else if err != nil {
		return nil, answered(err)
	}
	r.mu.Lock()
	r.leases[workspace] = who.ID
	r.mu.Unlock()
	unlock := func(ctx context.Context) error {
		r.mu.Lock()
		ended := r.ended[who.ID]
		r.mu.Unlock()
		if ended {
			return nil
		}
		return r.Break(ctx, workspace, who.ID)
	}
	if at, err := url.Parse(b.URL()); err == nil {
		who.Path = strings.TrimPrefix(at.Path, "/") // the name of the container and of the blob
	}
	if err := r.sign(ctx, workspace, &who); err != nil {
		var noAnswer *store.UnansweredError
		if !errors.As(err, &noAnswer) {
			err = errors.Join(err, unlock(ctx))
		}
		return nil, err
	}
	return unlock, nil
}

// sign writes the lock's holder to the metadata of the blob, or removes the holder from the metadata if the argument
// who is nil. It does nothing if the blob does not exist.
func (r *remote) sign(ctx context.Context, workspace string, who *store.LockInfo) error {
	now, err := r.look(ctx, workspace)
	if err != nil || now == nil {
		return err
	}
	metadata := without(now.metadata)
	if metadata == nil {
		metadata = map[string]*string{}
	}
	if who != nil {
		metadata[lockMetadata] = to.Ptr(base64.StdEncoding.EncodeToString(who.Marshal()))
	}
	_, err = r.blob(workspace).SetMetadata(ctx, metadata, &blob.SetMetadataOptions{AccessConditions: r.unchanged(workspace, now)})
	return answered(err)
}

// Break releases the lock with the given ID. If the workspace has no such lock, the error is a *store.LockError. The ID
// of a lock is the ID of its lease. Break deletes an empty blob, which was created for the lock.
func (r *remote) Break(ctx context.Context, workspace, id string) error {
	if err := store.CheckName(workspace); err != nil {
		return err
	}
	now, err := r.look(ctx, workspace)
	switch {
	case err != nil:
		return err
	case now == nil || !now.leased:
		r.forget(workspace, id)
		return store.OtherLock(nil, id)
	}
	if held := now.holder(); held != nil && held.ID != id {
		return store.OtherLock(held, id)
	}
	r.mu.Lock()
	had, ours := r.leases[workspace]
	r.leases[workspace] = id // unchanged uses this lease for the following requests
	r.mu.Unlock()
	defer func() {
		r.forget(workspace, id)
		if ours && had != id {
			r.mu.Lock()
			r.leases[workspace] = had
			r.mu.Unlock()
		}
	}()
	if now.version == "" {
		_, err := r.blob(workspace).Delete(ctx, &blob.DeleteOptions{AccessConditions: r.unchanged(workspace, now)})
		if isLeased(err) {
			return &store.LockError{Err: fmt.Errorf("the lock has another ID than %s", id)}
		}
		return answered(err)
	}
	if err := r.sign(ctx, workspace, nil); err != nil {
		return err
	}
	l, err := lease.NewBlobClient(r.blob(workspace), &lease.BlobClientOptions{LeaseID: &id})
	if err != nil {
		return err
	}
	if _, err = l.ReleaseLease(ctx, nil); isLeased(err) {
		return &store.LockError{Err: fmt.Errorf("the lock has another ID than %s", id)}
	}
	return answered(err)
}

// forget records that this process no longer holds the lock with the given ID.
func (r *remote) forget(workspace, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.leases[workspace] == id {
		delete(r.leases, workspace)
	}
}
