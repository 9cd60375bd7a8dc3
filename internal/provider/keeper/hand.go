package keeper

import (
	"context"
	"io"
	"time"

	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// handTime is how long the store is tried to be reached for the journal of a lost run.
const handTime = 20 * time.Second

// handOver gives what end makes of a journal to the store, by the one request that the engine has handed for that. The
// file stays in use until then: who waits for it finds in the store what it finds in the file.
func (l *ledger) handOver(end func() error) {
	l.mu.Lock()
	to, path := l.hand, l.path
	l.mu.Unlock()
	if to == nil {
		_ = end() // what is not recorded is named by the next command
		return
	}
	f, err := journal.Share(disk.OS, path)
	_ = end()
	if err != nil {
		return
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), handTime)
	defer cancel()
	again := store.Tries{Again: 3, Shortest: 500 * time.Millisecond, Longest: 2 * time.Second}
	_ = again.Do(ctx, func() error { return to.Send(ctx, data) }) // the file has it all the same
}
