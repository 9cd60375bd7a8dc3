// Package s3store keeps states as objects of a bucket of Amazon S3, or of a service that speaks as that does: what
// Terraform and OpenTofu call the backend "s3", with their keys and locks, so that each waits for the others.
//
// The version of a state is its ETag. A Put says which one it replaces (If-Match, If-None-Match), and services that
// know neither are asked first.
//
// There are two kinds of lock, and none by itself. A lock object beside the state (use_lockfile) is written if there
// is none; an item of a DynamoDB table (dynamodb_table) likewise. With such a table there is a second item for each
// state, with its MD5: a state that does not have it is not the latest, and is read again.
//
// Journals of runs are kept where that is asked for, below the key of the state (journal.go).
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
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/cloudauth"
)

// Options say where states are and how they are kept.
type Options struct {
	Client   *s3.Client
	Bucket   string
	Key      string // of the default workspace
	Prefix   string // before the others'
	LockFile bool
	Table    *Table // of DynamoDB; nil for none
	Journal  bool   // whether runs keep their journals there
	Tries    store.Tries

	NoChecksum  bool // for services that do not know that header
	ACL         string
	Encrypt     bool
	KMSKey      string
	CustomerKey *CustomerKey // nil for none
}

// CustomerKey is a key for encryption that the service does not keep.
type CustomerKey struct{ Key, MD5 string } // in base64

type remote struct{ o Options }

// path is the key of a workspace's state. Terraform and OpenTofu join its parts as those of a path, which leaves out empty
// parts, and ".".
func (r *remote) path(workspace string) string {
	if workspace == store.Default {
		return r.o.Key
	}
	return path.Join(r.o.Prefix, workspace, r.o.Key)
}

// around is what the keys of the workspaces other than the default one have before the name of the workspace and after it. ok
// is false where the key leads out of the workspace, so that its name is not in there.
func (r *remote) around() (before, after string, ok bool) {
	const any = "\x00"
	return strings.Cut(path.Join(r.o.Prefix, any, r.o.Key), any)
}

// named is the workspace whose state is below a key, if there is one: suffix is what follows the key of the state.
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

// Place implements store.Placed.
func (r *remote) Place(workspace string) string {
	return "s3:" + aws.ToString(r.o.Client.Options().BaseEndpoint) + "/" + r.o.Bucket + "/" + r.path(workspace)
}

// Get implements store.Store.
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

// id names a state in a table.
func (r *remote) id(workspace string) string { return r.o.Bucket + "/" + r.path(workspace) }

// get reads an object, nil and "" where there is none.
func (r *remote) get(ctx context.Context, key string) ([]byte, store.Version, error) {
	in := &s3.GetObjectInput{Bucket: &r.o.Bucket, Key: &key}
	if k := r.o.CustomerKey; k != nil {
		in.SSECustomerAlgorithm, in.SSECustomerKey, in.SSECustomerKeyMD5 = aws.String("AES256"), &k.Key, &k.MD5
	}
	out, err := r.o.Client.GetObject(ctx, in)
	if is(err, "NoSuchKey", "NotFound") {
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
	if len(data) == 0 {
		return nil, "", nil
	}
	return data, store.Version(aws.ToString(out.ETag)), nil
}

// Put implements store.Store.
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
	if is(err, "NotImplemented") {
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

// note writes the digest of a state to the table, if there is one: without it the state would not be believed.
func (r *remote) note(ctx context.Context, workspace string, data []byte) error {
	if r.o.Table == nil {
		return nil
	}
	return r.o.Table.note(ctx, r.o.Tries, r.id(workspace), data)
}

// Finish implements store.Finisher. A state whose digest could not be written is there all the same.
func (r *remote) Finish(ctx context.Context, workspace string, data []byte) (store.Version, bool, error) {
	have, v, err := r.get(ctx, r.path(workspace))
	if err != nil || v == "" || !bytes.Equal(have, data) {
		return v, false, err
	}
	return v, true, r.note(ctx, workspace, data)
}

// version is that of the state, "" where there is none, and the ETag of the object, nil where there is none: an empty object is
// no state.
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

// writing is the request that writes an object as the settings say.
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

// Delete implements store.Store.
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

// journalVariable is the environment variable for the setting "journal".
const journalVariable = "LETHE_S3_JOURNAL"

// journalSuffix is what follows the key of a state in those of the objects of its journals.
const journalSuffix = ".journal/"

// List implements store.Store.
func (r *remote) List(ctx context.Context) ([]string, error) {
	var names []string
	before, _, _ := r.around()
	err := r.list(ctx, before, func(o types.Object) {
		name, ok := r.named(aws.ToString(o.Key), "")
		if !ok && r.o.Journal { // what a run has recorded that was lost before there was a state
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

// Left implements store.Unread.
func (r *remote) Left(ctx context.Context) (workspaces []string, variable string, err error) {
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

// list gives the objects whose keys begin so.
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

// is reports whether a service gave one of these errors.
func is(err error, codes ...string) bool {
	var refused smithy.APIError
	return errors.As(err, &refused) && slices.Contains(codes, refused.ErrorCode())
}
