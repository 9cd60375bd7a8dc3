package keeper

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"net"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/provider/launch"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/store"
)

// Variable is the environment variable that, with the value off, has providers run without a keeper.
const Variable = "LETHE_KEEPER"

// Options are the settings of a Keeper.
type Options struct {
	// Spawn starts a keeper's process.
	Spawn func() (*Process, error)
	// Secrets are the secrets of the run.
	Secrets *secret.Set
	// Failed is called with an error if no keeper process can be started: providers are then started without a keeper.
	// It is called with nil if the connection to a keeper process ends before the engine has said goodbye.
	Failed func(error)
}

// Process is a keeper's process.
type Process struct {
	Conn  net.Conn
	ID    int
	Ended <-chan struct{} // closed when it has ended
}

// Keeper is the engine's side: it starts providers, and makes calls, through another process, which is started with
// the first provider. Should that be lost, so are its providers; the next provider gets a new one. A Keeper may be
// used from many goroutines.
type Keeper struct {
	o Options

	mu      sync.Mutex
	now     *peer // nil: no process runs
	process *Process
	failed  bool   // none could be started
	journal []byte // running as JSON, nil: no journal
}

// New makes a Keeper.
func New(o Options) *Keeper { return &Keeper{o: o} }

// closeLimit is the time that an ending engine waits for the keeper to close leases. Calls that hang were reported
// before.
const closeLimit = 2 * closeTime

// endLimit is how long it waits for the process to be gone after that.
const endLimit = time.Second

// Start starts a provider: see launch.Start.
func (k *Keeper) Start(ctx context.Context, program launch.Program, log func(level, line string)) (*launch.Running, error) {
	p := k.peer()
	if p == nil {
		return launch.Start(ctx, program, log)
	}
	r, err := p.start(ctx, program, log)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err() // report the cancellation, not the error that it caused
	}
	return r, err
}

// peer returns the running keeper process. It starts one if none is running, and returns nil if that fails.
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

// JournalOpened tells the keeper where the run's journal is. An empty path means that the run has closed it. key
// encrypts the records. hand describes how the keeper can copy the journal to the store of the state if the engine
// dies; nil means that it does not. earlier is true if the run continues the journal of an earlier run.
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

// Recorded tells the keeper that a call is in the journal.
func (k *Keeper) Recorded(op journal.Op) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now != nil {
		k.now.link.queue(recordedFrame, 0, binary.LittleEndian.AppendUint64(nil, uint64(op)))
	}
}

// ID returns the process ID of the keeper, 0 if none runs.
func (k *Keeper) ID() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now == nil || k.now.isStopped() {
		return 0
	}
	return k.process.ID
}

// Part closes the open leases within a time limit, for an engine that is about to end. It returns the addresses of the
// leases that could not be closed; ok is true if the list is complete. No provider may be called afterwards.
func (k *Keeper) Part(limit time.Duration) (open []string, ok bool) {
	k.mu.Lock()
	p := k.now
	k.mu.Unlock()
	if p == nil {
		return nil, false
	}
	return p.part(limit)
}

// Close waits until nothing is open and the process has ended.
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
