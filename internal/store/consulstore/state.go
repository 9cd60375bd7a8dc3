package consulstore

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/internal/store"
)

// index is the value of a state's key if the state is in other keys, the chunks.
type index struct {
	Hash   string   `json:"current-hash"` // MD5 of all chunks, which Terraform and OpenTofu verify
	Chunks []string `json:"chunks"`
}

// indexOf decodes the value of a state's key as an index. It returns nil if the value is a state and not an index.
func indexOf(value []byte) *index {
	var i index
	if json.Unmarshal(value, &i) != nil || i.Hash == "" || len(i.Chunks) == 0 {
		return nil
	}
	return &i
}

// Get returns the state of a workspace and its version, or nil and "" if no state exists. If a writer deletes chunks
// while Get reads them, a later state exists, and Get starts again.
func (r *remote) Get(ctx context.Context, workspace string) ([]byte, store.Version, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, "", err
	}
	for last := uint64(0); ; {
		e, err := r.read(ctx, r.key(workspace))
		if err != nil || len(e.Value) == 0 {
			return nil, "", err
		}
		data, missing, err := r.gather(ctx, e.Value)
		switch {
		case err != nil:
			return nil, "", err
		case missing == "":
			data, err = expand(data)
			if err != nil {
				return nil, "", &store.DamagedError{Version: versionOf(e), Err: fmt.Errorf("the state is compressed, and cannot be read: %w", err)}
			}
			return data, versionOf(e), nil
		case e.ModifyIndex == last:
			return nil, "", &store.DamagedError{Version: versionOf(e), Err: fmt.Errorf("the key %q of a part of the state does not exist", missing)}
		}
		last = e.ModifyIndex
	}
}

// gather returns the state in the value of a state's key, or in the chunks that the value lists. missing is the key of
// a missing chunk, or "".
func (r *remote) gather(ctx context.Context, value []byte) (data []byte, missing string, err error) {
	if i := indexOf(value); i != nil {
		value = nil
		for _, key := range i.Chunks {
			e, err := r.read(ctx, key)
			if err != nil {
				return nil, "", err
			}
			if len(e.Value) == 0 {
				return nil, key, nil
			}
			value = append(value, e.Value...)
		}
	}
	return value, "", nil
}

// expand decompresses a state if it begins like gzip data. Otherwise it returns the value unchanged.
func expand(value []byte) ([]byte, error) {
	if !bytes.HasPrefix(value, []byte{0x1f, 0x8b}) {
		return value, nil
	}
	return store.Unpack(bytes.NewReader(value))
}

// content returns the new value of a state's key. If the state is too large for one key, content writes it to chunks
// and returns their index. former is the ModifyIndex of the present value; it makes the directory of the chunks unique.
func (r *remote) content(ctx context.Context, workspace string, data []byte, former uint64) ([]byte, error) {
	if r.o.Gzip {
		var text bytes.Buffer
		z := gzip.NewWriter(&text)
		if _, err := z.Write(data); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		data = text.Bytes()
	}
	if len(data) <= largest {
		return data, nil
	}
	sum := md5.Sum(data)
	i := index{Hash: hex.EncodeToString(sum[:])}
	directory := r.below(workspace, "tfstate."+i.Hash+"/"+strconv.FormatUint(former, 10)+"/")
	for chunk := range slices.Chunk(data, chunkSize) {
		key := directory + strconv.Itoa(len(i.Chunks))
		if err := r.write(ctx, key, chunk); err != nil {
			return nil, err
		}
		i.Chunks = append(i.Chunks, key)
	}
	return json.Marshal(i)
}

// clear deletes the chunks that the value of a state's key lists. It ignores errors, because surplus chunks do no harm.
func (r *remote) clear(ctx context.Context, value []byte) {
	i := indexOf(value)
	if i == nil {
		return
	}
	for keys := range slices.Chunk(i.Chunks, 64) { // 64 is the maximum number of operations in a transaction of Consul
		var ops []op
		for _, key := range keys {
			ops = append(ops, op{Verb: "delete", Key: key})
		}
		if _, err := r.transact(ctx, ops...); err != nil {
			return
		}
	}
}

// Put replaces the state that has the version prev, and returns the new version. If the state has another version, the
// error is a *store.StaleError.
func (r *remote) Put(ctx context.Context, workspace string, data []byte, prev store.Version) (store.Version, error) {
	if err := store.CheckName(workspace); err != nil {
		return "", err
	}
	former, err := r.read(ctx, r.key(workspace))
	if err != nil {
		return "", err
	}
	if versionOf(former) != prev {
		return "", &store.StaleError{Workspace: workspace, Missing: versionOf(former) == ""}
	}
	value, err := r.content(ctx, workspace, data, former.ModifyIndex)
	if err != nil {
		return "", err
	}
	done, err := r.transact(ctx, op{Verb: "cas", Key: r.key(workspace), Value: value, Index: former.ModifyIndex})
	if store.Refused(err, http.StatusConflict) {
		now, err := r.read(ctx, r.key(workspace))
		if err != nil {
			return "", err
		}
		if !bytes.Equal(now.Value, value) {
			r.clear(ctx, value)
		}
		return "", &store.StaleError{Workspace: workspace, Missing: versionOf(now) == ""}
	}
	if err != nil {
		return "", err
	}
	if len(done) != 1 || done[0].ModifyIndex == 0 {
		return "", errors.New("the answer to the write of the state has no index")
	}
	r.clear(ctx, former.Value)
	return store.Version(strconv.FormatUint(done[0].ModifyIndex, 10)), nil
}

// Delete deletes a workspace and its state. For the default workspace it returns store.ErrDefault. It also deletes
// chunks that killed writers have left.
func (r *remote) Delete(ctx context.Context, workspace string) error {
	if err := store.Deletable(workspace); err != nil {
		return err
	}
	_, err := r.transact(ctx, op{Verb: "delete", Key: r.key(workspace)}, op{Verb: "delete-tree", Key: r.below(workspace, "tfstate.")})
	return err
}

// List returns the names of the workspaces, the default workspace first.
func (r *remote) List(ctx context.Context) ([]string, error) {
	prefix := r.o.Path + "-env:"
	var keys []string
	err := r.ask(ctx, http.MethodGet, "kv/"+prefix, url.Values{"keys": {""}, "separator": {"/"}, "consistent": {""}}, nil, &keys)
	if err != nil && !store.Refused(err, http.StatusNotFound) {
		return nil, err
	}
	names := []string{}
	for _, key := range keys {
		// a key that ends with "/" is a directory with locks and chunks
		name := strings.TrimPrefix(key, prefix)
		if store.CheckName(name) == nil && name != store.Default {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Insert(names, 0, store.Default), nil
}
