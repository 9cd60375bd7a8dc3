package keeper

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/provider/launch"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/store"
)

// Variable is the environment variable that disables the keeper if its value is off.
const Variable = "LETHE_KEEPER"

// Options are the settings of a Keeper.
type Options struct {
	// Spawn starts a keeper process.
	Spawn func() (*Process, error)
	// Secrets has the secrets of the run.
	Secrets *secret.Set
	// Failed is called with an error if no keeper process can be started. Providers are then started without a keeper. It
	// is called with nil if the connection to a keeper process ends before the engine has announced its own end (Part,
	// Close).
	Failed func(error)
}

// Process is a keeper process.
type Process struct {
	Conn  io.ReadWriteCloser
	ID    int
	Ended <-chan struct{} // closed when the keeper process has ended
}

// Keeper is the engine's side of the keeper. It starts providers, and makes calls to them, through the keeper process,
// which is started with the first provider. If the keeper process ends, so do its providers, and the next provider
// starts a new keeper process. The methods may be called concurrently.
type Keeper struct {
	o Options

	mu      sync.Mutex
	now     *peer // the connection to the running keeper process; nil: no keeper process runs
	process *Process
	failed  bool   // no keeper process could be started; the Keeper does not try again
	journal []byte // the frame about the journal (JSON of the type running) for the next keeper process; nil: no journal is open
}

// New returns a Keeper. It starts no process yet.
func New(o Options) *Keeper { return &Keeper{o: o} }

// closeLimit is how long an ending engine waits for the keeper to close leases. Before it waits, the engine has
// reported calls that do not end.
const closeLimit = 2 * closeTime

// endLimit is how long the engine waits, after closeLimit, for the end of the keeper process.
const endLimit = time.Second

// Start starts a provider and connects to it. log receives the lines of the provider's log; nil drops the lines. If no
// keeper process can be started, the provider runs without a keeper.
func (k *Keeper) Start(ctx context.Context, program launch.Program, log func(level, line string)) (*launch.Running, error) {
	p := k.peer()
	if p == nil {
		return launch.Start(ctx, program, log)
	}
	r, err := p.start(ctx, program, log)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err() // report the cancellation, not the error that the cancellation caused
	}
	return r, err
}

// peer returns the connection to the running keeper process. It starts a keeper process if none is running, and returns
// nil if the start fails.
func (k *Keeper) peer() *peer {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failed || k.now != nil && !k.now.isStopped() {
		return k.now
	}
	process, err := k.o.Spawn()
	if err != nil {
		k.now, k.failed = nil, true
		k.o.Failed(err)
		return nil
	}
	p := newPeer(process.Conn, func() { k.o.Failed(nil) })
	k.now, k.process = p, process
	if k.journal != nil {
		p.link.queue(journalFrame, 0, k.journal)
	}
	k.o.Secrets.Subscribe(func(text string, from secret.Origin) {
		if b, err := json.Marshal(secretText{[]byte(text), from}); err == nil {
			p.link.queueSecret(b)
		}
	})
	return p
}

// JournalOpened sends the path of the run's journal to the keeper. An empty path means that the run has closed the
// journal. key encrypts the records. hand is the upload request with which the keeper copies the journal to the store
// of the state if the engine crashes; nil: the keeper does not copy it. earlier is true if the run continues the
// journal of an earlier run.
func (k *Keeper) JournalOpened(path string, key []byte, hand *store.PresignedRequest, earlier bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.journal = nil
	b, err := json.Marshal(running{[]byte(path), key, hand, earlier})
	if err != nil {
		return
	}
	if path != "" {
		k.journal = b
	}
	if k.now != nil {
		k.now.link.send(journalFrame, 0, b)
	}
}

// Recorded informs the keeper that the result of the call op is in the journal. So the keeper need not record it after
// a crash.
func (k *Keeper) Recorded(op journal.Op) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now != nil {
		k.now.link.queue(recordedFrame, 0, binary.LittleEndian.AppendUint64(nil, uint64(op)))
	}
}

// ID returns the process ID of the keeper, or 0 if no keeper is running.
func (k *Keeper) ID() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now == nil || k.now.isStopped() {
		return 0
	}
	return k.process.ID
}

// Part asks the keeper to close the open leases, and waits up to limit. An engine that is about to end calls it. Part
// returns the addresses of the leases that could not be closed. ok is true if the list is complete; it is false if no
// keeper runs or the keeper does not answer in time. No provider may be called after Part.
func (k *Keeper) Part(limit time.Duration) (open []string, ok bool) {
	k.mu.Lock()
	p := k.now
	k.mu.Unlock()
	if p == nil {
		return nil, false
	}
	return p.part(limit)
}

// Close asks the keeper to close the open leases, and waits until its process has ended. Both have a time limit.
func (k *Keeper) Close() error {
	k.Part(closeLimit)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now == nil {
		return nil
	}
	err := k.now.link.conn.Close()
	select {
	case <-k.process.Ended:
	case <-time.After(endLimit):
	}
	return err
}
