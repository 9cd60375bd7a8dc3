package s3store

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/cloudauth"
)

// locker is one of the two kinds of lock: a lock object, or an item in a DynamoDB table. It sends each request once.
type locker interface {
	// acquire takes the lock, and stores info as the description of its holder. If another process holds the lock, acquire
	// returns false and the description of that holder, or nil if the lock was released in the meantime.
	acquire(ctx context.Context, workspace string, info []byte) (locked bool, held []byte, err error)
	// read returns the description of the holder, or nil if the lock is free.
	read(ctx context.Context, workspace string) ([]byte, error)
	// free releases the lock. A lock in a table is released only if the description of its holder is info. Otherwise the
	// lock was released in the meantime, and free returns nil.
	free(ctx context.Context, workspace string, info []byte) error
}

// lockers returns the configured kinds of lock.
func (r *remote) lockers() []locker {
	var all []locker
	if r.o.LockFile {
		all = append(all, lockFile{r})
	}
	if r.o.Table != nil {
		all = append(all, tableLock{r})
	}
	return all
}

// Lock takes the lock of a workspace and returns the function that releases it. If another process holds the lock, the
// error is a *store.LockError. It takes all configured kinds of lock. If one of them is not free, it releases the
// others. If no kind of lock is configured, it does nothing.
func (r *remote) Lock(ctx context.Context, workspace string, who store.LockInfo) (func(context.Context) error, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, err
	}
	who.Path = r.id(workspace)
	all := r.lockers()
	if len(all) == 0 {
		return func(context.Context) error { return nil }, nil
	}
	for i, l := range all {
		locked, held, err := l.acquire(ctx, workspace, who.Marshal())
		if err == nil && !locked {
			err = r.notLocked(workspace, who.ID, held)
		}
		if err != nil {
			for _, l := range all[:i] {
				err = errors.Join(err, l.free(ctx, workspace, who.Marshal()))
			}
			return nil, err
		}
	}
	return func(ctx context.Context) error { return r.Break(ctx, workspace, who.ID) }, nil
}

// notLocked returns the error for a lock that was not free. If the lock was released in the meantime, the error asks to
// try again. It returns nil if the lock has the ID id, because an unanswered attempt took it.
func (r *remote) notLocked(workspace, id string, held []byte) error {
	if held == nil {
		return store.Changing()
	}
	who := r.holder(workspace, held)
	if who.ID == id {
		return nil
	}
	return &store.LockError{Held: who, Err: errors.New("the state is locked")}
}

// holder returns the holder that the text of a lock describes. If the text describes no holder, its checksum is the ID,
// so that force-unlock can remove the lock.
func (r *remote) holder(workspace string, text []byte) *store.LockInfo {
	who, err := store.ParseLockInfo(text)
	if err != nil || who.ID == "" {
		who = store.LockInfo{ID: string(store.Digest(text)[:16]), Path: r.id(workspace), Info: "the content of the lock does not describe its holder"}
	}
	return &who
}

// Break releases the lock with the given ID. If the workspace has no such lock, the error is a *store.LockError.
func (r *remote) Break(ctx context.Context, workspace, id string) error {
	if err := store.CheckName(workspace); err != nil {
		return err
	}
	all := r.lockers()
	if len(all) == 0 {
		return &store.LockError{Err: errors.New(`the state has no lock: neither "use_lockfile" nor "dynamodb_table" is set`)}
	}
	broken := false
	for _, l := range all {
		held, err := l.read(ctx, workspace)
		if err != nil {
			return err
		}
		if held == nil {
			continue
		}
		if who := r.holder(workspace, held); who.ID != id {
			return store.OtherLock(who, id)
		}
		if err := l.free(ctx, workspace, held); err != nil {
			return err
		}
		broken = true
	}
	if !broken {
		return store.OtherLock(nil, id)
	}
	return nil
}

// lockFile is the kind of lock that is an object beside the state.
type lockFile struct{ *remote }

func (l lockFile) key(workspace string) string { return l.path(workspace) + ".tflock" }

func (l lockFile) acquire(ctx context.Context, workspace string, info []byte) (bool, []byte, error) {
	if aws.ToString(l.o.Client.Options().BaseEndpoint) != "" { // a service other than AWS may ignore If-None-Match
		if held, err := l.read(ctx, workspace); err == nil && held != nil {
			return false, held, nil
		}
	}
	in := l.writing(l.key(workspace), info)
	in.IfNoneMatch = aws.String("*")
	_, err := l.o.Client.PutObject(ctx, in)
	if err == nil {
		return true, nil, nil
	}
	if is(err, "NotImplemented") {
		return false, nil, fmt.Errorf("the lock object %s cannot be written. use_lockfile needs a service that supports the header If-None-Match of PutObject requests; otherwise use dynamodb_table: %w", l.key(workspace), err)
	}
	if !is(err, "PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey") {
		return false, nil, cloudauth.AWSAnswered(err)
	}
	held, err := l.read(ctx, workspace)
	return false, held, err
}

func (l lockFile) read(ctx context.Context, workspace string) ([]byte, error) {
	data, _, err := l.fetch(ctx, &s3.GetObjectInput{Bucket: &l.o.Bucket, Key: aws.String(l.key(workspace))})
	return data, err // an empty object is a lock, too: it is not nil
}

func (l lockFile) free(ctx context.Context, workspace string, _ []byte) error {
	_, err := l.o.Client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &l.o.Bucket, Key: aws.String(l.key(workspace))})
	return cloudauth.AWSAnswered(err)
}

// tableLock is the kind of lock that is an item in the DynamoDB table.
type tableLock struct{ *remote }

func (l tableLock) acquire(ctx context.Context, workspace string, info []byte) (bool, []byte, error) {
	_, err := l.o.Table.call(ctx, "PutItem", request{
		TableName: l.o.Table.Name, Item: item{"LockID": l.id(workspace), "Info": string(info)}, ConditionExpression: "attribute_not_exists(LockID)",
	})
	if err == nil || !cloudauth.AWSRefused(err, conditionFailed) {
		return err == nil, nil, err
	}
	held, err := l.read(ctx, workspace)
	return false, held, err
}

func (l tableLock) read(ctx context.Context, workspace string) ([]byte, error) {
	found, err := l.o.Table.item(ctx, l.id(workspace))
	if err != nil || found == nil {
		return nil, err
	}
	return []byte(found["Info"]), nil // an item without Info is a lock, too: its text is not nil
}

func (l tableLock) free(ctx context.Context, workspace string, info []byte) error {
	in := request{
		TableName: l.o.Table.Name, Key: item{"LockID": l.id(workspace)}, ConditionExpression: "Info = :held", ExpressionAttributeValues: item{":held": string(info)},
	}
	if len(info) == 0 {
		in.ConditionExpression, in.ExpressionAttributeValues = "attribute_not_exists(Info)", nil
	}
	_, err := l.o.Table.call(ctx, "DeleteItem", in)
	if cloudauth.AWSRefused(err, conditionFailed) {
		return nil // the lock was released in the meantime
	}
	return err
}
