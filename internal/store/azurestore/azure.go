// Package azurestore keeps states as blobs of an Azure storage account. Its driver is the backend "azurerm" of
// Terraform and OpenTofu, with the same names, so that each program respects the locks of the others.
//
// A lock is an infinite lease of the blob: a lock of the blob service. The ID of the lease is the ID of the lock, and
// the metadata of the blob describes the holder. A lease needs a blob, so Lock creates an empty blob if no state
// exists. An empty blob counts as no state.
//
// The version of a state is the MD5 of its content, which the service stores. The ETag of the blob is not usable as
// version, because it changes with the metadata. But each write is conditional on the ETag that was read together with
// the version, so that the state cannot change in between.
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
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/cloudauth"
)

// Options configures the store.
type Options struct {
	Container *container.Client
	Key       string // the name of the blob of the default workspace
	Snapshot  bool   // Put keeps the state that it replaces as a snapshot of the blob
}

// New returns a store that sends each request once. The function store.Retrying adds retries.
func New(o Options) store.Remote {
	return &remote{o: o, leases: map[string]string{}, ended: map[string]bool{}}
}

type remote struct {
	o Options

	mu     sync.Mutex
	leases map[string]string // the IDs of the locks that this process holds, by workspace
	ended  map[string]bool   // the IDs of locks that ended because Delete deleted their workspace
}

// prefix returns the beginning of the names of the blobs of all workspaces except the default workspace.
func (r *remote) prefix() string { return r.o.Key + "env:" }

func (r *remote) blob(workspace string) *blockblob.Client {
	return r.o.Container.NewBlockBlobClient(r.name(workspace))
}

// name returns the name of the blob with the state of a workspace.
func (r *remote) name(workspace string) string {
	if workspace == store.Default {
		return r.o.Key
	}
	return r.prefix() + workspace
}

// Capabilities returns the optional abilities of the store. A nil member means that the store lacks the ability.
func (r *remote) Capabilities() store.Capabilities {
	return store.Capabilities{Breaker: r, Place: r, Service: r}
}

// Place returns a text that identifies the place of a state, for comparison with places of other stores. It omits the
// query of the address, which is a signature.
func (r *remote) Place(workspace string) string {
	at, _, _ := strings.Cut(r.blob(workspace).URL(), "?")
	return "azurerm:" + at
}

func versionOf(sum []byte) store.Version {
	return store.Version(base64.StdEncoding.EncodeToString(sum))
}

// properties has the properties of a blob that the store uses.
type properties struct {
	etag     azcore.ETag
	version  store.Version // "" if the blob is empty
	metadata map[string]*string
	leased   bool
}

// look reads the properties of the blob of a workspace. It returns nil if the blob does not exist.
func (r *remote) look(ctx context.Context, workspace string) (*properties, error) {
	p, err := r.blob(workspace).GetProperties(ctx, nil)
	switch {
	case isNone(err):
		return nil, nil
	case err != nil:
		return nil, answered(err)
	}
	f := &properties{metadata: p.Metadata, leased: p.LeaseStatus != nil && *p.LeaseStatus == lease.StatusTypeLocked}
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
	_, f.version, err = r.Get(ctx, workspace) // the service does not store the MD5 of some blobs, such as blobs written in blocks
	return f, err
}

// Get returns the state of a workspace and its version, or nil and "" if no state exists.
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

// Put replaces the state that has the version prev, and returns the new version. If the state has another version, the
// error is a *store.StaleError.
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

// unchanged returns the conditions for a write of a blob: the blob still has the ETag of the known properties, or is
// still missing if these are nil. The conditions include the lease of this process, unless another process broke that
// lease: then the ETag alone must suffice.
func (r *remote) unchanged(workspace string, now *properties) *blob.AccessConditions {
	c := &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{}}
	if now == nil {
		c.ModifiedAccessConditions.IfNoneMatch = to.Ptr(azcore.ETagAny)
	} else {
		c.ModifiedAccessConditions.IfMatch = &now.etag
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if id, ok := r.leases[workspace]; ok && now != nil && now.leased {
		c.LeaseAccessConditions = &blob.LeaseAccessConditions{LeaseID: &id}
	}
	return c
}

// Delete deletes a workspace and its state. For the default workspace it returns store.ErrDefault.
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
		r.ended[r.leases[workspace]] = true
		delete(r.leases, workspace)
	}
	return err
}

// List returns the names of the workspaces, the default workspace first. It omits blobs that are empty, or whose names
// are not valid names of workspaces. A missing container is an error.
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

// isNone reports whether err means that the blob does not exist: the service answers BlobNotFound, or 404 without an
// error code. If the container is missing, the service usually answers with another code, and isNone returns false.
func isNone(err error) bool {
	var refused *azcore.ResponseError
	return bloberror.HasCode(err, bloberror.BlobNotFound) || errors.As(err, &refused) && refused.StatusCode == http.StatusNotFound && refused.ErrorCode == ""
}

// isLeased reports whether err means that the blob has a lease whose ID the request did not name.
func isLeased(err error) bool {
	return bloberror.HasCode(err, bloberror.LeaseAlreadyPresent, bloberror.LeaseIDMissing, bloberror.LeaseIDMismatchWithBlobOperation, bloberror.LeaseIDMismatchWithLeaseOperation)
}

// answered converts an error of the Azure client: to a *store.UnansweredError if the connection or the service failed,
// so that the request is repeated. Other errors are answers of the service, and get a text without the query of the
// address, which contains a signature. answered returns nil for nil.
func answered(err error) error {
	var none *cloudauth.NoTokenError
	var known *store.UnansweredError
	if err == nil || errors.As(err, &none) || errors.As(err, &known) {
		return err
	}
	noAnswer := &store.UnansweredError{Err: err}
	var refused *azcore.ResponseError
	var sending *url.Error
	switch {
	case errors.As(err, &refused):
		noAnswer.Err = fmt.Errorf("the storage account answers %d %s", refused.StatusCode, cmp.Or(refused.ErrorCode, http.StatusText(refused.StatusCode)))
		if refused.StatusCode < 500 && refused.StatusCode != http.StatusTooManyRequests && refused.StatusCode != http.StatusRequestTimeout {
			return noAnswer.Err
		}
		noAnswer.Unsent = refused.StatusCode == http.StatusTooManyRequests
		if refused.RawResponse != nil {
			noAnswer.After = store.RetryAfter(refused.RawResponse.Header)
		}
	case errors.As(err, &sending): // the query of the address is a signature: omit it
		at, _, _ := strings.Cut(sending.URL, "?")
		noAnswer.Err = fmt.Errorf("%s %q: %w", sending.Op, at, sending.Err)
	}
	return noAnswer
}

// without returns a copy of metadata without the description of the lock's holder. Names in metadata are
// case-insensitive.
func without(metadata map[string]*string) map[string]*string {
	out := maps.Clone(metadata)
	maps.DeleteFunc(out, func(name string, _ *string) bool { return strings.EqualFold(name, lockMetadata) })
	return out
}

// lockMetadata is the name of the metadata of a blob that describes the holder of the lock, as JSON in base64.
const lockMetadata = "terraformlockid"

// holder returns the holder of a blob's lock, or nil if the metadata does not describe the holder. A process writes the
// metadata after it has acquired the lease, so the description is missing for a moment.
func (f *properties) holder() *store.LockInfo {
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

// locked returns a *store.LockError. It contains the given reason and, if the metadata of the blob describes the
// holder, the holder.
func (r *remote) locked(ctx context.Context, workspace string, why error) error {
	refused := &store.LockError{Err: why}
	if now, err := r.look(ctx, workspace); err == nil && now != nil {
		refused.Held = now.holder()
	}
	return refused
}
