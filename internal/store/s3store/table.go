package s3store

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/cloudauth"
)

// Table is a DynamoDB table with the key LockID. The item with the LockID "bucket/key" is the lock of a state, and its
// field Info describes the holder. The item with the LockID "bucket/key-md5" has the MD5 of the state in its field
// Digest.
type Table struct {
	Client *cloudauth.AWSService
	Name   string

	unchecked sync.Once // limits the warning that checksums cannot be read to one
}

// call sends a request to DynamoDB once, and returns the item in the answer.
func (t *Table) call(ctx context.Context, operation string, in request) (item, error) {
	var out struct{ Item item }
	err := t.Client.Call(ctx, operation, in, &out)
	return out.Item, err
}

// item reads an item. It returns nil if the item does not exist.
func (t *Table) item(ctx context.Context, id string) (item, error) {
	return t.call(ctx, "GetItem", request{TableName: t.Name, Key: item{"LockID": id}, ConsistentRead: true})
}

// digest returns the stored MD5 of a state, or "".
func (t *Table) digest(ctx context.Context, id string) (string, error) {
	found, err := t.item(ctx, id+"-md5")
	return found["Digest"], err
}

func digestOf(data []byte) string {
	sum := md5.Sum(data)
	return hex.EncodeToString(sum[:])
}

// note writes the MD5 of a state to the table. Readers reject a state that differs from the MD5 in the table, so note
// repeats the request as long as the write of a state would be repeated.
func (t *Table) note(ctx context.Context, tries store.Tries, id string, data []byte) error {
	in := request{TableName: t.Name, Item: item{"LockID": id + "-md5", "Digest": digestOf(data)}}
	err := tries.Write(ctx, func(ctx context.Context) error {
		_, err := t.call(ctx, "PutItem", in)
		return err
	})
	if err != nil { // the error is not wrapped, so that store.Retrying does not repeat the Put
		return fmt.Errorf("the state was written, but its checksum could not be written to the table %q: %v", t.Name, err)
	}
	return nil
}

// forget deletes the MD5 of a state from the table.
func (t *Table) forget(ctx context.Context, id string) error {
	_, err := t.call(ctx, "DeleteItem", request{TableName: t.Name, Key: item{"LockID": id + "-md5"}})
	return err
}

// settling is how long Get waits until a state matches its MD5 in the table.
const settling = 10 * time.Second

// settled calls read until the state matches its MD5 in the table, at most for the time settling. Then the error is a
// *store.DamagedError. If the table has no MD5 of the state, settled returns the state unchecked. If the MD5 cannot be
// read, it does so after a warning, as Terraform does, because a role may have access to states but not to the table.
func (t *Table) settled(ctx context.Context, tries store.Tries, id string, read func() ([]byte, store.Version, error)) ([]byte, store.Version, error) {
	for deadline := time.Now().Add(store.Hurried(settling)); ; {
		data, v, err := read()
		if err != nil {
			return nil, "", err
		}
		want := ""
		err = tries.Do(ctx, func() (err error) {
			want, err = t.digest(ctx, id)
			return err
		})
		have := digestOf(data)
		switch {
		case ctx.Err() != nil:
			return nil, "", err
		case err != nil && tries.Notify != nil:
			t.unchecked.Do(func() {
				tries.Notify(fmt.Sprintf("The checksum of the state in the DynamoDB table %q cannot be read; the state is used without it: %v", t.Name, err))
			})
			return data, v, nil
		case err != nil, want == "", want == have:
			return data, v, nil
		case time.Now().After(deadline):
			err := fmt.Errorf("state data in S3 does not have the expected content: it has the checksum %s, but the table %q has %s. Try again in a few minutes. If the error remains and the state is right, correct the Digest of the item %q in that table, or write the state again with state push -force", have, t.Name, want, id+"-md5")
			return nil, "", &store.DamagedError{Version: v, Data: data, Err: err}
		}
		select {
		case <-ctx.Done():
			return nil, "", ctx.Err()
		case <-time.After(store.Hurried(time.Second)):
		}
	}
}
