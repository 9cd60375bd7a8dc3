package runcmd

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state/journal"
)

// noteValues records in the journal (a file beside the state) which objects the plan is about to write with values of
// ephemeral resources that later rounds (plans and applies of this command) need, too. The caller calls noteValues
// before it applies the plan. If the journal cannot be written, noteValues reports an error and returns false.
func (o *execution) noteValues(pl *plan.Plan) bool {
	o.values.written = o.s.Engine.EarlierValues(o.s.Program, pl, o.values.written)
	if len(o.values.written) == 0 {
		return true
	}
	err := o.ws.NoteEarlier(slices.Concat(o.values.found, o.values.written))
	if err != nil {
		o.c.Bag.Add(diag.Errorf("Failed to record progress", "The journal beside the state could not be written: %s.", err))
	}
	return err == nil
}

// applied records that a plan was applied. If the plan has no deferred changes, applied removes the notes of this
// command about objects with values of ephemeral resources. From the notes of interrupted runs it removes the objects
// in all plans that this command has applied.
func (o *execution) applied(pl *plan.Plan) {
	v := &o.values
	if len(v.found)+len(v.written) == 0 {
		return
	}
	if v.decided == nil {
		v.decided = map[string]bool{}
	}
	for _, c := range pl.Changes {
		v.decided[c.Object.String()] = true
	}
	if len(pl.Deferred) > 0 {
		return
	}
	var left []journal.EarlierValue
	for _, x := range v.found {
		x.Objects = slices.DeleteFunc(slices.Clone(x.Objects), func(o string) bool { return v.decided[o] })
		if len(x.Objects) > 0 {
			left = append(left, x)
		}
	}
	v.found, v.written = left, nil
	_ = o.ws.NoteEarlier(left) // closing the journal reports a failed write
}

// objects returns the objects that interrupted runs have written with a value of an ephemeral resource. The value of
// the map is the address of that ephemeral resource.
func (v *values) objects() map[addr.Object]string {
	out := map[addr.Object]string{}
	for _, x := range v.found {
		for _, name := range x.Objects {
			if i, err := addr.ParseInstance(name); err == nil {
				out[i.Current()] = x.Lease
			}
		}
	}
	return out
}
