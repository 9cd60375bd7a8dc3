// Package azurestore keeps states as blobs of an Azure storage account: what Terraform and OpenTofu call the backend
// "azurerm", with their names, so that each waits for the locks of the others.
//
// The lock is a lease of the blob that does not end, with the ID of the lock; who has it stands in the blob's metadata.
// A lease needs a blob: where there is no state yet, an empty one is made, which is none.
//
// The version of a state is the MD5 that the service keeps of its content. The ETag is none: it changes with the
// metadata. Each writing names the ETag that goes with the version, so that nothing comes between.
package azurestore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/cloudauth"
)

// Options say where states are.
type Options struct {
	Container *container.Client
	Key       string // of the default workspace
	Snapshot  bool   // whether what is replaced is kept as a snapshot
}

// New makes the store. It makes each request once: see store.Careful.
func New(o Options) store.Remote {
	return &remote{o: o, leases: map[string]string{}, over: map[string]bool{}}
}

type remote struct {
	o Options

	mu     sync.Mutex
	leases map[string]string // the locks of this process: IDs by workspace
	over   map[string]bool   // those that went with what they locked, by their IDs
}

// prefix begins the names of the blobs of other workspaces.
func (r *remote) prefix() string { return r.o.Key + "env:" }

func (r *remote) blob(workspace string) *blockblob.Client {
	if workspace == store.Default {
		return r.o.Container.NewBlockBlobClient(r.o.Key)
	}
	return r.o.Container.NewBlockBlobClient(r.prefix() + workspace)
}

// Place implements store.Placed. The query of an address is a signature.
func (r *remote) Place(workspace string) string {
	at, _, _ := strings.Cut(r.blob(workspace).URL(), "?")
	return "azurerm:" + at
}

func versionOf(sum []byte) store.Version {
	return store.Version(base64.StdEncoding.EncodeToString(sum))
}

// found is what a blob is, besides its content.
type found struct {
	etag     azcore.ETag
	version  store.Version // "" for an empty one
	metadata map[string]*string
	leased   bool
}

// look asks what a blob is; nil where there is none.
func (r *remote) look(ctx context.Context, workspace string) (*found, error) {
	p, err := r.blob(workspace).GetProperties(ctx, nil)
	switch {
	case isNone(err):
		return nil, nil
	case err != nil:
		return nil, answered(err)
	}
	f := &found{metadata: p.Metadata, leased: p.LeaseStatus != nil && *p.LeaseStatus == lease.StatusTypeLocked}
	if p.ETag != nil {
		f.etag = *p.ETag
	}
	if p.ContentLength == nil || *p.ContentLength == 0 {
		return f, nil
	}
	if len(p.ContentMD5) > 0 {
		f.version = versionOf(p.ContentMD5)
		return f, nil
	}
	_, f.version, err = r.Get(ctx, workspace) // the service did not make one, as for what was written in pieces
	return f, err
}

// Get implements store.Store.
func (r *remote) Get(ctx context.Context, workspace string) ([]byte, store.Version, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, "", err
	}
	resp, err := r.blob(workspace).DownloadStream(ctx, nil)
	if isNone(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", answered(err)
	}
	defer resp.Body.Close()
	data, err := store.ReadAll(resp.Body)
	if err != nil {
		return nil, "", &store.UnansweredError{Err: err}
	}
	if len(data) == 0 {
		return nil, "", nil
	}
	sum := md5.Sum(data)
	return data, versionOf(sum[:]), nil
}

// Put implements store.Store.
func (r *remote) Put(ctx context.Context, workspace string, data []byte, prev store.Version) (store.Version, error) {
	if err := store.CheckName(workspace); err != nil {
		return "", err
	}
	now, err := r.look(ctx, workspace)
	if err != nil {
		return "", err
	}
	if now == nil && prev != "" || now != nil && now.version != prev {
		return "", &store.StaleError{Workspace: workspace, Missing: now == nil || now.version == ""}
	}
	if r.o.Snapshot && prev != "" {
		if _, err := r.blob(workspace).CreateSnapshot(ctx, nil); err != nil {
			return "", answered(err)
		}
	}
	sum := md5.Sum(data)
	o := &blockblob.UploadOptions{
		HTTPHeaders:      &blob.HTTPHeaders{BlobContentType: to.Ptr("application/json"), BlobContentMD5: sum[:]},
		AccessConditions: r.unchanged(workspace, now),
	}
	if now != nil {
		o.Metadata = now.metadata
	}
	_, err = r.blob(workspace).Upload(ctx, streaming.NopCloser(bytes.NewReader(data)), o)
	switch {
	case bloberror.HasCode(err, bloberror.ConditionNotMet, bloberror.BlobAlreadyExists):
		return "", &store.StaleError{Workspace: workspace}
	case isLeased(err):
		return "", r.locked(ctx, workspace, errors.New("someone else holds the lock of the state"))
	}
	return versionOf(sum[:]), answered(err)
}

// unchanged are the conditions under which a blob is written: it is the one that was found, or there is still none.
func (r *remote) unchanged(workspace string, now *found) *blob.AccessConditions {
	c := &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{}}
	if now == nil {
		c.ModifiedAccessConditions.IfNoneMatch = to.Ptr(azcore.ETagAny)
	} else {
		c.ModifiedAccessConditions.IfMatch = &now.etag
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if id, ok := r.leases[workspace]; ok {
		c.LeaseAccessConditions = &blob.LeaseAccessConditions{LeaseID: &id}
	}
	return c
}

// Delete implements store.Store.
func (r *remote) Delete(ctx context.Context, workspace string) error {
	if err := store.Deletable(workspace); err != nil {
		return err
	}
	now, err := r.look(ctx, workspace)
	if err == nil && now != nil {
		_, err = r.blob(workspace).Delete(ctx, &blob.DeleteOptions{
			AccessConditions: r.unchanged(workspace, now), DeleteSnapshots: to.Ptr(blob.DeleteSnapshotsOptionTypeInclude),
		})
		if isNone(err) {
			err = nil
		}
		err = answered(err)
	}
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.over[r.leases[workspace]] = true
		delete(r.leases, workspace)
	}
	return err
}

// List implements store.Store.
func (r *remote) List(ctx context.Context) ([]string, error) {
	var names []string
	prefix := r.prefix()
	for pages := r.o.Container.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: &prefix}); pages.More(); {
		page, err := pages.NextPage(ctx)
		if bloberror.HasCode(err, bloberror.ContainerNotFound) {
			return nil, errors.New("the container does not exist")
		}
		if err != nil {
			return nil, answered(err)
		}
		for _, b := range page.Segment.BlobItems {
			name, ok := strings.CutPrefix(*b.Name, prefix)
			empty := b.Properties != nil && b.Properties.ContentLength != nil && *b.Properties.ContentLength == 0
			if ok && !empty && store.CheckName(name) == nil && name != store.Default {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Insert(names, 0, store.Default), nil
}

func isNone(err error) bool {
	var refused *azcore.ResponseError
	return bloberror.HasCode(err, bloberror.BlobNotFound) || errors.As(err, &refused) && refused.StatusCode == http.StatusNotFound && refused.ErrorCode == ""
}

func isLeased(err error) bool {
	return bloberror.HasCode(err, bloberror.LeaseAlreadyPresent, bloberror.LeaseIDMissing, bloberror.LeaseIDMismatchWithBlobOperation, bloberror.LeaseIDMismatchWithLeaseOperation)
}

// answered tells errors that the service gave from those of the way there, and from those of one that fails.
func answered(err error) error {
	var none *cloudauth.NoTokenError
	var known *store.UnansweredError
	if err == nil || errors.As(err, &none) || errors.As(err, &known) {
		return err
	}
	lost := &store.UnansweredError{Err: err}
	var refused *azcore.ResponseError
	var sending *url.Error
	switch {
	case errors.As(err, &refused):
		lost.Err = fmt.Errorf("the storage account answers %d %s", refused.StatusCode, cmp.Or(refused.ErrorCode, http.StatusText(refused.StatusCode)))
		if refused.StatusCode < 500 && refused.StatusCode != http.StatusTooManyRequests && refused.StatusCode != http.StatusRequestTimeout {
			return lost.Err
		}
		lost.Unsent = refused.StatusCode == http.StatusTooManyRequests
		if refused.RawResponse != nil {
			lost.After = store.RetryAfter(refused.RawResponse.Header)
		}
	case errors.As(err, &sending): // the query of the address is a signature
		at, _, _ := strings.Cut(sending.URL, "?")
		lost.Err = fmt.Errorf("%s %q: %w", sending.Op, at, sending.Err)
	}
	return lost
}

// without is metadata without what says who has the lock. Names of metadata have no case.
func without(metadata map[string]*string) map[string]*string {
	out := maps.Clone(metadata)
	maps.DeleteFunc(out, func(name string, _ *string) bool { return strings.EqualFold(name, lockMetadata) })
	return out
}

// lockMetadata is the metadata with who has the lock, in base64.
const lockMetadata = "terraformlockid"

// holder says who has the lock of a blob. Between a lease and its metadata that is not known.
func (f *found) holder() *store.LockInfo {
	for name, v := range f.metadata {
		if v == nil || !strings.EqualFold(name, lockMetadata) {
			continue
		}
		text, err := base64.StdEncoding.DecodeString(*v)
		if err != nil {
			return nil
		}
		if who, err := store.ParseLockInfo(text); err == nil && who.ID != "" {
			return &who
		}
	}
	return nil
}

// locked is the error that another has the lock.
func (r *remote) locked(ctx context.Context, workspace string, why error) error {
	refused := &store.LockError{Err: why}
	if now, err := r.look(ctx, workspace); err == nil && now != nil {
		refused.Held = now.holder()
	}
	return refused
}
