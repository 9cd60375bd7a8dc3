// Package gcsstore keeps states as objects in a bucket of Google Cloud Storage. Its driver is the backend "gcs" of
// Terraform and OpenTofu, with the same names, so that each program respects the locks of the others. It uses the JSON
// API: the vendor's client would enlarge the program by half.
//
// The version of a state is the generation of its object. Each write is conditional on the generation that it replaces
// (ifGenerationMatch). The lock is an object beside the state, which a write creates only if it does not exist.
package gcsstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/cloudauth"
	"golang.org/x/oauth2"
)

// Options configures the store.
type Options struct {
	Client   *http.Client
	Tokens   oauth2.TokenSource // the source of tokens; nil for an emulator, which needs no tokens
	Endpoint *url.URL           // the address of the API, such as https://storage.googleapis.com
	Bucket   string
	Prefix   string // the prefix of the names of objects; may be ""
	KMSKey   string // the KMS key with which the service encrypts states; may be ""
	// Encryption is added to requests about states. It contains a customer-supplied key, which the service does not store.
	// Requests about locks do not have it, as in Terraform: the service refuses to read an unencrypted object with a key,
	// or an encrypted object without its key.
	Encryption http.Header
	Header     http.Header // added to each request; has no credentials
}

// New returns a store that sends each request once. The function store.Retrying adds retries.
func New(o Options) store.Remote {
	return &remote{o, &store.API{Client: o.Client, Header: o.Header, ErrorMessage: cloudauth.ErrorMessage, Sign: cloudauth.Signed(o.Tokens)}}
}

type remote struct {
	o   Options
	api *store.API
}

const stateSuffix, lockSuffix = ".tfstate", ".tflock"

// name returns the name of an object of a workspace. Terraform and OpenTofu join the parts of such a name like a file
// path, which removes empty parts and ".".
func (r *remote) name(workspace, suffix string) string {
	return path.Join(r.o.Prefix, workspace+suffix)
}

// Capabilities returns the optional abilities of the store. A nil member means that the store lacks the ability.
func (r *remote) Capabilities() store.Capabilities {
	return store.Capabilities{Breaker: r, Place: r, Service: r}
}

// Place returns a text that identifies the place of a state, for comparison with places of other stores.
func (r *remote) Place(workspace string) string {
	return "gcs:" + r.o.Endpoint.Host + "/" + r.o.Bucket + "/" + r.name(workspace, stateSuffix)
}

// nothing is the generation of a missing object.
const nothing = "0"

// ask sends a request about an object or about the objects of the bucket. The parameter at is the escaped path. header
// may be nil.
func (r *remote) ask(ctx context.Context, method, at string, q url.Values, header http.Header, body []byte) (*store.Answer, error) {
	u := *r.o.Endpoint
	u.RawPath = strings.TrimSuffix(u.Path, "/") + at
	var err error
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return nil, err
	}
	u.RawQuery = q.Encode()
	return r.api.Ask(ctx, method, &u, header, body)
}

// encryption returns the header with the customer-supplied key for requests about a state, and nil for requests about a
// lock.
func (r *remote) encryption(name string) http.Header {
	if strings.HasSuffix(name, stateSuffix) {
		return r.o.Encryption
	}
	return nil
}

// read returns the content and the generation of an object. If the object does not exist, the content is nil and the
// generation is "0", the constant nothing.
func (r *remote) read(ctx context.Context, name string) (data []byte, generation string, err error) {
	a, err := r.ask(ctx, http.MethodGet, r.object(name), url.Values{"alt": {"media"}}, r.encryption(name), nil)
	switch {
	case store.Refused(err, http.StatusNotFound):
		return nil, nothing, nil
	case err != nil:
		return nil, "", err
	}
	if generation = a.Header.Get("X-Goog-Generation"); generation == "" {
		return nil, "", fmt.Errorf("the answer about the object %q has no generation", name)
	}
	return a.Body, generation, nil
}

func (r *remote) object(name string) string {
	return "/storage/v1/b/" + url.PathEscape(r.o.Bucket) + "/o/" + url.PathEscape(name)
}

// write replaces the object that has the given generation, and returns the new generation. For the generation "0"
// (nothing), it creates the object. If the object has another generation, the error is a *store.RefusedError with the
// status 412.
func (r *remote) write(ctx context.Context, name string, data []byte, generation string) (next string, err error) {
	q := url.Values{"uploadType": {"media"}, "name": {name}, "ifGenerationMatch": {generation}}
	if r.o.KMSKey != "" && strings.HasSuffix(name, stateSuffix) {
		q.Set("kmsKeyName", r.o.KMSKey)
	}
	a, err := r.ask(ctx, http.MethodPost, "/upload/storage/v1/b/"+url.PathEscape(r.o.Bucket)+"/o", q, r.encryption(name), data)
	if err != nil {
		return "", err
	}
	var reply struct{ Generation string }
	if err := a.JSON(&reply); err != nil || reply.Generation == "" {
		return "", fmt.Errorf("the answer to the write of %q has no generation", name)
	}
	return reply.Generation, nil
}

// remove deletes the object that has the given generation, or any generation if it is "". It returns nil if the object
// does not exist.
func (r *remote) remove(ctx context.Context, name, generation string) error {
	q := url.Values{}
	if generation != "" {
		q.Set("ifGenerationMatch", generation)
	}
	_, err := r.ask(ctx, http.MethodDelete, r.object(name), q, nil, nil)
	if store.Refused(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// Get returns the state of a workspace and its version, or nil and "" if no state exists.
func (r *remote) Get(ctx context.Context, workspace string) ([]byte, store.Version, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, "", err
	}
	data, generation, err := r.read(ctx, r.name(workspace, stateSuffix))
	if err != nil || len(data) == 0 {
		return nil, "", err
	}
	return data, store.Version(generation), nil
}

// Put replaces the state that has the version prev, and returns the new version. If the state has another version, the
// error is a *store.StaleError.
func (r *remote) Put(ctx context.Context, workspace string, data []byte, prev store.Version) (store.Version, error) {
	if err := store.CheckName(workspace); err != nil {
		return "", err
	}
	generation, name := string(prev), r.name(workspace, stateSuffix)
	if prev == "" {
		// an empty object counts as no state, so it may be replaced
		have, now, err := r.read(ctx, name)
		if err != nil {
			return "", err
		}
		if len(have) > 0 {
			return "", &store.StaleError{Workspace: workspace}
		}
		generation = now
	} else if strings.Trim(generation, "0123456789") != "" {
		return "", &store.StaleError{Workspace: workspace}
	}
	next, err := r.write(ctx, name, data, generation)
	if !store.Refused(err, http.StatusPreconditionFailed) {
		return store.Version(next), err
	}
	have, _, err := r.read(ctx, name)
	if err != nil {
		return "", err
	}
	return "", &store.StaleError{Workspace: workspace, Missing: len(have) == 0}
}

// Delete deletes a workspace and its state. For the default workspace it returns store.ErrDefault.
func (r *remote) Delete(ctx context.Context, workspace string) error {
	if err := store.Deletable(workspace); err != nil {
		return err
	}
	return r.remove(ctx, r.name(workspace, stateSuffix), "")
}

// List returns the names of the workspaces, the default workspace first. A missing bucket is an error.
func (r *remote) List(ctx context.Context) ([]string, error) {
	prefix, _ := strings.CutSuffix(r.name(store.Default, ""), store.Default)
	names := []string{}
	for page := ""; ; {
		q := url.Values{"prefix": {prefix}, "delimiter": {"/"}, "fields": {"items(name),nextPageToken"}}
		if page != "" {
			q.Set("pageToken", page)
		}
		a, err := r.ask(ctx, http.MethodGet, "/storage/v1/b/"+url.PathEscape(r.o.Bucket)+"/o", q, nil, nil)
		if store.Refused(err, http.StatusNotFound) {
			return nil, fmt.Errorf("the bucket %q does not exist", r.o.Bucket)
		}
		var reply struct {
			NextPageToken string
			Items         []struct{ Name string }
		}
		if err == nil {
			err = a.JSON(&reply)
		}
		if err != nil {
			return nil, err
		}
		for _, i := range reply.Items {
			name, ok := strings.CutSuffix(strings.TrimPrefix(i.Name, prefix), stateSuffix)
			if ok && store.CheckName(name) == nil && name != store.Default {
				names = append(names, name)
			}
		}
		if page = reply.NextPageToken; page == "" {
			break
		}
	}
	slices.Sort(names)
	return slices.Insert(names, 0, store.Default), nil
}

// Lock takes the lock of a workspace and returns the function that releases it. If another process holds the lock, the
// error is a *store.LockError.
func (r *remote) Lock(ctx context.Context, workspace string, who store.LockInfo) (func(context.Context) error, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, err
	}
	name := r.name(workspace, lockSuffix)
	who.Path = "gs://" + r.o.Bucket + "/" + name
	_, err := r.write(ctx, name, who.Marshal(), nothing)
	if store.Refused(err, http.StatusPreconditionFailed) {
		held, _, reading := r.holder(ctx, workspace)
		switch {
		case reading != nil:
			err = reading
		case held == nil:
			err = store.Changing()
		case held.ID == who.ID:
			err = nil // an earlier request took the lock
		default:
			err = &store.LockError{Held: held, Err: errors.New("the state is locked")}
		}
	}
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return r.Break(ctx, workspace, who.ID) }, nil
}

// holder returns the holder of the lock and the generation of the lock object. It returns nil if the lock is free.
func (r *remote) holder(ctx context.Context, workspace string) (*store.LockInfo, string, error) {
	text, generation, err := r.read(ctx, r.name(workspace, lockSuffix))
	if err != nil || generation == nothing {
		return nil, "", err
	}
	held, err := store.ParseLockInfo(text)
	if err != nil {
		held = store.LockInfo{ID: generation, Info: "the lock object cannot be read"}
	}
	held.KnownAs(generation)
	return &held, generation, nil
}

// Break releases the lock with the given ID. If the workspace has no such lock, the error is a *store.LockError. It
// also accepts the generation as ID, which Terraform and OpenTofu use as the lock's ID.
func (r *remote) Break(ctx context.Context, workspace, id string) error {
	if err := store.CheckName(workspace); err != nil {
		return err
	}
	held, generation, err := r.holder(ctx, workspace)
	switch {
	case err != nil:
		return err
	case held == nil || held.ID != id && generation != id:
		return store.OtherLock(held, id)
	}
	err = r.remove(ctx, r.name(workspace, lockSuffix), generation)
	if store.Refused(err, http.StatusPreconditionFailed) {
		return &store.LockError{Err: errors.New("the lock was released, and someone else holds it now")}
	}
	return err
}
