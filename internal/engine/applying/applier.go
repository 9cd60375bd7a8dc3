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

// Request holds the inputs of an apply.
type Request struct {
	Program *program.Program
	Options frame.Options
	Plan    *plan.Plan
	Journal journal.Journal // the journal (the file that records the changes until the state is written); nil: no journal is written
}

// Result is the result of an apply. The caller must store Snapshot even if the apply failed.
type Result struct {
	Snapshot    *state.Snapshot
	Frame       *frame.Frame // the values of the configuration after the apply; nil if the apply could not start
	Summary     event.Summary
	Interrupted bool     // an interrupt prevented some steps
	Unknown     []string // names of outputs whose values are not known yet; the state keeps the former values of these outputs
}

// applier is the run of one apply: a walk through the steps of a plan.
type applier struct {
	run   *run.Run
	req   *Request
	plan  *plan.Plan
	hosts run.Hosts
	again *rereading

	records pending

	mu              sync.Mutex
	edit            *state.Edit
	broken          error                     // the first error of the journal (the file that records changes until the state is written); then no new calls start
	made            map[addr.Object]made      // created objects whose provisioners have not all run yet
	going           map[addr.Object]time.Time // objects whose destruction the method leave has announced before a destroy-time provisioner, and has not begun yet; with the time of the announcement
	importedObjects map[addr.Object]bool      // objects whose import importObject has begun to record

	changes    map[addr.Object]*plan.Change // the changes of the plan, by object
	notStarted []addr.Object                // objects for which no step has started
	failures   []string                     // addresses of failed steps
	unknown    []string                     // names of outputs that are not known yet
	deposed    map[addr.Object]addr.Object  // current object → its old object, which this apply has deposed and destroys or forgets after the creation of the new object
	counts
}

// counts are the numbers of changed objects, and of invoked actions, for the summary.
type counts struct {
	added, changed, destroyed, imported, forgotten, invoked atomic.Int32
}

// step is one step of an apply walk.
type step struct {
	a       *applier
	run     *run.Run // the parts that all steps share; diagnostics are added to run.Bag
	records *stepRecords
}

// made is a created object whose provisioners have not all run yet. The creation is complete when they have run.
type made struct {
	event.Done
	began time.Time
}

// write records changes of objects as one transaction: in the working state (applier.edit) and in the journal, a file
// that a later command replays after a crash. op is the call that made the changes, or 0 if the record ends no call.
// write returns false if the journal has failed before.
//
// write does not wait until the record is durable. Records become durable in the order in which they are written. An
// intent (the record that a call is about to start) of a later call is durable only after this record, and a provider
// call starts only after its intent is durable.
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
			x.a.journalFailed(err)
		}
		for _, c := range changed {
			x.a.finished(c.Object)
		}
	}), op, changed...)
	return well
}

// journalFailed records that writing the journal failed with err, and reports the first such error. The run starts no
// new calls, because it cannot record their results.
func (a *applier) journalFailed(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken != nil {
		return
	}
	a.broken = err
	a.run.Bag.Add(diag.Errorf("Failed to record progress", "The journal beside the state could not be written: %s.\n\nLethe starts no new operations and finishes the running ones. All results are kept in memory and written to the state at the end.", err))
}

// failing reports whether writing the journal has failed.
func (a *applier) failing() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.broken != nil
}

// intend writes an intent to the journal: the record that a provider call is about to perform the action on the object
// o. It waits until the intent is durable. It returns the number of the call, and false if the journal fails or has
// failed before.
func (a *applier) intend(o addr.Object, action plan.Action, p addr.ProviderInstance) (journal.Op, bool) {
	if a.failing() {
		return 0, false
	}
	op, err := a.req.Journal.Intent(journal.Intent{Object: o, Action: action.String(), Provider: p})
	if err != nil {
		a.journalFailed(err)
		return 0, false
	}
	a.run.InFlight.Set(o, true)
	return op, true
}

// finished records that the call for the object o has ended, so that its result is known.
func (a *applier) finished(o addr.Object) { a.run.InFlight.Set(o, false) }

func (a *applier) entry(o addr.Object) *state.Entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.edit.Get(o)
}

// failed marks the new value of an instance in the frame (the values of the program) as failed, so that declarations
// that use the value fail, too.
func (a *applier) failed(d *program.Declaration, i addr.Instance) {
	if f := a.run.Frame.At(i.Module, frame.After); f != nil {
		f.Fail(d.ID, i.Key, frame.After)
	}
}

// importObject records the import of an object: the state gets the entry that planning has read. The first step of the
// change calls it, so that the state has the object even if the rest of the change fails. importObject does nothing if
// the change imports no object. It returns false if the journal has failed.
func (x *step) importObject(c *plan.Change) bool {
	if c.Importing == nil || c.Entry == nil {
		return true
	}
	x.a.mu.Lock()
	done := x.a.importedObjects[c.Object]
	x.a.importedObjects[c.Object] = true
	x.a.mu.Unlock()
	if done {
		return true
	}
	if !x.write(0, journal.Change{Object: c.Object, Entry: run.Amended(c, c.Entry)}) {
		return false
	}
	x.a.imported.Add(1)
	x.run.Settings.Send(event.Imported{Object: c.Object, ID: c.Importing.ID})
	return true
}

// destroyedEntry returns the object that a change destroys or forgets, with its state entry. The entry is nil if the
// state has no such object. If the change imports the object, destroyedEntry first records the import. ok is false if
// the import cannot be recorded.
func (x *step) destroyedEntry(c *plan.Change) (o addr.Object, e *state.Entry, ok bool) {
	if !x.importObject(c) {
		return addr.Object{}, nil, false
	}
	o = x.a.destroyedObject(c)
	return o, x.a.entry(o), true
}

// after checks the postconditions of an object whose value is v. The caller calls it when all steps of the object have
// succeeded. If a postcondition fails, it marks the object's value as failed and returns false.
func (x *step) after(d *program.Declaration, f *frame.Frame, inst addr.Instance, v mark.Value) bool {
	if x.run.Conditions.Post(x.run.Bag, d, f, inst.Key, inst, func() mark.Value { return v }) {
		return true
	}
	x.a.failed(d, inst) // dependents of the object, including outputs, then have no value
	return false
}

func (a *applier) restore(o, old addr.Object) []journal.Change {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.deposed, o)
	return restored(o, old, a.edit.Get(old))
}

// restored returns the changes after the creation of a replacement has failed: the deposed object old, with the entry
// e, becomes the current object o again.
func restored(o, old addr.Object, e *state.Entry) []journal.Change {
	return []journal.Change{{Object: o, Entry: e}, {Object: old}}
}

// destroyedObject returns the object that a change destroys. If the change creates the new object first (CreateDelete),
// this is the deposed old object, or the zero Object if no object was deposed. For other changes, it is the object of
// the change.
func (a *applier) destroyedObject(c *plan.Change) addr.Object {
	if c.Action != plan.CreateDelete {
		return c.Object
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.deposed[c.Object]
}

// freeKey returns an unused key for a deposed object of an instance. The key is a hash of the state's lineage and
// serial, the instance and a counter. The caller must hold a.mu.
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

func (a *applier) count(c *plan.Change) {
	if c.Action == plan.Update {
		a.changed.Add(1)
	} else {
		a.added.Add(1)
	}
}
