package lease

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/providertest"
)

// scene describes a random sequence of openings, renewals and closings of leases (ephemeral resources).
type scene struct {
	Seed        uint64
	Parallelism int
	Leases      []planned
}

// planned is one lease of a scene. Times are in seconds of the fake clock.
type planned struct {
	At      int   // the second in which the lease is opened
	Parents []int // indexes of earlier leases with which this lease is obtained
	RenewAt int   // seconds after the opening; 0: never
	Renew   mood  // how the provider answers calls to renew the lease
	Close   mood  // how the provider answers the call to close the lease
	CloseAt int   // seconds after the opening; 0: CloseAll closes it
}

// mood is the way in which a provider answers a call: it succeeds, refuses, hangs or panics.
type mood int

const (
	well mood = iota
	slowly
	refusing
	moody // refuses the first calls, and then succeeds
	hanging
	panicking
	moods
)

func drawScene(rt *rapid.T) scene {
	sc := scene{
		Seed:        rapid.Uint64().Draw(rt, "seed"),
		Parallelism: rapid.IntRange(1, 4).Draw(rt, "parallelism"),
	}
	feel := rapid.Map(rapid.IntRange(0, int(moods)-1), func(n int) mood { return mood(n) })
	for i := range rapid.IntRange(0, 8).Draw(rt, "leases") {
		p := planned{
			At:      rapid.IntRange(0, 20).Draw(rt, "at"),
			RenewAt: rapid.IntRange(-2, 10).Draw(rt, "renew at"),
			Renew:   feel.Draw(rt, "renew"),
			Close:   feel.Draw(rt, "close"),
			CloseAt: rapid.IntRange(0, 40).Draw(rt, "close at"),
		}
		if i > 0 {
			p.Parents = rapid.SliceOfN(rapid.IntRange(0, i-1), 0, 2).Draw(rt, "parents")
		}
		if i > 0 && sc.Leases[i-1].At > p.At {
			p.At = sc.Leases[i-1].At
		}
		sc.Leases = append(sc.Leases, p)
	}
	return sc
}

// TestEveryLeaseIsClosedOnceOrListed checks the contract of this package with random walks and providers of all moods:
//
//   - each lease is closed once, with the private data of the last successful renewal, within the time limits;
//   - if CloseAll closes two leases and the first was obtained with the second, it closes the first before the second;
//   - a lease whose closing failed is listed;
//   - no renewal is early, too soon after the last renewal, or after the closing.
func TestEveryLeaseIsClosedOnceOrListed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sc := drawScene(rt)
		var wrong []string
		synctest.Test(t, func(*testing.T) { wrong = play(sc) })
		if len(wrong) > 0 {
			rt.Fatalf("%v", wrong)
		}
	})
}

// player is one lease of a scene during the test, with the calls of its provider.
type player struct {
	planned
	lease       *Lease
	opened      time.Time
	good        string    // private data of the last successful renewal
	due, ended  time.Time // earliest time of the next renewal, and end of the last renewal
	tries       int       // the number of calls to renew the lease
	closes      int       // the number of calls to close the lease
	closing     time.Time // the time of the last call to close the lease
	closeFailed bool      // the call to close the lease failed
}

// theatre is a scene during the test. Its fake provider answers calls with the moods of the leases, and records
// violations of the contract.
type theatre struct {
	sync.Mutex
	sc     scene
	rand   *rand.Rand
	hang   chan struct{}      // closed at the end of the test; calls that hang wait for this
	wrong  []string           // the violations that were found
	actors map[string]*player // the leases, by name
}

func (p *theatre) blame(format string, a ...any) {
	p.wrong = append(p.wrong, fmt.Sprintf(format, a...))
}

func play(sc scene) []string {
	p := &theatre{sc: sc, rand: rand.New(rand.NewPCG(sc.Seed, 1)), hang: make(chan struct{}), actors: map[string]*player{}}
	fake := &providertest.Fake{Address: addr.Default("x"), OnRenew: p.renew, OnCloseLease: p.close}
	l := NewLedger(Options{CloseTimeout: 7 * time.Second, RenewTimeout: 3 * time.Second, Parallelism: sc.Parallelism})
	var cast []*player
	var walk sync.WaitGroup
	began := time.Now()
	for i, pl := range sc.Leases {
		time.Sleep(time.Duration(pl.At)*time.Second - time.Since(began))
		name := fmt.Sprint("t", i)
		a := &player{planned: pl, good: "open", opened: time.Now()}
		o := Opened{Object: object(name), Provider: fake, Type: name, Private: []byte("open")}
		if pl.RenewAt != 0 {
			a.due = in(time.Duration(pl.RenewAt) * time.Second)
			o.RenewAt = a.due
		}
		for _, n := range pl.Parents {
			o.Parents = append(o.Parents, cast[n].lease)
		}
		p.Lock()
		p.actors[name] = a
		p.Unlock()
		a.lease = l.Opened(o)
		cast = append(cast, a)
		if pl.CloseAt > 0 {
			walk.Go(func() {
				time.Sleep(time.Duration(pl.CloseAt) * time.Second)
				_ = a.lease.Fresh(context.Background())
				l.Close(a.lease)
			})
		}
	}
	p.Lock()
	wait := time.Duration(p.rand.IntN(30)) * time.Second
	p.Unlock()
	time.Sleep(wait)
	left := map[addr.Object]bool{}
	for _, x := range l.CloseAll() {
		left[x.Object] = true
	}
	p.Lock()
	for i, a := range cast {
		switch {
		case a.closes != 1:
			p.blame("t%d was closed %d times", i, a.closes)
		case left[object(fmt.Sprint("t", i))] != a.closeFailed:
			p.blame("t%d: closing failed %v, listed %v", i, a.closeFailed, !a.closeFailed)
		}
	}
	s := l.Summary()
	if s.Opened != len(cast) || s.Left != len(left) || s.Closed+s.Left != s.Opened {
		p.blame("summary %+v of %d leases, %d left", s, len(cast), len(left))
	}
	p.Unlock()
	walk.Wait()
	close(p.hang)
	return p.wrong
}

func (p *theatre) act(m mood, tries int) (hang, fail bool, pause time.Duration) {
	switch m {
	case slowly:
		return false, false, time.Duration(p.rand.IntN(2500)) * time.Millisecond
	case refusing:
		return false, true, 0
	case moody:
		return false, tries%3 != 0, 0
	case hanging:
		return true, false, 0
	}
	return false, false, 0
}

func (p *theatre) renew(_ context.Context, typ string, private []byte) (provider.RenewResponse, provider.Diags) {
	p.Lock()
	a := p.actors[typ]
	now := time.Now()
	if now.Before(a.due) {
		p.blame("%s was renewed %s early", typ, a.due.Sub(now))
	}
	if now.Sub(a.ended) < time.Second {
		p.blame("%s was renewed %s after the last time", typ, now.Sub(a.ended))
	}
	if string(private) != a.good {
		p.blame("%s was renewed with %q instead of %q", typ, private, a.good)
	}
	if a.closes > 0 {
		p.blame("%s was renewed after its closing", typ)
	}
	a.tries++
	mood := a.Renew
	hang, fail, pause := p.act(mood, a.tries)
	p.Unlock()
	if mood == panicking {
		panic("renew")
	}
	if hang {
		<-p.hang
	}
	time.Sleep(pause)
	p.Lock()
	defer p.Unlock()
	a.ended = time.Now()
	if fail || hang {
		return provider.RenewResponse{Private: []byte("bad"), RenewAt: time.Now()}, bad("no")
	}
	a.good = fmt.Sprintf("renewed %d", a.tries)
	a.due = in(time.Duration(p.rand.IntN(10)-3) * time.Second)
	return fine(a.good, a.due)
}

func (p *theatre) close(_ context.Context, typ string, private []byte) provider.Diags {
	p.Lock()
	a := p.actors[typ]
	a.closes++
	a.closing = time.Now()
	if string(private) != a.good {
		p.blame("%s was closed with %q instead of %q", typ, private, a.good)
	}
	for name, b := range p.actors {
		for _, n := range b.Parents {
			if fmt.Sprint("t", n) == typ && b.CloseAt == 0 && a.CloseAt == 0 && b.closes == 0 {
				p.blame("%s was closed before %s, which was obtained with it", typ, name)
			}
		}
	}
	hang, fail, pause := p.act(a.Close, 1)
	a.closeFailed = hang || fail || a.Close == panicking
	mood := a.Close
	p.Unlock()
	if mood == panicking {
		panic("close")
	}
	if hang {
		<-p.hang
	}
	time.Sleep(pause)
	if fail {
		return bad("no")
	}
	return nil
}
