package lease

import (
	"cmp"
	"slices"
	"sync"

	"github.com/lethe-iac/lethe/internal/provider"
)

// session is a provider process that CloseAll has to stop.
type session struct {
	provider provider.Provider
	parents  []*Lease
	stop     func()
	once     sync.Once
}

// Session says that a provider process was configured, with settings made from the parents (none
// perhaps). CloseAll calls stop after the leases that were opened through the process are closed,
// and before the parents are. Where the walk stops the process itself, the function that Session
// gives takes its part: it calls stop unless that was done before.
func (l *Ledger) Session(p provider.Provider, parents []*Lease, stop func()) (end func()) {
	s := &session{provider: p, parents: parents, stop: stop}
	l.mu.Lock()
	l.sessions = append(l.sessions, s)
	l.mu.Unlock()
	return s.end
}

func (s *session) end() { s.once.Do(s.stop) }

// CloseAll closes every lease that is still open and stops every session that still runs, and
// lists the leases that could not be closed, now or before, in the order in which they were
// opened. It is called when the walk is over, however it ended.
func (l *Ledger) CloseAll() []Left {
	for seen := -1; ; {
		l.mu.Lock()
		leases, sessions := slices.Clip(l.list), slices.Clip(l.sessions)
		l.mu.Unlock()
		n := len(leases) + len(sessions)
		if n == seen { // nothing was opened meanwhile
			return l.Open()
		}
		seen = n
		l.run(l.ending(leases, sessions))
	}
}

// job is something to end, after the jobs that it waits for.
type job struct {
	do    func()
	waits int
	then  []*job
	done  bool
	chain int // how many jobs there are in a row from this one on; 0: not measured yet
}

func (j *job) before(k *job) {
	if k != nil {
		j.then = append(j.then, k)
		k.waits++
	}
}

// measure gives the chain.
func (j *job) measure() int {
	if j.chain == 0 {
		j.chain = 1 // should it come round to this one again
		for _, k := range j.then {
			j.chain = max(j.chain, 1+k.measure())
		}
	}
	return j.chain
}

// ending makes the jobs: a lease after those that were obtained with it and after the sessions
// that were configured with it, a session after the leases opened through it.
func (l *Ledger) ending(leases []*Lease, sessions []*session) []*job {
	jobs := make([]*job, 0, len(leases)+len(sessions))
	add := func(do func()) *job {
		j := &job{do: do}
		jobs = append(jobs, j)
		return j
	}
	of := make(map[*Lease]*job, len(leases))
	for _, x := range leases {
		if !x.over() {
			of[x] = add(func() { l.Close(x) })
		}
	}
	through := make(map[provider.Provider]*job, len(sessions))
	for _, s := range sessions {
		j := add(s.end)
		through[s.provider] = j
		for _, p := range s.parents {
			j.before(of[p])
		}
	}
	for _, x := range leases {
		j := of[x]
		if j == nil {
			continue
		}
		j.before(through[x.opened.Provider])
		for _, p := range x.opened.Parents {
			j.before(of[p])
		}
	}
	return jobs
}

// run does the jobs, as many at a time as allowed, and those first on which the longest row of others
// waits. Jobs that wait for each other in a circle, which time itself forbids, are done at the end.
func (l *Ledger) run(jobs []*job) {
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		change  = sync.NewCond(&mu)
		ready   []*job // the longest row last
		running int
	)
	add := func(j *job) {
		i, _ := slices.BinarySearchFunc(ready, j, func(a, b *job) int { return cmp.Compare(a.measure(), b.measure()) })
		ready = slices.Insert(ready, i, j)
	}
	take := func() *job {
		for len(ready) == 0 && running > 0 {
			change.Wait()
		}
		if len(ready) == 0 {
			return nil
		}
		j := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		running++
		return j
	}
	finish := func(j *job) {
		j.done = true
		running--
		for _, k := range j.then {
			if k.waits--; k.waits == 0 {
				add(k)
			}
		}
		change.Broadcast()
	}
	for _, j := range jobs {
		if j.waits == 0 {
			add(j)
		}
	}
	for range min(l.o.Parallelism, len(jobs)) {
		wg.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			for j := take(); j != nil; j = take() {
				mu.Unlock()
				l.safely(j.do)
				mu.Lock()
				finish(j)
			}
		})
	}
	wg.Wait()
	for _, j := range jobs {
		if !j.done {
			l.safely(j.do)
		}
	}
}
