package s3store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/cloudauth"
)

// The journal of a run is a sequence of objects KEY.journal/RUN/POSITION-N, where RUN is the ID of the run's lock. Note
// appends to the last object by writing it again, until it has segment bytes. This keeps the number of objects small.
// If a write was not answered, it may still be executed later, so Note does not write that object again: the next
// object repeats its data.
//
// Locks are exclusive. While a process holds the lock, every other run with a journal has ended, or its lock was
// broken. So runs need no signs of life.

// segment is the size, in bytes, up to which an object is written again.
const segment = 64 << 10

// journaling is a store that keeps journals.
type journaling struct {
	*remote

	mu   sync.Mutex
	runs map[string]*ownRun // runs that hold a lock, by workspace
}

// ownRun is the journal of a run of this process.
type ownRun struct {
	id   string
	sent []string // keys of objects that may exist
	at   int64    // position of the last object
	data []byte   // confirmed content of the last object
	odd  bool     // the content of the last object is unknown
}

// Capabilities implements store.Store.
func (j *journaling) Capabilities() store.Capabilities {
	out := j.remote.Capabilities()
	out.Journals, out.Presigner = j, j
	return out
}

// Lock implements store.Store.
func (j *journaling) Lock(ctx context.Context, workspace string, who store.LockInfo) (func(context.Context) error, error) {
	if len(j.lockers()) == 0 {
		return nil, errors.New(`journals in the bucket need locks: set use_lockfile or dynamodb_table, or set journal (LETHE_S3_JOURNAL) to false`)
	}
	unlock, err := j.remote.Lock(ctx, workspace, who)
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.runs[workspace] = &ownRun{id: who.ID}
	return func(ctx context.Context) error {
		err := unlock(ctx)
		if err == nil {
			j.mu.Lock()
			defer j.mu.Unlock()
			delete(j.runs, workspace)
		}
		return err
	}, nil
}

func (j *journaling) own(workspace string) *ownRun {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.runs[workspace]
}

// below returns the prefix of the keys of a run's objects, or of all runs' objects if run is "".
func (j *journaling) below(workspace, run string) string {
	key := j.path(workspace) + journalSuffix
	if run != "" {
		key += run + "/"
	}
	return key
}

// Note implements store.Journaler. It ignores signs of life, which have no data.
func (j *journaling) Note(ctx context.Context, workspace string, at int64, data []byte) error {
	run := j.own(workspace)
	if run == nil {
		return errors.New("the state is not locked")
	}
	if len(data) == 0 {
		return nil
	}
	all := append(slices.Clip(run.data), data...)
	if run.sent == nil || run.odd || at != run.at+int64(len(run.data)) || len(all) > segment {
		run.at, run.data, run.odd, all = at, nil, false, slices.Clone(data)
		run.sent = append(run.sent, fmt.Sprintf("%s%012d-%d", j.below(workspace, run.id), at, len(run.sent)))
	}
	run.odd = true
	in := j.writing(run.sent[len(run.sent)-1], all)
	in.ContentType = aws.String("application/octet-stream")
	if _, err := j.o.Client.PutObject(ctx, in); err != nil {
		return cloudauth.AWSAnswered(err)
	}
	run.data, run.odd = all, false
	return nil
}

// piece is an object of a journal.
type piece struct {
	run, key string
	at       int64
}

// pieces lists the objects of a run's journal, or of all journals if run is "". It omits empty objects and objects with
// other names, and sorts by run and position.
func (j *journaling) pieces(ctx context.Context, workspace, run string) ([]piece, error) {
	var out []piece
	root := j.below(workspace, "")
	pages := s3.NewListObjectsV2Paginator(j.o.Client, &s3.ListObjectsV2Input{Bucket: &j.o.Bucket, Prefix: aws.String(j.below(workspace, run))})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("the journals below %s in the bucket %s cannot be listed, which journal = true (LETHE_S3_JOURNAL) needs: %w", root, j.o.Bucket, cloudauth.AWSAnswered(err))
		}
		for _, o := range page.Contents {
			key := aws.ToString(o.Key)
			of, name, _ := strings.Cut(strings.TrimPrefix(key, root), "/")
			position, _, _ := strings.Cut(name, "-")
			at, err := strconv.ParseInt(position, 10, 64)
			if err == nil && aws.ToInt64(o.Size) > 0 {
				out = append(out, piece{of, key, at})
			}
		}
	}
	slices.SortFunc(out, func(a, b piece) int {
		return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.at, b.at), cmp.Compare(a.key, b.key))
	})
	return out, nil
}

// Orphaned implements store.Journaler.
func (j *journaling) Orphaned(ctx context.Context, workspace string) ([]store.OrphanedJournal, error) {
	all, err := j.pieces(ctx, workspace, "")
	if err != nil {
		return nil, err
	}
	own, holder := j.own(workspace), ""
	for _, l := range j.lockers() {
		if own != nil || len(all) == 0 {
			break
		}
		held, err := l.read(ctx, workspace)
		if err != nil {
			return nil, err
		}
		if held != nil {
			holder = j.holder(workspace, held).ID
		}
	}
	var out []store.OrphanedJournal
	for _, p := range all {
		if own != nil && p.run == own.id {
			continue
		}
		data, _, err := j.get(ctx, p.key)
		if err != nil {
			return nil, err
		}
		if n := len(out); n == 0 || out[n-1].Run != p.run {
			out = append(out, store.OrphanedJournal{Run: p.run, Held: p.run == holder})
		}
		l := &out[len(out)-1]
		if have := int64(len(l.Data)); p.at <= have && p.at+int64(len(data)) > have {
			l.Data = append(l.Data[:p.at], data...)
		}
	}
	return out, nil
}

// Drop implements store.Journaler. If the credentials do not permit to delete objects, it empties them instead.
func (j *journaling) Drop(ctx context.Context, workspace, run string) error {
	var keys []string
	if own := j.own(workspace); own != nil && (run == "" || run == own.id) {
		keys = own.sent
		defer func() { *own = ownRun{id: own.id} }()
	} else if run != "" {
		all, err := j.pieces(ctx, workspace, run)
		if err != nil {
			return err
		}
		for _, p := range all {
			keys = append(keys, p.key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	// Delete the first object before the others: a journal without it is unreadable, so that an interruption leaves no
	// partial journal.
	if err := j.remove(ctx, keys[0]); err != nil {
		return err
	}
	var wg sync.WaitGroup
	failed := make([]error, len(keys))
	busy := make(chan struct{}, 8)
	for i, key := range keys[1:] {
		busy <- struct{}{}
		wg.Go(func() {
			failed[i] = j.remove(ctx, key)
			<-busy
		})
	}
	wg.Wait()
	return errors.Join(failed...)
}

func (j *journaling) remove(ctx context.Context, key string) error {
	_, err := j.o.Client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &j.o.Bucket, Key: &key})
	if is(err, "AccessDenied") {
		if _, emptying := j.o.Client.PutObject(ctx, j.writing(key, nil)); emptying == nil {
			return nil
		}
	}
	return cloudauth.AWSAnswered(err)
}

// handedFor is the validity of a presigned request. The request also expires with the credentials that signed it.
const handedFor = 24 * time.Hour

// Presign implements store.JournalPresigner. It refuses if objects have a customer key: the request would contain that
// key, which decrypts all states.
func (j *journaling) Presign(ctx context.Context, workspace string) (*store.PresignedRequest, error) {
	run := j.own(workspace)
	if run == nil {
		return nil, errors.New("the state is not locked")
	}
	if j.o.CustomerKey != nil {
		return nil, errors.New("the request would have the customer's key in it")
	}
	in := j.writing(fmt.Sprintf("%s%012d-keeper", j.below(workspace, run.id), 0), nil)
	in.Body, in.ContentLength, in.ContentType, in.ChecksumSHA256 = nil, nil, nil, nil
	signed, err := s3.NewPresignClient(j.o.Client).PresignPutObject(ctx, in, s3.WithPresignExpires(handedFor))
	if err != nil {
		return nil, cloudauth.AWSAnswered(err)
	}
	return &store.PresignedRequest{Method: signed.Method, URL: signed.URL, Header: signed.SignedHeader}, nil
}
