package kubestore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/internal/store"
)

// found has the Secrets of a workspace, as find has read them.
type found struct {
	main  *object         // the first Secret; nil if it does not exist
	parts map[int]*object // the other Secrets by the number of their part, from 1
}

// empty reports whether the workspace has no state: the first Secret is missing or has no data.
func (f *found) empty() bool { return f.main == nil || len(f.main.Data[dataKey]) == 0 }

// version returns the version of the state, the checksum of its parts, or "" if no state exists. A resourceVersion is
// not usable as version, because it changes with labels and annotations, which other programs may set.
func (r *remote) version(ctx context.Context, workspace string, f *found) (store.Version, error) {
	if f.empty() {
		return "", nil
	}
	p, err := r.pieces(ctx, workspace, f)
	return versionOf(p), err
}

func versionOf(p parts) store.Version { return store.Version(sumOf(p.chunks)) }

// chunks returns the first n parts, or only the parts before the first missing part.
func (f *found) chunks(n int) [][]byte {
	all := [][]byte{f.main.Data[dataKey]}
	for i := 1; i < n && f.parts[i] != nil; i++ {
		all = append(all, f.parts[i].Data[dataKey])
	}
	return all
}

func (r *remote) list(ctx context.Context, labels string) ([]object, error) {
	var reply struct{ Items []object }
	err := r.ask(ctx, http.MethodGet, r.secrets(), url.Values{"labelSelector": {labels + ",tfstateSecretSuffix=" + r.o.Suffix}}, nil, &reply)
	return reply.Items, err
}

// find reads all Secrets of a workspace with one request, so that they belong together.
func (r *remote) find(ctx context.Context, workspace string) (*found, error) {
	items, err := r.list(ctx, "tfstate=true,tfstateWorkspace="+workspace)
	if err != nil {
		return nil, err
	}
	f := &found{parts: map[int]*object{}}
	for i := range items {
		o := &items[i]
		o.APIVersion, o.Kind = "v1", "Secret" // the API omits both fields in the items of a list
		rest, ok := strings.CutPrefix(o.Metadata.Name, r.name(workspace))
		if n, err := strconv.Atoi(strings.TrimPrefix(rest, "-part-")); ok && err == nil && n > 0 {
			f.parts[n] = o
		} else if ok && rest == "" {
			f.main = o
		}
	}
	return f, nil
}

// Get returns the state of a workspace and its version, or nil and "" if no state exists.
func (r *remote) Get(ctx context.Context, workspace string) ([]byte, store.Version, error) {
	if err := checkName(workspace); err != nil {
		return nil, "", err
	}
	f, err := r.find(ctx, workspace)
	if err != nil || f.empty() {
		return nil, "", err
	}
	p, err := r.pieces(ctx, workspace, f)
	if err != nil {
		return nil, "", err
	}
	data, err := join(p.chunks)
	if err != nil {
		return nil, "", &store.DamagedError{Version: versionOf(p), Err: fmt.Errorf("the Secret %s and its parts are not one compressed state: %w", r.name(workspace), err)}
	}
	return data, versionOf(p), nil
}

// pieces returns the parts of the state. If the last writer did not settle its parts (write them under their final
// names), pieces does so. If the first Secret has no annotation that matches the parts, pieces returns all existing
// parts, without a checksum.
func (r *remote) pieces(ctx context.Context, workspace string, f *found) (parts, error) {
	count, sum, _ := strings.Cut(f.main.Metadata.Annotations[partsLabel], " ")
	n, err := strconv.Atoi(count)
	if err != nil || len(sum) != 2*sha256.Size {
		return parts{chunks: f.chunks(len(f.parts) + 1)}, nil
	}
	p := parts{f.chunks(n), sum}
	if sumOf(p.chunks) == sum {
		if len(f.parts) > n-1 {
			_ = r.settle(ctx, workspace, p) // fails without permission to write Secrets, which does no harm to a reader
		}
		return p, nil
	}
	p.chunks = [][]byte{f.main.Data[dataKey]}
	for i := 1; i < n; i++ {
		o, err := r.load(ctx, r.secrets(), r.stagedName(workspace, sum, i))
		if err != nil {
			return parts{}, err
		}
		if o == nil {
			break
		}
		p.chunks = append(p.chunks, o.Data[dataKey])
	}
	if sumOf(p.chunks) == sum {
		_ = r.settle(ctx, workspace, p)
		return p, nil
	}
	// Terraform or OpenTofu has written the first Secret since, and has kept the annotation of an earlier state
	return parts{chunks: f.chunks(len(f.parts) + 1)}, nil
}

// secret returns the Secret o with the content, the labels and the annotations of a part. If o is nil, it returns a new
// Secret.
func (r *remote) secret(o *object, workspace, name string, content []byte, mark string) *object {
	if o == nil {
		o = &object{APIVersion: "v1", Kind: "Secret", Metadata: metadata{Name: name, Namespace: r.o.Namespace}}
	}
	if o.Metadata.Labels == nil {
		o.Metadata.Labels = map[string]string{}
	}
	maps.Copy(o.Metadata.Labels, r.labels(workspace))
	if o.Metadata.Annotations == nil {
		o.Metadata.Annotations = map[string]string{}
	}
	maps.Copy(o.Metadata.Annotations, map[string]string{"encoding": "gzip", partsLabel: mark})
	o.Data = map[string][]byte{dataKey: content}
	return o
}

// Put replaces the state that has the version prev, and returns the new version. If the state has another version, the
// error is a *store.StaleError.
func (r *remote) Put(ctx context.Context, workspace string, data []byte, prev store.Version) (store.Version, error) {
	if err := checkName(workspace); err != nil {
		return "", err
	}
	p, err := split(data)
	if err != nil {
		return "", err
	}
	f, err := r.find(ctx, workspace)
	if err != nil {
		return "", err
	}
	now, err := r.version(ctx, workspace, f)
	if err != nil {
		return "", err
	}
	if now != prev {
		return "", &store.StaleError{Workspace: workspace, Missing: now == ""}
	}
	if err := r.stage(ctx, workspace, p); err != nil {
		return "", err
	}
	main := r.secret(f.main, workspace, r.name(workspace), p.chunks[0], p.mark())
	err = r.save(ctx, r.secrets(), main)
	if store.Refused(err, http.StatusConflict, http.StatusNotFound) {
		return "", r.changed(ctx, workspace, prev, err)
	}
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	delete(r.removed, workspace)
	r.mu.Unlock()
	if len(p.chunks) > 1 || len(f.parts) > 0 {
		if err := r.settle(ctx, workspace, p); err != nil {
			return "", fmt.Errorf("the state was written, but Terraform and OpenTofu will not find all of its parts: %w", err)
		}
	}
	return versionOf(p), nil
}

// changed returns the error for a Secret that was changed after Put read it. If the state itself still has the version
// prev, the error is a *store.UnansweredError, so that the write is repeated.
func (r *remote) changed(ctx context.Context, workspace string, prev store.Version, why error) error {
	f, err := r.find(ctx, workspace)
	if err != nil {
		return err
	}
	now, err := r.version(ctx, workspace, f)
	switch {
	case err != nil:
		return err
	case now == prev && store.Refused(why, http.StatusConflict):
		return &store.UnansweredError{Err: why, Unsent: true}
	case now == prev: // the state is unchanged, so the cause is another one, such as a missing namespace
		return why
	}
	return &store.StaleError{Workspace: workspace, Missing: now == ""}
}

// stage writes all parts except the first under temporary names. They lack the labels by which find selects parts.
func (r *remote) stage(ctx context.Context, workspace string, p parts) error {
	for i, chunk := range p.chunks[1:] {
		o := r.secret(nil, workspace, r.stagedName(workspace, p.sum, i+1), chunk, p.mark())
		o.Metadata.Labels = map[string]string{"app.kubernetes.io/managed-by": "lethe", "tfstateStaged": "true", "tfstateSecretSuffix": r.o.Suffix, "tfstateWorkspace": workspace}
		// an existing object with this name is from an earlier attempt, and has the same content
		if err := r.save(ctx, r.secrets(), o); err != nil && !store.Refused(err, http.StatusConflict) {
			return err
		}
	}
	return nil
}

// settle writes all parts except the first under the names that Terraform and OpenTofu expect, and deletes surplus
// parts and staged parts. It stops if the first Secret describes other parts by now. Each write is conditional on the
// resourceVersion that it replaces, so that a late writer overwrites no part of a later state.
func (r *remote) settle(ctx context.Context, workspace string, p parts) error {
	for range 10 {
		f, err := r.find(ctx, workspace)
		if err != nil || f.main == nil || f.main.Metadata.Annotations[partsLabel] != p.mark() {
			return err
		}
		err = r.place(ctx, workspace, f, p)
		if store.Refused(err, http.StatusConflict) || store.Refused(err, http.StatusNotFound) {
			continue
		}
		for i := 1; err == nil && i < len(p.chunks); i++ {
			err = r.remove(ctx, r.secrets(), r.stagedName(workspace, p.sum, i), "")
		}
		return err
	}
	return errors.New("other processes keep writing them")
}

func (r *remote) place(ctx context.Context, workspace string, f *found, p parts) error {
	for i := 1; i < len(p.chunks); i++ {
		o := f.parts[i]
		delete(f.parts, i)
		if o != nil && o.Metadata.Annotations[partsLabel] == p.mark() && bytes.Equal(o.Data[dataKey], p.chunks[i]) {
			continue
		}
		if err := r.save(ctx, r.secrets(), r.secret(o, workspace, r.partName(workspace, i), p.chunks[i], p.mark())); err != nil {
			return err
		}
	}
	for _, o := range f.parts {
		if err := r.remove(ctx, r.secrets(), o.Metadata.Name, o.Metadata.ResourceVersion); err != nil {
			return err
		}
	}
	return nil
}

// List returns the names of the workspaces, the default workspace first.
func (r *remote) List(ctx context.Context) ([]string, error) {
	items, err := r.list(ctx, "tfstate=true")
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, o := range items {
		if w := o.Metadata.Labels["tfstateWorkspace"]; o.Metadata.Name == r.name(w) && w != store.Default {
			names = append(names, w)
		}
	}
	slices.Sort(names)
	return slices.Insert(names, 0, store.Default), nil
}

// Delete deletes a workspace and its state. For the default workspace it returns store.ErrDefault.
func (r *remote) Delete(ctx context.Context, workspace string) error {
	if err := cmp.Or(store.Deletable(workspace), checkName(workspace)); err != nil {
		return err
	}
	f, err := r.find(ctx, workspace)
	if err != nil {
		return err
	}
	staged, err := r.list(ctx, "tfstateStaged=true,tfstateWorkspace="+workspace)
	if err != nil {
		return err
	}
	names := []string{}
	if f.main != nil {
		names = append(names, f.main.Metadata.Name)
	}
	for _, o := range staged { // the staged parts of this writer and of killed writers
		names = append(names, o.Metadata.Name)
	}
	for _, o := range f.parts {
		names = append(names, o.Metadata.Name)
	}
	for _, name := range names {
		if err := r.remove(ctx, r.secrets(), name, ""); err != nil {
			return err
		}
	}
	return r.dropLease(ctx, workspace)
}
