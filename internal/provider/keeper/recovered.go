package keeper

import (
	"context"
	"os"
	"slices"
	"sync"

	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/store"
)

// Recorder determines the records of the calls to one provider, for an engine that crashed.
type Recorder interface {
	// Record returns the changes of a call. It returns false if they are unknown, or must not be recorded.
	Record(ctx context.Context, note, request, answer []byte) ([]journal.Change, bool)
	// Learn registers the secrets in the answer to a call that opened a lease. It returns false if the answer cannot be
	// read.
	Learn(ctx context.Context, request, answer []byte) bool
}

// NewRecorder returns a Recorder for a running provider. The Recorder uses the secrets of the run for its checks, and
// adds further secrets to them.
type NewRecorder func(p provider.Provider, secrets *secret.Set) Recorder

// running is the journal of a run; an empty path means that the run has closed it.
type running struct {
	Path    []byte                  // need not be UTF-8
	Key     []byte                  // see journal.Writer
	Hand    *store.PresignedRequest `json:",omitempty"` // the request that uploads the journal to the state's store; nil: no upload
	Earlier bool                    // the journal has calls of an earlier run
}

// secretText is a secret string with its origin, as the engine sends it to the keeper.
type secretText struct {
	Text   []byte
	Origin secret.Origin
}

// change is a call that was answered and changed something.
type change struct {
	provider *served
	*request
	answer []byte
}

// ledger has the data for the records that the keeper writes if the engine crashes.
type ledger struct {
	recovered NewRecorder

	mu      sync.Mutex
	file    disk.File // the journal; nil: no journal
	path    string
	key     []byte
	hand    *store.PresignedRequest
	earlier bool
	secrets []secretText
	asked   map[journal.Op]bool // calls that were made, and leases that were asked for
	changes []change            // that the engine has not recorded yet, in the order of their answers
}

// begin opens the journal of a run. If the path is empty, it only closes the previous journal.
func (l *ledger) begin(r running) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
	if path := string(r.Path); path != "" {
		if f, err := journal.Share(disk.OS, path); err == nil {
			l.file, l.path, l.key, l.hand, l.earlier, l.asked, l.changes = f, path, r.Key, r.Hand, r.Earlier, map[journal.Op]bool{}, nil
		}
	}
}

func (l *ledger) learn(t secretText) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.secrets = append(l.secrets, t)
}

// ask takes note of a call that is about to be made.
func (l *ledger) ask(op journal.Op) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if op != 0 && l.file != nil {
		l.asked[op] = true
	}
}

func (l *ledger) answered(c change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.op != 0 && l.file != nil {
		l.changes = append(l.without(c.op), c) // a repeated call has the number of the first one
	}
}

func (l *ledger) recorded(op journal.Op) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.asked, op)
	l.changes = l.without(op)
}

// without returns the changes without the change of a call.
func (l *ledger) without(op journal.Op) []change {
	return slices.DeleteFunc(l.changes, func(c change) bool { return c.op == op })
}

// resume reopens the journal; nil if the run has none.
func (l *ledger) resume() *journal.Resumed {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	r, err := journal.Resume(l.file, l.key)
	if err != nil {
		l.file.Close()
		return nil
	}
	if r.Header.Keeper == os.Getpid() && !l.earlier { // else there was another keeper before this one
		l.withdraw(r)
	}
	return r
}

// record records the answered changes that the engine has not recorded. They must not be lost with a provider or a
// keeper that dies while other calls are in progress.
func (l *ledger) record(ctx context.Context, r *journal.Resumed, open []*lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r == nil {
		return
	}
	for _, c := range l.changes {
		if _, is := r.Open[c.op]; !is {
			continue // it is recorded; the engine was lost before it could report that
		}
		if changed, ok := l.made(ctx, c, open); ok {
			r.Later(func(error) {}, c.op, changed...)
		}
	}
	l.changes = nil
}

// withdraw finds the calls that the engine announced and never made, and records that they changed nothing. It skips
// calls to built-in providers: the engine makes them itself, so the keeper cannot know whether they were made.
func (l *ledger) withdraw(r *journal.Resumed) {
	for op, o := range r.Open {
		switch {
		case l.asked[op] || o.Provider.IsBuiltin():
		case o.Lease:
			r.Closed(op)
		default:
			r.Later(func(error) {}, op)
		}
	}
}

// made returns the changes of a call. The provider process of the call may have opened a lease whose secrets the engine
// had no time to register, so made registers the secrets of all open leases first. It returns false if the answer about
// a lease of this process cannot be read. The leases of other processes do not matter then: the engine registers their
// secrets before it sends them to this process.
func (l *ledger) made(ctx context.Context, c change, open []*lease) ([]journal.Change, bool) {
	secrets := &secret.Set{}
	for _, t := range l.secrets {
		secrets.Add(string(t.Text), t.Origin)
	}
	for _, o := range open {
		if !l.recovered(o.provider.client(), secrets).Learn(ctx, o.opened[0], o.opened[1]) && o.provider == c.provider {
			return nil, false
		}
	}
	return l.recovered(c.provider.client(), secrets).Record(ctx, c.note, c.body, c.answer)
}

// client returns a client of the provider process. A Recorder uses it to ask for the schemas.
func (p *served) client() provider.Provider {
	if p.asked == nil {
		p.asked = wire.Client(p.Conn, p.Protocol, p.program.Provider, wire.Options{})
	}
	return p.asked
}
