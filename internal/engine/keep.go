package engine

import (
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/zclconf/go-cty/cty"
)

// kept is a configured process without a session: the last walk is done with it, and the next one
// takes it if it wants the same settings. Processes that were configured with ephemeral values are
// never kept: the values are fresh in each walk.
type kept struct {
	instance addr.ProviderInstance
	settings cty.Value
	process  provider.Provider
	since    time.Time
}

// keepTime is how long a process is kept while somebody thinks about a plan: what it logged in with
// may end.
const keepTime = 5 * time.Minute

// keep is what the last walk left.
type keep struct {
	sync.Mutex
	list []kept
}

// swap puts other processes in place of those kept, which it gives back.
func (k *keep) swap(list []kept) []provider.Provider {
	k.Lock()
	defer k.Unlock()
	var out []provider.Provider
	for _, x := range k.list {
		out = append(out, x.process)
	}
	k.list = list
	return out
}

// claim takes the process that was configured with the settings, nil if there is none or it was
// kept too long.
func (e *Engine) claim(i addr.ProviderInstance, settings cty.Value) provider.Provider {
	e.kept.Lock()
	defer e.kept.Unlock()
	for n, x := range e.kept.list {
		if x.instance == i && e.Now().Sub(x.since) < keepTime && x.settings.RawEquals(settings) {
			e.kept.list = append(e.kept.list[:n], e.kept.list[n+1:]...)
			return x.process
		}
	}
	return nil
}
