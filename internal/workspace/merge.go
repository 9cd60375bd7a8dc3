package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/parts"
	"github.com/lethe-iac/lethe/internal/store"
)

// A command that shares a state writes its changes into the present state. Its changes are the objects, outputs and
// check results that differ between its own state and the state with which it began.
//
// No other run may change the parts that the command has claimed. If such a part has changed nevertheless, nothing is
// written. The command also has changes outside its claims, from refreshing and from data sources. They are written
// only if no other run works on these objects and the objects have not changed since. Otherwise they are omitted,
// because the next plan finds them again.

// merged waits until it is the command's turn to write, reads the present state, and sets *next to the present state
// with the command's changes. A nil *next counts as an empty state. Until done is called, no other command writes the
// state. If ok is false, the error was reported.
func (s *State) merged(next **state.Snapshot) (done func(), ok bool) {
	mine := *next
	if mine == nil {
		mine = &state.Snapshot{}
	}
	recorded := s.record.complete()
	fail := func(err error) bool {
		data, _ := mine.Bytes()
		return s.unsaved(err, mine, data, recorded)
	}
	done, err := s.lock.turn()
	if err != nil {
		return done, fail(err)
	}
	now, version, ok := s.doc.present(context.Background())
	if !ok {
		return done, fail(errors.New("the state that other runs wrote cannot be read"))
	}
	m := merge{base: s.basis.base, atClaim: s.basis.atClaim, now: now, mine: mine, claimed: s.lock.claimed()}
	if m.base == nil {
		return done, fail(errors.New("this command did not declare the parts of the state that it changes"))
	}
	if err = m.collect(); err != nil {
		return done, fail(err)
	}
	if len(m.unclaimed) > 0 {
		m.leave(s.lock.claimAvailable(m.unclaimed))
	}
	s.doc.stamps = m.stamps(s.doc.stamps)
	*next = m.result()
	s.doc.snapshot, s.doc.version = now, version
	return done, true
}

// merge combines the changes of a command with the changes of others.
type merge struct {
	// base is the state at the beginning of the command, atClaim the state at its last claim, now the state in the store,
	// and mine the state after the command.
	base, atClaim, now, mine *state.Snapshot
	claimed                  store.Parts

	objects       []state.Difference // the differences of objects to write; the objects in claimed parts come first
	outputs       []string
	checks        []state.Check
	removedChecks []state.Check
	sure          [2]int        // the numbers of objects and of outputs that are in claimed parts
	unclaimed     []store.Parts // the parts of the remaining objects, of the remaining outputs, and of the check results, in this order
}

// collect finds the differences to write. It returns an error if a claimed part has changed.
func (m *merge) collect() error {
	if m.base.Lineage != "" && m.base.Lineage != m.now.Lineage {
		return fmt.Errorf("the state was replaced by a state with the lineage %q", m.now.Lineage)
	}
	objects := func(a, b *state.Snapshot) map[addr.Object]bool {
		out := map[addr.Object]bool{}
		for _, d := range state.Differences(a, b) {
			out[d.Object] = true
		}
		return out
	}
	moved, changedSinceClaim := objects(m.base, m.now), objects(m.atClaim, m.now)
	var rest []state.Difference
	for _, d := range state.Differences(m.base, m.mine) {
		own := parts.Changes(m.claimed, d.Object.Instance)
		switch {
		case own && changedSinceClaim[d.Object]:
			return fmt.Errorf("%s was changed by another run, although this command had claimed it", d.Object)
		case own:
			m.objects = append(m.objects, d)
		case !moved[d.Object]:
			rest = append(rest, d)
		}
	}
	m.sure[0] = len(m.objects)
	for _, d := range rest {
		p := store.Parts{}
		parts.Change(p, d.Object.Instance)
		m.objects, m.unclaimed = append(m.objects, d), append(m.unclaimed, p)
	}
	if err := m.collectOutputs(); err != nil {
		return err
	}
	m.collectChecks()
	return nil
}

func (m *merge) collectOutputs() error {
	moved := map[string]bool{}
	for _, name := range state.OutputDifferences(m.base, m.now) {
		moved[name] = true
	}
	var rest []string
	for _, name := range state.OutputDifferences(m.base, m.mine) {
		switch own := parts.ChangesOutput(m.claimed, name); {
		case own && moved[name]:
			return fmt.Errorf("output.%s was changed by another run, although this command had claimed it", name)
		case own:
			m.outputs = append(m.outputs, name)
		case !moved[name]:
			rest = append(rest, name)
		}
	}
	m.sure[1] = len(m.outputs)
	for _, name := range rest {
		p := store.Parts{}
		parts.Output(p, name)
		m.outputs, m.unclaimed = append(m.outputs, name), append(m.unclaimed, p)
	}
	return nil
}

func (m *merge) collectChecks() {
	type name struct{ kind, addr string }
	moved := map[name]bool{}
	changed, removed := state.CheckDifferences(m.base, m.now)
	for _, c := range append(changed, removed...) {
		moved[name{c.Kind, c.Addr}] = true
	}
	changed, removed = state.CheckDifferences(m.base, m.mine)
	move := func(from []state.Check, to *[]state.Check) {
		for _, c := range from {
			if moved[name{c.Kind, c.Addr}] {
				continue
			}
			p := store.Parts{}
			parts.Check(p, c.Kind, c.Addr)
			*to, m.unclaimed = append(*to, c), append(m.unclaimed, p)
		}
	}
	move(changed, &m.checks)
	move(removed, &m.removedChecks)
}

// leave drops the differences in the parts refused, which other runs use.
func (m *merge) leave(refused store.Parts) {
	missing := m.unclaimed
	keep := func() bool {
		p := missing[0]
		missing = missing[1:]
		return !intersects(p, refused)
	}
	m.objects = kept(m.objects, m.sure[0], keep)
	m.outputs = kept(m.outputs, m.sure[1], keep)
	m.checks = kept(m.checks, 0, keep)
	m.removedChecks = kept(m.removedChecks, 0, keep)
}

// kept returns the first n elements of a list, and each other element for which keep returns true.
func kept[T any](list []T, n int, keep func() bool) []T {
	out := list[:n:n]
	for _, x := range list[n:] {
		if keep() {
			out = append(out, x)
		}
	}
	return out
}

// stamps returns the stamps in all (digests of configurations, by resource), without the stamps of resources that other
// runs changed since the plan was made, and of resources that depend on these.
func (m *merge) stamps(all map[string]store.Stamp) map[string]store.Stamp {
	moved := map[string]bool{}
	for _, d := range state.Differences(m.base, m.now) {
		moved[d.Object.Resource().String()] = true
	}
	if len(moved) == 0 {
		return all
	}
	out := map[string]store.Stamp{}
	for name, stamp := range all {
		if !moved[name] && !slices.ContainsFunc(stamp.Of, func(of string) bool { return moved[of] }) {
			out[name] = stamp
		}
	}
	return out
}

// result returns the present state with the differences of the command.
func (m *merge) result() *state.Snapshot {
	e := m.now.Edit()
	if e.Head().Lineage == "" {
		e.Head().Lineage = m.mine.Lineage
	}
	for _, d := range m.objects {
		e.Put(d.Object, d.After)
	}
	for _, name := range m.outputs {
		if o, ok := m.mine.Outputs[name]; ok {
			e.Output(name, o)
		} else {
			e.DropOutput(name)
		}
	}
	for _, c := range m.checks {
		e.PutCheck(c)
	}
	for _, c := range m.removedChecks {
		e.DropCheck(c)
	}
	return e.Done()
}
