package engine

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/plan"
)

// Forecast says which leases the apply walk of a plan will open, as far as the configuration and
// the plan tell, and who receives them. Nothing is opened or started, and a plan never holds it.
func (e *Engine) Forecast(ctx context.Context, prog *lang.Program, o lang.Options, p *plan.Plan) []plan.Lease {
	var quiet diag.Bag
	r, ok := e.newRun(ctx, prog, o, past{state: p.Previous}, &quiet)
	if !ok || !r.reach.any {
		return nil
	}
	(&applier{run: r, applying: &applying{plan: p, changes: byObject(p)}}).fill()
	return r.forecast(p)
}

func (r *run) forecast(p *plan.Plan) []plan.Lease {
	if !r.reach.any || p.Errored || !slices.ContainsFunc(p.Changes, (*plan.Change).Visited) {
		return nil
	}
	f := &forecast{ordering: r.newOrdering(p), receivers: map[int32]map[string]bool{}}
	for i := range f.in.Objects {
		f.object(int32(i))
	}
	var out []plan.Lease
	for h, by := range f.receivers {
		receivers := slices.Sorted(maps.Keys(by))
		for _, name := range f.instancesOf(f.ordering.holds[h]) {
			out = append(out, plan.Lease{Addr: name, Receivers: receivers})
		}
	}
	slices.SortFunc(out, func(a, b plan.Lease) int { return strings.Compare(a.Addr, b.Addr) })
	return out
}

// instancesOf names the leases of a hold: one for each instance, as far as these are known.
func (r *run) instancesOf(h hold) []string {
	abs := h.lease.Resource.In(h.at)
	f := r.frame.At(h.at, lang.After)
	if f == nil {
		return []string{abs.String()}
	}
	keys := f.Keys(h.lease.ID, lang.After, &diag.Bag{})
	if keys.Status != lang.Known {
		return []string{abs.String()}
	}
	var out []string
	for _, k := range keys.List {
		out = append(out, abs.Instance(k).String())
	}
	return out
}

// forecast collects who receives what, by lease.
type forecast struct {
	*ordering
	receivers map[int32]map[string]bool
}

func (f *forecast) object(i int32) {
	x, name := &f.in.Objects[i], f.name(false, i)
	if x.Up {
		f.holds(x.UpHolds, name)
	}
	if x.Down {
		f.holds(x.DownHolds, name)
	}
	if p := x.Provisioners; p != nil {
		for _, list := range append(slices.Clone(p.After), p.Before...) {
			f.holds(list, "a provisioner of "+name)
		}
	}
}

func (f *forecast) holds(list []int32, receiver string) {
	for _, h := range list {
		if f.ordering.holds[h].lease == nil {
			f.holds(f.in.Holds[h].Over, f.name(true, h))
			continue
		}
		by := f.receivers[h]
		if by == nil {
			by = map[string]bool{}
			f.receivers[h] = by
			f.holds(f.in.Holds[h].Over, f.name(true, h))
		}
		by[receiver] = true
	}
}
