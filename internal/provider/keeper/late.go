package keeper

import (
	"context"
	"os"
	"slices"
	"sync"

	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// Late makes records for an engine that was lost, of what it asked one provider.
type Late interface {
	// Record says what a call has changed. false: it cannot be said, or must not be recorded.
	Record(ctx context.Context, note, request, answer []byte) ([]journal.Change, bool)
	// Learn registers the secrets in the answer to a call that opened something, and reports whether it could read it.
	Learn(ctx context.Context, request, answer []byte) bool
}

// Lates gives what makes records for a provider that runs; secrets are those of the run, to check and to add to.
type Lates func(p provider.Provider, secrets *secret.Set) Late

// running is the journal that a run has begun; a path of "" says that it has ended it.
type running struct {
	Path    []byte        // need not be UTF-8
	Key     []byte        // see journal.Writer
	Hand    *store.Handed `json:",omitempty"` // how all of it gets into the store of the state; nil: it does not
	Earlier bool          // there are calls of an earlier run in it
}

// told is a string that is secret.
type told struct {
	Text   []byte
	Origin secret.Origin
}

// change is a call that was answered and changed something.
type change struct {
	provider *served
	*request
	answer []byte
}

// ledger has what is recorded should the engine be lost.
type ledger struct {
	late Lates

	mu      sync.Mutex
	file    disk.File // the journal; nil: there is none
	path    string
	key     []byte
	hand    *store.Handed
	earlier bool
	secrets []told
	asked   map[journal.Op]bool // calls that were made, and leases that were asked for
	changes []change            // that the engine has not recorded yet, in the order of their answers
}

// begin takes note of a journal, or of its end.
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

func (l *ledger) learn(t told) {
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
		l.changes = append(l.changes, c)
	}
}

func (l *ledger) recorded(op journal.Op) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.asked, op)
	l.changes = slices.DeleteFunc(l.changes, func(c change) bool { return c.op == op })
}

// resume goes on with the journal; nil if there is none.
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

// record records what was answered and the engine has not recorded. What is known is not to be lost with a provider, or a
// keeper, that is lost while other calls go on.
func (l *ledger) record(ctx context.Context, r *journal.Resumed, open []*lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r == nil {
		return
	}
	for _, c := range l.changes {
		if _, is := r.Open[c.op]; !is {
			continue // the engine was lost before it could say that it is recorded
		}
		if changed, ok := l.made(ctx, c, open); ok {
			r.Later(func(error) {}, c.op, changed...)
		}
	}
	l.changes = nil
}

// withdraw records of calls that were announced and never made that they came to nothing. Those to built-in providers
// are not made here.
func (l *ledger) withdraw(r *journal.Resumed) {
	for op, o := range r.Open {
		switch {
		case l.asked[op] || o.Provider.IsBuiltin():
		case o.Lease:
			r.Over(op)
		default:
			r.Later(func(error) {}, op)
		}
	}
}

// made says what a call has changed. What was opened and is still open may have taught the provider secrets of which
// the engine had no time to tell; another process learned none that was not told before.
func (l *ledger) made(ctx context.Context, c change, open []*lease) ([]journal.Change, bool) {
	secrets := &secret.Set{}
	for _, t := range l.secrets {
		secrets.Add(string(t.Text), t.Origin)
	}
	for _, o := range open {
		if !l.late(o.provider.client(), secrets).Learn(ctx, o.opened[0], o.opened[1]) && o.provider == c.provider {
			return nil, false
		}
	}
	return l.late(c.provider.client(), secrets).Record(ctx, c.note, c.body, c.answer)
}

// client is the provider, to ask it for its schemas.
func (p *served) client() provider.Provider {
	if p.asked == nil {
		p.asked = wire.Client(p.Conn, p.Protocol, p.program.Provider, wire.Options{})
	}
	return p.asked
}
