package s3store

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/cloudauth"
)

// Table is a table of DynamoDB with the key LockID: the lock of a state is the item "bucket/key" with Info, its MD5
// is the item "bucket/key-md5" with Digest.
type Table struct {
	Client *cloudauth.AWSService
	Name   string

	unchecked sync.Once // tells that checksums cannot be read
}

// call makes a request once, and gives the item of the answer.
func (t *Table) call(ctx context.Context, operation string, in request) (item, error) {
	var out struct{ Item item }
	err := t.Client.Call(ctx, operation, in, &out)
	return out.Item, err
}

// get reads a field of an item, "" where there is none.
func (t *Table) get(ctx context.Context, id, field string) (string, error) {
	found, err := t.call(ctx, "GetItem", request{TableName: t.Name, Key: item{"LockID": id}, ConsistentRead: true})
	return found[field], err
}

func digestOf(data []byte) string {
	sum := md5.Sum(data)
	return hex.EncodeToString(sum[:])
}

// note keeps the MD5 of a state that was written: without it the state would not be believed, so this is retried as long as
// the writing itself.
func (t *Table) note(ctx context.Context, tries store.Tries, id string, data []byte) error {
	in := request{TableName: t.Name, Item: item{"LockID": id + "-md5", "Digest": digestOf(data)}}
	err := tries.Write(ctx, func(ctx context.Context) error {
		_, err := t.call(ctx, "PutItem", in)
		return err
	})
	if err != nil { // in another form than one that Careful retries
		return fmt.Errorf("the state was written, but its checksum could not be written to the table %q: %v", t.Name, err)
	}
	return nil
}

// forget removes the MD5 of a state.
func (t *Table) forget(ctx context.Context, id string) error {
	_, err := t.call(ctx, "DeleteItem", request{TableName: t.Name, Key: item{"LockID": id + "-md5"}})
	return err
}

// settling is how long a state may take to be the one that was written last.
const settling = 10 * time.Second

// settled reads a state until it has the MD5 that was noted. Where that cannot be read the state is used without the check, as
// Terraform does: a role may read states and not the table.
func (t *Table) settled(ctx context.Context, tries store.Tries, id string, read func() ([]byte, store.Version, error)) ([]byte, store.Version, error) {
	for deadline := time.Now().Add(store.Hurried(settling)); ; {
		data, v, err := read()
		if err != nil {
			return nil, "", err
		}
		want := ""
		err = tries.Do(ctx, func() (err error) {
			want, err = t.get(ctx, id+"-md5", "Digest")
			return err
		})
		have := digestOf(data)
		switch {
		case ctx.Err() != nil:
			return nil, "", err
		case err != nil && tries.Tell != nil:
			t.unchecked.Do(func() {
				tries.Tell(fmt.Sprintf("The checksum of the state in the DynamoDB table %q cannot be read; the state is used without it: %v", t.Name, err))
			})
			return data, v, nil
		case err != nil, want == "", want == have:
			return data, v, nil
		case time.Now().After(deadline):
			err := fmt.Errorf("state data in S3 does not have the expected content: it has the checksum %s, and the table %q has %s. It may be that S3 still has to finish a change: try again in a few minutes. If this goes on, and the state is the right one, correct the Digest of the item %q in that table, or write the state again with state push -force", have, t.Name, want, id+"-md5")
			return nil, "", &store.DamagedError{Version: v, Data: data, Err: err}
		}
		select {
		case <-ctx.Done():
			return nil, "", ctx.Err()
		case <-time.After(store.Hurried(time.Second)):
		}
	}
}
