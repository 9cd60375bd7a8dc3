// Package gcsstore keeps states as objects of a bucket of Google Cloud Storage: what Terraform and OpenTofu call the
// backend "gcs", with their names, so that each waits for the locks of the others. It speaks the JSON API; the
// vendor's client would make the program half as large again.
//
// The version of a state is the generation of its object, which every writing names (ifGenerationMatch). The lock is
// an object beside the state that is written where there is none.
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

	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/cloudauth"
	"golang.org/x/oauth2"
)

// Options say where states are.
type Options struct {
	Client   *http.Client
	Tokens   oauth2.TokenSource // of who asks; nil for an emulator, which wants none
	Endpoint *url.URL           // of the API: https://storage.googleapis.com
	Bucket   string
	Prefix   string // before the names of objects; "" for none
	KMSKey   string // for the encryption of states; "" for none
	// Encryption goes with requests about states: a key that the service does not keep. Locks are written without one, as
	// Terraform does: the service refuses to read with a key what was written without it, and the other way round.
	Encryption http.Header
	Header     http.Header // goes with each request: who asks
}

// New makes the store. It makes each request once: see store.Careful.
func New(o Options) store.Remote {
	// Where there is no token, no request is made, and nothing is open about it: oauth2's client does not say that.
	sign := func(req *http.Request, _ []byte) error {
		if o.Tokens == nil {
			return nil
		}
		token, err := cloudauth.TokenWithin(req.Context(), o.Tokens)
		if err == nil {
			token.SetAuthHeader(req)
		}
		return err
	}
	return &remote{o, &store.API{Client: o.Client, Header: o.Header, Said: cloudauth.ErrorMessage, Sign: sign}}
}

type remote struct {
	o   Options
	api *store.API
}

const stateSuffix, lockSuffix = ".tfstate", ".tflock"

// name is that of an object. Terraform and OpenTofu join its parts as those of a path, which leaves out empty parts, and ".".
func (r *remote) name(workspace, suffix string) string {
	return path.Join(r.o.Prefix, workspace+suffix)
}

// Place implements store.Placed.
func (r *remote) Place(workspace string) string {
	return "gcs:" + r.o.Endpoint.Host + "/" + r.o.Bucket + "/" + r.name(workspace, stateSuffix)
}

// nothing is the generation of an object that is not there.
const nothing = "0"

// ask makes a request about an object, or one about those of the bucket. header may be nil.
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

// encryption is what goes with a request that reads or writes an object.
func (r *remote) encryption(name string) http.Header {
	if strings.HasSuffix(name, stateSuffix) {
		return r.o.Encryption
	}
	return nil
}

// read reads an object; nil and nothing where there is none.
func (r *remote) read(ctx context.Context, name string) (data []byte, generation string, err error) {
	a, err := r.ask(ctx, http.MethodGet, r.object(name), url.Values{"alt": {"media"}}, r.encryption(name), nil)
	switch {
	case store.Refused(err, http.StatusNotFound):
		return nil, nothing, nil
	case err != nil:
		return nil, "", err
	}
	if generation = a.Header.Get("X-Goog-Generation"); generation == "" {
		return nil, "", fmt.Errorf("the answer about the object %q does not say its generation", name)
	}
	return a.Body, generation, nil
}

func (r *remote) object(name string) string {
	return "/storage/v1/b/" + url.PathEscape(r.o.Bucket) + "/o/" + url.PathEscape(name)
}

// write writes an object that is of that generation.
func (r *remote) write(ctx context.Context, name string, data []byte, generation string) (next string, err error) {
	q := url.Values{"uploadType": {"media"}, "name": {name}, "ifGenerationMatch": {generation}}
	if r.o.KMSKey != "" && strings.HasSuffix(name, stateSuffix) {
		q.Set("kmsKeyName", r.o.KMSKey)
	}
	a, err := r.ask(ctx, http.MethodPost, "/upload/storage/v1/b/"+url.PathEscape(r.o.Bucket)+"/o", q, r.encryption(name), data)
	if err != nil {
		return "", err
	}
	var said struct{ Generation string }
	if err := a.JSON(&said); err != nil || said.Generation == "" {
		return "", fmt.Errorf("the answer to the writing of %q does not say its generation", name)
	}
	return said.Generation, nil
}

// remove removes an object that is of that generation, or of any: "". One that is not there is no mistake.
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

// Get implements store.Store.
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

// Put implements store.Store.
func (r *remote) Put(ctx context.Context, workspace string, data []byte, prev store.Version) (store.Version, error) {
	if err := store.CheckName(workspace); err != nil {
		return "", err
	}
	generation, name := string(prev), r.name(workspace, stateSuffix)
	if prev == "" {
		// An object without content is as much as none.
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

// Delete implements store.Store.
func (r *remote) Delete(ctx context.Context, workspace string) error {
	if err := store.Deletable(workspace); err != nil {
		return err
	}
	return r.remove(ctx, r.name(workspace, stateSuffix), "")
}

// List implements store.Store.
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
		var said struct {
			NextPageToken string
			Items         []struct{ Name string }
		}
		if err == nil {
			err = a.JSON(&said)
		}
		if err != nil {
			return nil, err
		}
		for _, i := range said.Items {
			name, ok := strings.CutSuffix(strings.TrimPrefix(i.Name, prefix), stateSuffix)
			if ok && store.CheckName(name) == nil && name != store.Default {
				names = append(names, name)
			}
		}
		if page = said.NextPageToken; page == "" {
			break
		}
	}
	slices.Sort(names)
	return slices.Insert(names, 0, store.Default), nil
}

// Lock implements store.Store.
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
		case held != nil && held.ID == who.ID:
			err = nil // an earlier request took it
		default:
			err = &store.LockError{Held: held, Err: errors.New("the state is locked")}
		}
	}
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return r.Break(ctx, workspace, who.ID) }, nil
}

// holder says who has a lock, nil for none, and of which generation it is.
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

// Break implements store.Breaker. Terraform and OpenTofu show the generation as the ID of the lock; it serves as well.
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
