package keeper

import (
	"context"
	"io"
	"time"

	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/store"
)

// handTime is the time limit within which release sends the journal of a crashed run to the store of the state.
const handTime = 20 * time.Second

// release calls end, which closes the journal. If the engine has prepared an upload request (l.hand), release then
// sends the content of the journal to the store of the state with this request. release holds a shared lock of the
// journal file until then, so a process that waits for the file finds the same content in the store.
func (l *ledger) release(end func() error) {
	l.mu.Lock()
	to, path := l.hand, l.path
	l.mu.Unlock()
	if to == nil {
		_ = end() // ignore the error: the next command reports changes that are not recorded
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
	again := store.Tries{Retries: 3, Shortest: 500 * time.Millisecond, Longest: 2 * time.Second}
	_ = again.Do(ctx, func() error { return to.Send(ctx, data) }) // ignore the error: the journal file still has the content
}
