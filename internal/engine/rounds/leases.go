package rounds

import (
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state/journal"
)

// Needed returns a function that reports whether the deferred changes of a plan need an instance of an ephemeral
// resource. The lease of such an instance stays open after the round (the apply of this plan), so that the next round
// uses the same value. echoes reports whether a provider returns its settings in its answers; nil means that no
// provider does.
func Needed(prog *program.Program, echoes func(addr.Provider) bool, p *plan.Plan) func(program.Decl, addr.Key) bool {
	if len(p.Deferred) == 0 {
		return func(program.Decl, addr.Key) bool { return false }
	}
	return receivers.Analyse(prog, echoes).Reach(waiting(prog, p)).Has
}

// waiting returns the resources and the provider configurations of the deferred changes of a plan.
func waiting(prog *program.Program, p *plan.Plan) (out []program.Decl) {
	for _, c := range p.Deferred {
		if d, ok := prog.Resource(c.Object.Resource()); ok {
			out = append(out, d.ID)
		}
		if d, ok := prog.ProviderConfig(c.Provider.ProviderConfig); ok {
			out = append(out, d.ID)
		}
	}
	return out
}

// Earlier returns a list of objects that have values of ephemeral resources in write-only arguments, for the journal. A
// round is a plan and its apply. The list has the elements of earlier, and the objects that the plan p creates or
// updates with such values, if later rounds need the same values, or if an earlier round has written the same values.
// An object counts if it sets any write-only argument and receives an ephemeral resource. If the command does not
// finish, these objects keep values that no later command can obtain. earlier is the result for the plan of the
// previous round. Earlier does not change it, and returns nil if earlier is empty and the plan defers no change. echoes
// reports whether a provider returns its settings in its answers; nil means that no provider does.
func Earlier(prog *program.Program, echoes func(addr.Provider) bool, p *plan.Plan, earlier []journal.EarlierValue) []journal.EarlierValue {
	if len(p.Deferred)+len(earlier) == 0 {
		return nil
	}
	received := receivers.Analyse(prog, echoes)
	later := received.Reach(waiting(prog, p))
	out := slices.Clone(earlier)
	for _, c := range p.Changes {
		d, ok := prog.Resource(c.Object.Resource())
		if !ok || len(c.Sent) == 0 || !c.Action.Ups() {
			continue
		}
		for _, w := range received.Received(d.ID) {
			for _, lease := range instances(prog.Decls()[w.Of], w, c.Object.Key) {
				at := slices.IndexFunc(out, func(x journal.EarlierValue) bool { return overlap(x.Lease, lease.name) })
				switch {
				case at < 0 && (lease.all && len(later[w.Of]) > 0 || later.Has(w.Of, lease.key)):
					out = append(out, journal.EarlierValue{Lease: lease.name, Objects: []string{c.Object.String()}})
				case at >= 0:
					out[at].Objects = append(slices.Clone(out[at].Objects), c.Object.String())
				}
			}
		}
	}
	return out
}

// overlap reports whether two addresses of ephemeral resources are equal, or one is an instance of the other.
func overlap(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"[") || strings.HasPrefix(b, a+"[")
}

// instance is an instance of the named ephemeral resource, or, if all is true, all its instances.
type instance struct {
	name string
	key  addr.Key
	all  bool
}

// instances returns the instances of an ephemeral resource that a receiver uses. If the receiver uses the resource as a
// whole, the result is one entry for all instances. The parameter own is the key of the receiving object.
func instances(e *program.Declaration, w receivers.Received, own addr.Key) []instance {
	if w.Instances == nil {
		return []instance{{name: e.Resource.String(), all: true}}
	}
	var out []instance
	for _, k := range w.Keys(own) {
		out = append(out, instance{name: e.Resource.String() + k.String(), key: k})
	}
	return out
}
