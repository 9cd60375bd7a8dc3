package transfer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
)

// Request names the objects to move.
type Request struct {
	Source, Target *state.Snapshot
	Addresses      []addr.Target
	As             *addr.Target // the address of the object in the target; nil: the same address as in the source
}

// Move is the move of one object.
type Move struct{ From, To addr.Object }

// Plan is a move between two states that has not been written yet.
type Plan struct {
	Moves   []Move                // sorted by From
	Dropped []addr.Object         // data sources in moved modules, which the source loses and the target reads again
	Renamed [][2]addr.Target      // pairs of an address in the source and the same object's address in the target
	Source  *state.Snapshot       // the source state after the move
	before  *state.Snapshot       // the target before the move
	entries map[Move]*state.Entry // the moved objects with their new dependencies; their provider configurations are unchanged
}

// Between computes the move. If an address selects nothing, selects an object for the second time, cannot be moved, or
// already exists in the target, Between adds an error to bag and returns nil and false. It does the same if As is set
// for several addresses, or if only data sources are selected.
func Between(r Request, bag *diag.Bag) (*Plan, bool) {
	p := &Plan{before: r.Target, entries: map[Move]*state.Entry{}}
	if !p.choose(r, bag) {
		return nil, false
	}
	moves := map[addr.Object]addr.Object{}
	for _, m := range p.Moves {
		moves[m.From] = m.To
	}
	left := r.Source.Edit()
	for _, o := range p.Dropped {
		left.Put(o, nil)
	}
	deps := dependencies{closure: r.Source.Closure(), renamed: renamed(p.Moves)}
	source, target := left.Done().MoveInto(r.Target, moves, deps.of)
	p.Source = source
	for _, m := range p.Moves {
		p.entries[m] = target.Get(m.To)
	}
	return p, true
}

// Target returns the target's state after the move. For each moved object, it passes the provider configuration in the
// source to provider, which returns the provider configuration in the target.
func (p *Plan) Target(provider func(Move, addr.ProviderInstance) addr.ProviderInstance) *state.Snapshot {
	e := p.before.Edit()
	for _, m := range p.Moves {
		entry := *p.entries[m]
		entry.Provider = provider(m, entry.Provider)
		e.Put(m.To, &entry)
	}
	return e.Done()
}

// Entry returns the state entry of a moved object for the target, with the dependencies that the object has there. The
// entry still has the provider configuration of the source.
func (p *Plan) Entry(m Move) *state.Entry { return p.entries[m] }

const title = "Invalid transfer"

// choose finds the objects to move and sets p.Moves and p.Dropped. After an error, it adds the error to bag and returns
// false.
func (p *Plan) choose(r Request, bag *diag.Bag) bool {
	refuse := func(format string, a ...any) bool {
		bag.Add(diag.Errorf(title, format, a...))
		return false
	}
	if r.As != nil && len(r.Addresses) > 1 {
		return refuse("The option -as gives the address of one moved address, and %d addresses are given. Move them one after another.", len(r.Addresses))
	}
	seen := map[addr.Object]bool{}
	for _, from := range r.Addresses {
		to := from
		if r.As != nil {
			to = *r.As
		}
		switch {
		case from.Mode == addr.Ephemeral:
			return refuse("%s is an ephemeral resource. No state has it, so it cannot be moved.", from)
		case from.Mode == addr.Data:
			return refuse("%s is a data source. The target reads it again when it declares it, so it is not moved alone.", from)
		case kind(from) != kind(to):
			return refuse("%s is %s, and %s is %s. Both addresses must be of one kind.", from, kind(from), to, kind(to))
		case from.Mode != to.Mode || from.Type != to.Type:
			return refuse("%s cannot become %s: their resource types differ.", from, to)
		}
		found := r.Source.Select(from)
		if len(found) == 0 {
			return refuse("The source state has no object with the address %s.%s", from, r.Source.Near(from))
		}
		if taken := r.Target.Select(to); len(taken) > 0 {
			return refuse("The target state already has %s. To give the moved object another address there, use -as.", taken[0])
		}
		for _, o := range found {
			if seen[o] {
				return refuse("%s is named twice: %s contains it, too.", o, from)
			}
			seen[o] = true
			if o.Mode != addr.Managed {
				p.Dropped = append(p.Dropped, o)
				continue
			}
			at, ok := from.Rebase(to, addr.ModuleInstance{}, o.Instance)
			if !ok {
				return refuse("%s has no place below %s.", o, to)
			}
			p.Moves = append(p.Moves, Move{o, addr.Object{Instance: at, Deposed: o.Deposed}})
		}
		p.Renamed = append(p.Renamed, [2]addr.Target{from, to})
	}
	if len(p.Moves) == 0 {
		return refuse("%s contains only data sources. The target reads them again, so there is nothing to move.", r.Addresses[0])
	}
	slices.SortFunc(p.Moves, func(a, b Move) int { return a.From.Compare(b.From) })
	slices.SortFunc(p.Dropped, addr.Object.Compare)
	return true
}

// kind returns the kind of an address for messages.
func kind(t addr.Target) string {
	switch {
	case t.Mode == 0:
		return "a module"
	case t.KeyGiven:
		return "an instance"
	}
	return "a resource"
}

// renamed maps each moved resource to its names in the target.
func renamed(moves []Move) map[addr.Resource][]addr.Resource {
	out := map[addr.Resource][]addr.Resource{}
	for _, m := range moves {
		from, to := m.From.Resource(), m.To.Resource()
		if !slices.Contains(out[from], to) {
			out[from] = append(out[from], to)
		}
	}
	return out
}

// dependencies computes the recorded dependencies of moved objects. Moved resources get their names in the target. A
// resource that stays in the source is replaced by the moved resources on which it depends, directly or indirectly.
type dependencies struct {
	closure *state.Closure
	renamed map[addr.Resource][]addr.Resource
}

func (d dependencies) of(e *state.Entry) []addr.Resource {
	list := e.Recorded
	if slices.ContainsFunc(list, func(r addr.Resource) bool { return d.renamed[r] == nil }) {
		list = d.closure.Of(addr.Resource{}, list)
	}
	var out []addr.Resource
	for _, r := range list {
		for _, to := range d.renamed[r] {
			if !slices.Contains(out, to) {
				out = append(out, to)
			}
		}
	}
	return out
}

// Lines has one line for each moved object, with its address in the target if that differs, and for each data source
// that the target reads again.
func (p *Plan) Lines() string {
	var b strings.Builder
	for _, m := range p.Moves {
		if m.From == m.To {
			fmt.Fprintf(&b, "  %s\n", m.From)
		} else {
			fmt.Fprintf(&b, "  %s as %s\n", m.From, m.To)
		}
	}
	for _, o := range p.Dropped {
		fmt.Fprintf(&b, "  %s is read again by the target\n", o)
	}
	return b.String()
}
