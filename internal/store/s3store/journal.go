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

// The journal of a run is a sequence of objects KEY.journal/RUN/POSITION-N, where KEY is the key of the state and RUN
// is the ID of the run's lock. Note appends data to the last object by writing that object again, until the object has
// segment bytes. This keeps the number of objects small. If a write of an object was not answered, the service may
// still execute it later, so Note does not write that object again: the next object repeats its data.
//
// Locks are exclusive. While a process holds the lock, every other run with a journal has ended, or its lock was
// broken. So runs need no signs of life.

// segment is the size, in bytes, up to which Note writes the last object of a journal again.
const segment = 64 << 10

// journaling is a store that also keeps the journals of runs.
type journaling struct {
	*remote

	mu   sync.Mutex
	runs map[string]*ownRun // the runs of this process that hold a lock, by workspace
}

// ownRun is the state of the journal of a run of this process.
type ownRun struct {
	id   string
	sent []string // the keys of the objects that may exist
	at   int64    // the position in the journal at which the last object begins
	data []byte   // the content of the last object that the service has confirmed
	odd  bool     // a write of the last object was not answered, so its content is unknown
}

// Capabilities returns the optional abilities of the store. A nil member means that the store lacks the ability.
func (j *journaling) Capabilities() store.Capabilities {
	out := j.remote.Capabilities()
	out.Journals, out.Presigner = j, j
	return out
}

// Lock takes the lock of a workspace and returns the function that releases it. If another process holds the lock, the
// error is a *store.LockError. If no kind of lock is configured, Lock returns another error, because journals need
// locks.
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

// below returns the beginning of the keys of a run's objects, or of all runs' objects if run is "".
func (j *journaling) below(workspace, run string) string {
	key := j.path(workspace) + journalSuffix
	if run != "" {
		key += run + "/"
	}
	return key
}

// Note writes data to the journal of the run that holds the lock. The parameter at is the byte position of the first
// byte. Note ignores signs of life, which have no data. It returns an error if this process does not hold the lock.
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

// piece describes an object of a journal: the run, the key, and the position of its data in the journal.
type piece struct {
	run, key string
	at       int64
}

// pieces lists the objects of a run's journal, or of all journals of the workspace if run is "". It omits empty
// objects, and objects whose names have another form. The result is sorted by run and position.
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

// Orphaned returns the journals of runs that ended without deleting their journal.
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

// Drop deletes the journal of a run; an empty run means the run that holds the lock. If the credentials do not permit
// to delete objects, it empties them instead.
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
	// Delete the first object before the others. Without it, the rest of a journal is unreadable, so an interruption
	// leaves no journal that seems complete.
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

// handedFor is how long a presigned request is valid. The request also becomes invalid when the credentials that signed
// it expire.
const handedFor = 24 * time.Hour

// Presign returns a signed request with which another process can write one object of the journal. It refuses if
// objects have a customer key: the request would contain that key, which decrypts all states.
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
