package applying

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
)

// Request says what to carry out.
type Request struct {
	Program *program.Program
	Options frame.Options
	Plan    *plan.Plan
	Journal journal.Journal // nil keeps nothing
}

// Result is what came of it. Snapshot is to be stored however the apply ended.
type Result struct {
	Snapshot *state.Snapshot
	Frame    *frame.Frame // what was made, to look around in; nil where nothing could be begun
	Summary  event.Summary
	Cut      bool // an interrupt kept something from being done
}

// applier is the apply walk, over the steps of a plan.
type applier struct {
	run   *run.Run
	req   *Request
	plan  *plan.Plan
	hosts run.Hosts

	records pending

	mu     sync.Mutex
	edit   *state.Edit
	broken error                     // the journal failed: nothing new is started
	made   map[addr.Object]made      // created, with provisioners to come
	going  map[addr.Object]time.Time // about to be destroyed: when the first destroy-time provisioner began
	taken  map[addr.Object]bool      // imported

	changes                                        map[addr.Object]*plan.Change
	notBegun                                       []addr.Object               // what the walk did not come to
	failures                                       []string                    // addresses of what failed
	deposed                                        map[addr.Object]addr.Object // current object → where its predecessor waits
	added, changed, destroyed, imported, forgotten atomic.Int32
}

// step is one step of an apply walk.
type step struct {
	a       *applier
	run     *run.Run // with the bag that diagnostics go to
	records *stepRecords
}

// made is an object whose creation is not complete before its provisioners are.
type made struct {
	event.Done
	began time.Time
}

// write records what became of objects, as one transaction: in the working snapshot and in the
// journal, where it is durable before any call that depends on it. op is the call that did it, 0 for none.
//
// No caller has to wait for it here. Records become durable in the order that they are given in, so a
// later intent of the step is durable only after it.
func (x *step) write(op journal.Op, changed ...journal.Change) bool {
	for i, c := range changed {
		changed[i].Entry = x.a.hosts.Hosted(c.Object, c.Entry)
	}
	x.a.mu.Lock()
	for _, c := range changed {
		x.a.edit.Put(c.Object, c.Entry)
	}
	well := x.a.broken == nil
	x.a.mu.Unlock()
	x.a.records.given()
	x.a.req.Journal.Later(x.records.record(func(err error) {
		defer x.a.records.written()
		if err != nil {
			x.a.lost(err)
		}
		for _, c := range changed {
			x.a.over(c.Object)
		}
	}), op, changed...)
	return well
}

// lost stops the run: what cannot be recorded must not be done.
func (a *applier) lost(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken != nil {
		return
	}
	a.broken = err
	a.run.Bag.Add(diag.Errorf("Failed to record progress", "The journal beside the state could not be written: %s.\n\nNothing new is started. What is running finishes, and everything that was done is kept in memory and written with the state at the end.", err))
}

// failing reports whether the journal failed.
func (a *applier) failing() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.broken != nil
}

// intend announces a provider call that changes something.
func (a *applier) intend(o addr.Object, action plan.Action, p addr.ProviderInstance) (journal.Op, bool) {
	if a.failing() {
		return 0, false
	}
	op, err := a.req.Journal.Intent(journal.Intent{Object: o, Action: action.String(), Provider: p})
	if err != nil {
		a.lost(err)
		return 0, false
	}
	a.run.InFlight.Set(o, true)
	return op, true
}

// over says that the outcome of a call is known.
func (a *applier) over(o addr.Object) { a.run.InFlight.Set(o, false) }

func (a *applier) entry(o addr.Object) *state.Entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.edit.Get(o)
}

// failed empties what an instance would have given to others.
func (a *applier) failed(d *program.Declaration, i addr.Instance) {
	if f := a.run.Frame.At(i.Module, frame.After); f != nil {
		f.Fail(d.ID, i.Key, frame.After)
	}
}

// takeIn records an imported object as planning found it, in the first step of its change: it is ours
// from then on, however the change ends that goes with the import.
func (x *step) takeIn(c *plan.Change) bool {
	if c.Importing == nil || c.Entry == nil {
		return true
	}
	x.a.mu.Lock()
	done := x.a.taken[c.Object]
	x.a.taken[c.Object] = true
	x.a.mu.Unlock()
	if done {
		return true
	}
	if !x.write(0, journal.Change{Object: c.Object, Entry: run.Amended(c, c.Entry)}) {
		return false
	}
	x.a.imported.Add(1)
	x.run.Settings.Tell(event.Imported{Object: c.Object, ID: c.Importing.ID})
	return true
}

// ending is the object that a change ends. Where there is no entry, ok says whether all is well: the create failed, and the
// old object lives on.
func (x *step) ending(c *plan.Change) (o addr.Object, e *state.Entry, ok bool) {
	if !x.takeIn(c) {
		return addr.Object{}, nil, false
	}
	o = x.a.downed(c)
	return o, x.a.entry(o), true
}

// after checks an object's postconditions, once everything that makes it is over.
func (x *step) after(d *program.Declaration, f *frame.Frame, inst addr.Instance, v mark.Value) bool {
	if x.run.Post(d, f, inst.Key, inst, func() mark.Value { return v }) {
		return true
	}
	x.a.failed(d, inst) // what waits for it gets nothing, outputs included
	return false
}

func (a *applier) restore(o, old addr.Object) []journal.Change {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.deposed, o)
	return restored(o, old, a.edit.Get(old))
}

// restored has the old object current again, the create that was to replace it came to nothing.
func restored(o, old addr.Object, e *state.Entry) []journal.Change {
	return []journal.Change{{Object: o, Entry: e}, {Object: old}}
}

// downed is the object that a change ends: the current one, a deposed one, or the predecessor that
// a create-first replacement deposed, if it has.
func (a *applier) downed(c *plan.Change) addr.Object {
	if c.Action != plan.CreateDelete {
		return c.Object
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.deposed[c.Object]
}

// freeKey is the key under which an instance's object is deposed: made from what names this state
// and this moment of it, the next free one if that is taken. The caller holds the lock.
func (a *applier) freeKey(i addr.Instance) string {
	head := a.edit.Head()
	for n := 0; ; n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%s\x00%d", head.Lineage, head.Serial, i, n))
		key := hex.EncodeToString(sum[:4])
		if a.edit.Get(addr.Object{Instance: i, Deposed: key}) == nil {
			return key
		}
	}
}

func (a *applier) postpone(d event.Done) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.made[d.Object] = made{d, time.Now().Add(-d.Took)}
}

// anySteps reports whether the plan has anything to carry out.
func (a *applier) anySteps() bool {
	for _, c := range a.plan.Changes {
		if c.Visited() {
			return true
		}
	}
	return false
}

func (a *applier) count(c *plan.Change) {
	if c.Action == plan.Update {
		a.changed.Add(1)
	} else {
		a.added.Add(1)
	}
}
