// Package s3store keeps states as objects in a bucket of Amazon S3 or of a compatible service. Its driver is the
// backend "s3" of Terraform and OpenTofu, with the same keys and locks, so that each program respects the locks of the
// others.
//
// The version of a state is the ETag of its object. A Put first reads the present version, and then makes the write
// conditional on it (If-Match, If-None-Match). If a service ignores these headers, only the first check protects
// against other writers.
//
// Two kinds of lock can be configured, and both are off by default. use_lockfile creates a lock object beside the
// state. dynamodb_table creates an item in a DynamoDB table. The table also has an item with the MD5 of each state. If
// the MD5 of a state differs from the item, the state is not the latest, and Get reads it again.
//
// If the setting "journal" is true, the journals of runs are objects below the key of the state (journal.go).
package s3store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/cloudauth"
)

// Options configures the store.
type Options struct {
	Client   *s3.Client
	Bucket   string
	Key      string // the key of the state of the default workspace
	Prefix   string // the beginning of the keys of the other workspaces' states
	LockFile bool
	Table    *Table // a DynamoDB table for locks and checksums; nil means none
	Journal  bool   // keep the journals of runs in the bucket
	Tries    store.Tries

	NoChecksum  bool // omit the SHA-256 header of objects, which some services do not know
	ACL         string
	Encrypt     bool
	KMSKey      string
	CustomerKey *CustomerKey // the customer-provided key with which the service encrypts objects; nil means none
}

// CustomerKey is an encryption key that the service gets with each request and does not store.
type CustomerKey struct{ Key, MD5 string } // both in base64

type remote struct{ o Options }

// path returns the key of a workspace's state. For the default workspace this is Options.Key, unchanged. For other
// workspaces it joins Prefix, the workspace and Key like a file path, as Terraform and OpenTofu do: empty parts and "."
// disappear, and ".." removes the part before it.
func (r *remote) path(workspace string) string {
	if workspace == store.Default {
		return r.o.Key
	}
	return path.Join(r.o.Prefix, workspace, r.o.Key)
}

// around returns the text before and after the name of a workspace in the key of its state. ok is false if Key contains
// ".." parts that remove the name of the workspace from the key.
func (r *remote) around() (before, after string, ok bool) {
	const any = "\x00"
	return strings.Cut(path.Join(r.o.Prefix, any, r.o.Key), any)
}

// named returns the workspace to whose state or journal the key of an object belongs. The key must be the key of a
// state followed by suffix; if suffix is not "", more text may follow. ok is false for other keys.
func (r *remote) named(key, suffix string) (workspace string, ok bool) {
	before, after, ok := r.around()
	rest, begins := strings.CutPrefix(key, before)
	if suffix == "" {
		workspace, found := strings.CutSuffix(rest, after)
		return workspace, ok && begins && found
	}
	workspace, _, found := strings.Cut(rest, after+suffix)
	return workspace, ok && begins && found
}

// Capabilities returns the optional abilities of the store. A nil member means that the store lacks the ability.
func (r *remote) Capabilities() store.Capabilities {
	return store.Capabilities{Breaker: r, Place: r, Disabled: r, Finisher: r, Service: r}
}

// Place returns a text that identifies the place of a state, for comparison with places of other stores.
func (r *remote) Place(workspace string) string {
	return "s3:" + aws.ToString(r.o.Client.Options().BaseEndpoint) + "/" + r.o.Bucket + "/" + r.path(workspace)
}

// Get returns the state of a workspace and its version, or nil and "" if no state exists.
func (r *remote) Get(ctx context.Context, workspace string) ([]byte, store.Version, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, "", err
	}
	if r.o.Table == nil {
		return r.get(ctx, r.path(workspace))
	}
	tries := r.o.Tries
	tries.Reading = 0
	return r.o.Table.settled(ctx, tries, r.id(workspace), func() ([]byte, store.Version, error) { return r.get(ctx, r.path(workspace)) })
}

// id returns the name of a state in the DynamoDB table.
func (r *remote) id(workspace string) string { return r.o.Bucket + "/" + r.path(workspace) }

// get reads an object. It returns nil and "" if the object is missing or empty.
func (r *remote) get(ctx context.Context, key string) ([]byte, store.Version, error) {
	data, v, err := r.fetch(ctx, &s3.GetObjectInput{Bucket: &r.o.Bucket, Key: &key})
	if len(data) == 0 {
		return nil, "", err
	}
	return data, v, err
}

// fetch reads an object. It adds the customer key to the request. It returns nil and "" if the object is missing.
func (r *remote) fetch(ctx context.Context, in *s3.GetObjectInput) ([]byte, store.Version, error) {
	if k := r.o.CustomerKey; k != nil {
		in.SSECustomerAlgorithm, in.SSECustomerKey, in.SSECustomerKeyMD5 = aws.String("AES256"), &k.Key, &k.MD5
	}
	out, err := r.o.Client.GetObject(ctx, in)
	if is(err, "NoSuchKey", "NoSuchVersion", "NotFound") {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", cloudauth.AWSAnswered(err)
	}
	defer out.Body.Close()
	data, err := store.ReadAll(out.Body)
	if err != nil {
		return nil, "", &store.UnansweredError{Err: err}
	}
	return data, store.Version(aws.ToString(out.ETag)), nil
}

// Put replaces the state that has the version prev, and returns the new version. If the state has another version, the
// error is a *store.StaleError. If the service does not support conditional writes, Put does not notice a write of
// another process between the check of the version and its own write. If the state was written, but its MD5 could not
// be written to the table, Put returns the new version and an error.
func (r *remote) Put(ctx context.Context, workspace string, data []byte, prev store.Version) (store.Version, error) {
	if err := store.CheckName(workspace); err != nil {
		return "", err
	}
	now, etag, err := r.version(ctx, workspace)
	if err != nil {
		return "", err
	}
	if now != prev {
		return "", &store.StaleError{Workspace: workspace, Missing: now == ""}
	}
	in := r.writing(r.path(workspace), data)
	if in.IfMatch = etag; etag == nil {
		in.IfNoneMatch = aws.String("*")
	}
	out, err := r.o.Client.PutObject(ctx, in)
	if noConditions(err) {
		in = r.writing(r.path(workspace), data)
		out, err = r.o.Client.PutObject(ctx, in)
	}
	if is(err, "PreconditionFailed", "NoSuchKey") {
		return "", &store.StaleError{Workspace: workspace, Missing: is(err, "NoSuchKey")}
	}
	if err != nil {
		return "", cloudauth.AWSAnswered(err)
	}
	return store.Version(aws.ToString(out.ETag)), r.note(ctx, workspace, data)
}

// noConditions reports whether a service may have refused a write because it does not support conditions. Services
// answer an unknown header with different codes. A service that supports conditions answers PreconditionFailed.
func noConditions(err error) bool {
	return is(err, "NotImplemented", "InvalidArgument", "InvalidRequest")
}

// note writes the digest of a state to the table, if one is configured. Readers reject a state that differs from the
// digest in the table.
func (r *remote) note(ctx context.Context, workspace string, data []byte) error {
	if r.o.Table == nil {
		return nil
	}
	return r.o.Table.note(ctx, r.o.Tries, r.id(workspace), data)
}

// Finish completes a write of data whose first step is done: if the stored state is data, Finish writes the MD5 of data
// to the table and returns true. Otherwise it returns false. The version is the version of the stored state.
func (r *remote) Finish(ctx context.Context, workspace string, data []byte) (store.Version, bool, error) {
	have, v, err := r.get(ctx, r.path(workspace))
	if err != nil || v == "" || !bytes.Equal(have, data) {
		return v, false, err
	}
	return v, true, r.note(ctx, workspace, data)
}

// version returns the version of the state and the ETag of its object. If the object is missing, it returns "" and nil.
// If the object is empty, it returns "" and the ETag, because an empty object is no state.
func (r *remote) version(ctx context.Context, workspace string) (store.Version, *string, error) {
	in := &s3.HeadObjectInput{Bucket: &r.o.Bucket, Key: aws.String(r.path(workspace))}
	if k := r.o.CustomerKey; k != nil {
		in.SSECustomerAlgorithm, in.SSECustomerKey, in.SSECustomerKeyMD5 = aws.String("AES256"), &k.Key, &k.MD5
	}
	out, err := r.o.Client.HeadObject(ctx, in)
	switch {
	case is(err, "NotFound", "NoSuchKey"):
		return "", nil, nil
	case err != nil:
		return "", nil, cloudauth.AWSAnswered(err)
	case aws.ToInt64(out.ContentLength) == 0:
		return "", out.ETag, nil
	}
	return store.Version(aws.ToString(out.ETag)), out.ETag, nil
}

// writing returns the request that writes an object with the configured encryption, ACL and checksum.
func (r *remote) writing(key string, data []byte) *s3.PutObjectInput {
	in := &s3.PutObjectInput{
		Bucket: &r.o.Bucket, Key: &key, Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data))),
		ContentType: aws.String("application/json"), ACL: types.ObjectCannedACL(r.o.ACL),
	}
	if !r.o.NoChecksum {
		sum := sha256.Sum256(data)
		in.ChecksumSHA256 = aws.String(base64.StdEncoding.EncodeToString(sum[:]))
	}
	switch k := r.o.CustomerKey; {
	case !r.o.Encrypt:
	case r.o.KMSKey != "":
		in.ServerSideEncryption, in.SSEKMSKeyId = types.ServerSideEncryptionAwsKms, &r.o.KMSKey
	case k != nil:
		in.SSECustomerAlgorithm, in.SSECustomerKey, in.SSECustomerKeyMD5 = aws.String("AES256"), &k.Key, &k.MD5
	default:
		in.ServerSideEncryption = types.ServerSideEncryptionAes256
	}
	return in
}

// Delete deletes a workspace and its state. For the default workspace it returns store.ErrDefault.
func (r *remote) Delete(ctx context.Context, workspace string) error {
	if err := store.Deletable(workspace); err != nil {
		return err
	}
	_, err := r.o.Client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &r.o.Bucket, Key: aws.String(r.path(workspace))})
	if err == nil && r.o.Table != nil {
		err = r.o.Table.forget(ctx, r.id(workspace))
	}
	return cloudauth.AWSAnswered(err)
}

// journalVariable is the environment variable that sets the setting "journal".
const journalVariable = "LETHE_S3_JOURNAL"

// journalSuffix separates the key of a state from the rest of the key in the keys of journal objects.
const journalSuffix = ".journal/"

// List returns the names of the workspaces, the default workspace first.
func (r *remote) List(ctx context.Context) ([]string, error) {
	var names []string
	before, _, _ := r.around()
	err := r.list(ctx, before, func(o types.Object) {
		name, ok := r.named(aws.ToString(o.Key), "")
		if !ok && r.o.Journal { // count the workspace of a run that crashed before it wrote a state, because its journal exists
			name, ok = r.named(aws.ToString(o.Key), journalSuffix)
		}
		if ok && store.CheckName(name) == nil && name != store.Default {
			names = append(names, name)
		}
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	return slices.Insert(slices.Compact(names), 0, store.Default), nil
}

// WithJournals returns the workspaces with journals that the store does not read with its settings, and the environment
// variable that makes commands read them. It omits journals that the credentials do not permit to list.
func (r *remote) WithJournals(ctx context.Context) (workspaces []string, variable string, err error) {
	if r.o.Journal {
		return nil, "", nil
	}
	others, _, _ := r.around()
	for _, prefix := range []string{r.o.Key + journalSuffix, others} {
		err := r.list(ctx, prefix, func(o types.Object) {
			name, ok := store.Default, true
			if prefix == others {
				name, ok = r.named(aws.ToString(o.Key), journalSuffix)
			}
			if ok && aws.ToInt64(o.Size) > 0 && store.CheckName(name) == nil {
				workspaces = append(workspaces, name)
			}
		})
		if err != nil && !is(err, "AccessDenied") {
			return nil, "", err
		}
	}
	return slices.Compact(workspaces), journalVariable, nil
}

// list calls do with each object whose key begins with prefix.
func (r *remote) list(ctx context.Context, prefix string, do func(types.Object)) error {
	pages := s3.NewListObjectsV2Paginator(r.o.Client, &s3.ListObjectsV2Input{Bucket: &r.o.Bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if is(err, "NoSuchBucket") {
			return fmt.Errorf("the bucket %q does not exist", r.o.Bucket)
		}
		if err != nil {
			return cloudauth.AWSAnswered(err)
		}
		for _, o := range page.Contents {
			do(o)
		}
	}
	return nil
}

// is reports whether err is an error of the service with one of the given codes.
func is(err error, codes ...string) bool {
	var refused smithy.APIError
	return errors.As(err, &refused) && slices.Contains(codes, refused.ErrorCode())
}
