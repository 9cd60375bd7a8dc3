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
	"github.com/lethe-iac/lethe/internal/state/store"
)

// Variable is the environment variable that, with the value off, has providers run without a keeper.
const Variable = "LETHE_KEEPER"

// Options are what a Keeper needs to know.
type Options struct {
	// Spawn starts a keeper's process.
	Spawn func() (*Process, error)
	// Secrets are those of the run.
	Secrets *secret.Set
	// Lost hears that a keeper's process has ended before it was to, or why none could be started: then providers
	// are started without one.
	Lost func(error)
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
	now     *peer // nil: there is none
	process *Process
	failed  bool   // none could be started
	journal []byte // running as JSON, nil: there is none
}

// New makes a Keeper.
func New(o Options) *Keeper { return &Keeper{o: o} }

// closeLimit is how long an engine that ends waits for what is open to be closed: what hangs has been reported before.
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
		err = ctx.Err() // and not what the call says of it
	}
	return r, err
}

// peer gives the process that runs, starting it if there is none; nil if that cannot be done.
func (k *Keeper) peer() *peer {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failed || k.now != nil && !k.now.isOver() {
		return k.now
	}
	process, err := k.o.Spawn()
	if err != nil {
		k.now, k.failed = nil, true
		k.o.Lost(err)
		return nil
	}
	p := newPeer(process.Conn, func() { k.o.Lost(nil) })
	k.now, k.process = p, process
	if k.journal != nil {
		p.link.queue(journalFrame, 0, k.journal)
	}
	k.o.Secrets.Tell(func(text string, from secret.Origin) {
		if b, err := json.Marshal(told{[]byte(text), from}); err == nil {
			p.link.send(secretFrame, 0, b)
		}
	})
	return p
}

// Begun says that the run has a journal from now on; a path of "" that it has ended it. key is what its records are
// encrypted under, hand how all of it gets into the store of the state, should the run be lost; nil: it does not. earlier
// says that it goes on with the journal of an earlier run.
func (k *Keeper) Begun(path string, key []byte, hand *store.Handed, earlier bool) {
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

// Recorded says that a call is in the journal.
func (k *Keeper) Recorded(op journal.Op) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now != nil {
		k.now.link.queue(recordedFrame, 0, binary.LittleEndian.AppendUint64(nil, uint64(op)))
	}
}

// ID is the process's, 0 if there is none.
func (k *Keeper) ID() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now == nil || k.now.isOver() {
		return 0
	}
	return k.process.ID
}

// Part closes what is open, in a limited time, for an engine that is about to end. It gives the addresses of what could
// not be closed, and reports whether that is all. Nothing may be asked of providers any more.
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
