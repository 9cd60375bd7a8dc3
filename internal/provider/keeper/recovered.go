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

// Recorder determines the journal records of calls to one provider, after the engine has crashed.
type Recorder interface {
	// Record returns the changes that a call made. note contains data that the engine sent with the call for its record.
	// Record returns false if the changes are unknown, or must not be recorded.
	Record(ctx context.Context, note, request, answer []byte) ([]journal.Change, bool)
	// Learn registers the secrets in the answer to a call that opened an ephemeral resource. It returns false if the
	// answer cannot be decoded.
	Learn(ctx context.Context, request, answer []byte) bool
}

// NewRecorder returns a Recorder for a running provider. The Recorder removes the given secrets of the run from its
// records, and Learn adds further secrets.
type NewRecorder func(p provider.Provider, secrets *secret.Set) Recorder

// running describes the journal of a run, as the engine sends it to the keeper. An empty path means that the run has
// closed the journal.
type running struct {
	Path    []byte                  // path of the journal; may be invalid UTF-8
	Key     []byte                  // the key that encrypts the records
	Hand    *store.PresignedRequest `json:",omitempty"` // request that uploads the journal to the state's store; nil: no upload
	Earlier bool                    // the journal has calls of an earlier run
}

// secretText is a secret string with its origin, as the engine sends it to the keeper.
type secretText struct {
	Text   []byte
	Origin secret.Origin
}

// change is an answered call that changes an object or invokes an action.
type change struct {
	provider *served
	*request
	answer []byte
}

// ledger has the data for the records that the keeper writes if the engine crashes.
type ledger struct {
	recovered NewRecorder

	mu      sync.Mutex
	file    disk.File // the journal file; nil: the run has no journal
	path    string
	key     []byte
	hand    *store.PresignedRequest
	earlier bool
	secrets []secretText
	asked   map[journal.Op]bool // journal numbers of the calls that the keeper has made or is making
	changes []change            // answered changes that the engine has not recorded yet, in the order of their answers
}

// begin opens the journal of a run, and closes the previous journal. If the path is empty, begin opens none.
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

// ask records that the keeper is about to make the call with the journal number op.
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
		l.changes = append(l.without(c.op), c) // a repeated call has the number of the first call, so it replaces that change
	}
}

func (l *ledger) recorded(op journal.Op) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.asked, op)
	l.changes = l.without(op)
}

// without returns l.changes without the change of the call op.
func (l *ledger) without(op journal.Op) []change {
	return slices.DeleteFunc(l.changes, func(c change) bool { return c.op == op })
}

// resume continues the journal after the end of the engine. It records that the calls that were announced and never
// made changed nothing (see withdraw). It returns nil if the run has no journal, or if the journal cannot be read.
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
	if r.Header.Keeper == os.Getpid() && !l.earlier { // otherwise another keeper may have made the calls that this keeper does not know
		l.withdraw(r)
	}
	return r
}

// record writes each answered change that the engine has not recorded into the journal. It is called while other calls
// are still running, because a provider or the keeper may die before these calls end. open has the open leases.
func (l *ledger) record(ctx context.Context, r *journal.Resumed, open []*lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r == nil {
		return
	}
	for _, c := range l.changes {
		if _, is := r.Open[c.op]; !is {
			continue // the change is already in the journal: the engine died before it could inform the keeper
		}
		if changed, ok := l.made(ctx, c, open); ok {
			r.Later(func(error) {}, c.op, changed...)
		}
	}
	l.changes = nil
}

// withdraw finds the calls that the engine announced in the journal and never made, and records that they changed
// nothing. It skips calls to built-in providers: the engine makes them itself, so the keeper does not know whether they
// were made.
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

// made returns the changes that a call made, or false if they must not be recorded. It first registers the secrets in
// all open leases, because the engine may have died before it sent them to the keeper. If an answer that opened a lease
// in the process of the call cannot be decoded, made returns false. It ignores such a failure for leases of other
// processes: the engine sends the secrets of these leases to the keeper before it sends them to this process.
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

// client returns a client for the provider process. A Recorder requests the schemas through it.
func (p *served) client() provider.Provider {
	if p.asked == nil {
		p.asked = wire.Client(p.Conn, p.Protocol, p.program.Provider, wire.Options{})
	}
	return p.asked
}
