package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/parts"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// A command that works on a state with others writes what it changed on top of what is there: objects, outputs and
// results of conditions that are otherwise in its own state than in the one that it began with.
//
// What it has claimed is as it was when it did, since no other could change it; if it is not, nothing is written. The rest is
// what it learned by the way, of refreshing and of data sources: that is written where no other run works on it and it
// is as it was, and otherwise left out, since the next plan finds it again.

// merged waits for its turn, reads the state as it is, and makes of next what is to be in its place. Until done no
// other command writes.
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
	done, err := s.turn()
	if err != nil {
		return done, fail(err)
	}
	now, version, ok := s.present(context.Background())
	if !ok {
		return done, fail(errors.New("the state as others left it cannot be read"))
	}
	m := merge{base: s.shared.base, found: s.shared.found, now: now, mine: mine, claimed: s.shared.claimed}
	if m.base == nil {
		return done, fail(errors.New("this command has not said which parts of the state it works on"))
	}
	if err = m.collect(); err != nil {
		return done, fail(err)
	}
	if len(m.late) > 0 {
		m.leave(s.late(m.late))
	}
	s.stamps = m.stamps(s.stamps)
	*next = m.result()
	s.snapshot, s.version = now, version
	return done, true
}

// late claims each of some parts of a state, if it can be had at once, and gives those that cannot.
func (s *State) late(all []store.Parts) (refused store.Parts) {
	refused = store.Parts{}
	for range 20 { // more than that is not worth asking for
		want := store.Parts{}
		for _, p := range all {
			if !meets(p, refused) {
				for name, use := range p {
					want[name] |= use
				}
			}
		}
		var part *store.PartError
		err := s.shared.member.Claim(context.Background(), want)
		switch {
		case err == nil:
			return refused
		case errors.As(err, &part):
			refused[part.Part] = store.Changes
		default:
			parts.Whole(refused)
			return refused
		}
	}
	parts.Whole(refused)
	return refused
}

func meets(p, q store.Parts) bool {
	_, meet := p.Meets(q)
	return meet
}

// merge is one making of a state that has what a command changed, and what others did.
type merge struct {
	base, found, now, mine *state.Snapshot
	claimed                store.Parts

	objects []state.Difference // that are written, those that are claimed first
	outputs []string
	checks  []state.Check
	gone    []state.Check
	sure    [2]int        // how many objects and outputs are claimed
	late    []store.Parts // of the others, of checks and of gone, in this order
}

// collect finds what is to be written.
func (m *merge) collect() error {
	if m.base.Lineage != "" && m.base.Lineage != m.now.Lineage {
		return fmt.Errorf("the state was replaced by one with the lineage %q", m.now.Lineage)
	}
	objects := func(a, b *state.Snapshot) map[addr.Object]bool {
		out := map[addr.Object]bool{}
		for _, d := range state.Differences(a, b) {
			out[d.Object] = true
		}
		return out
	}
	moved, lost := objects(m.base, m.now), objects(m.found, m.now)
	var rest []state.Difference
	for _, d := range state.Differences(m.base, m.mine) {
		own := parts.Changes(m.claimed, d.Object.Instance)
		switch {
		case own && lost[d.Object]:
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
		m.objects, m.late = append(m.objects, d), append(m.late, p)
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
		m.outputs, m.late = append(m.outputs, name), append(m.late, p)
	}
	return nil
}

func (m *merge) collectChecks() {
	type name struct{ kind, addr string }
	moved := map[name]bool{}
	changed, gone := state.CheckDifferences(m.base, m.now)
	for _, c := range append(changed, gone...) {
		moved[name{c.Kind, c.Addr}] = true
	}
	changed, gone = state.CheckDifferences(m.base, m.mine)
	take := func(from []state.Check, to *[]state.Check) {
		for _, c := range from {
			if moved[name{c.Kind, c.Addr}] {
				continue
			}
			p := store.Parts{}
			parts.Check(p, c.Kind, c.Addr)
			*to, m.late = append(*to, c), append(m.late, p)
		}
	}
	take(changed, &m.checks)
	take(gone, &m.gone)
}

// leave leaves out what could not be had.
func (m *merge) leave(refused store.Parts) {
	late := m.late
	keep := func() bool {
		p := late[0]
		late = late[1:]
		return !meets(p, refused)
	}
	m.objects = kept(m.objects, m.sure[0], keep)
	m.outputs = kept(m.outputs, m.sure[1], keep)
	m.checks = kept(m.checks, 0, keep)
	m.gone = kept(m.gone, 0, keep)
}

// kept are the first n of a list, and those after them that are to be kept.
func kept[T any](list []T, n int, keep func() bool) []T {
	out := list[:n:n]
	for _, x := range list[n:] {
		if keep() {
			out = append(out, x)
		}
	}
	return out
}

// stamps leaves out those of resources that others changed since the plan was made, and of what is made from them.
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

// result is the state with all of it.
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
	for _, c := range m.gone {
		e.DropCheck(c)
	}
	return e.Done()
}
