package run

import (
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/zclconf/go-cty/cty"
)

// idleSession is a configured process without a session: the last walk is done with it, and the next one
// takes it if it wants the same settings. Processes that were configured with ephemeral values are
// never kept: the values are fresh in each walk.
type idleSession struct {
	instance addr.ProviderInstance
	settings cty.Value
	process  provider.Provider
	since    time.Time
}

// keepTime is how long a process is kept while the user thinks about a plan: what it logged in with
// may end.
const keepTime = 5 * time.Minute

// idleSessions are the processes that the last walk left.
type idleSessions struct {
	sync.Mutex
	list []idleSession
}

// swap puts other processes in place of those kept, which it gives back.
func (k *idleSessions) swap(list []idleSession) []provider.Provider {
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
func (k *idleSessions) claim(i addr.ProviderInstance, settings cty.Value, now time.Time) provider.Provider {
	k.Lock()
	defer k.Unlock()
	for n, x := range k.list {
		if x.instance == i && now.Sub(x.since) < keepTime && x.settings.RawEquals(settings) {
			k.list = append(k.list[:n], k.list[n+1:]...)
			return x.process
		}
	}
	return nil
}
