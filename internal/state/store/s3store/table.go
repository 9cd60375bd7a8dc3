package s3store

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/lethe-iac/lethe/internal/state/store/cloudauth"
)

// Table is a table of DynamoDB with the key LockID: the lock of a state is the item "bucket/key" with Info, its MD5
// is the item "bucket/key-md5" with Digest.
type Table struct {
	Client *cloudauth.AWSService
	Name   string
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

// note keeps the MD5 of a state that was written: without it the state would not be believed, so this is tried
// more than once.
func (t *Table) note(ctx context.Context, id string, data []byte) (err error) {
	in := request{TableName: t.Name, Item: item{"LockID": id + "-md5", "Digest": digestOf(data)}}
	for range 4 {
		if _, err = t.call(ctx, "PutItem", in); err == nil {
			return nil
		}
	}
	return fmt.Errorf("the state was written, but its checksum could not be written to the table %q: %w", t.Name, err)
}

// forget removes the MD5 of a state.
func (t *Table) forget(ctx context.Context, id string) error {
	_, err := t.call(ctx, "DeleteItem", request{TableName: t.Name, Key: item{"LockID": id + "-md5"}})
	return err
}

// settling is how long a state may take to be the one that was written last.
const settling = 10 * time.Second

// settled reads a state until it has the MD5 that was noted.
func (t *Table) settled(ctx context.Context, id string, read func() ([]byte, error)) error {
	for deadline := time.Now().Add(settling); ; {
		data, err := read()
		if err != nil {
			return err
		}
		want, err := t.get(ctx, id+"-md5", "Digest")
		have := digestOf(data)
		switch {
		case err != nil, want == "", want == have:
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("state data in S3 does not have the expected content: it has the checksum %s, and the table %q has %s. It may be that S3 still has to finish a change: try again in a few minutes. If this goes on, and the state is the right one, correct the Digest of the item %q in that table", have, t.Name, want, id+"-md5")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}
