package planning

import (
	"cmp"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
)

// relevant lists the attributes to which changed objects and outputs refer, directly or through values. It uses only
// the text of the configuration. The list determines which changes outside of Lethe the plan shows.
func relevant(r *run.Run, out *plan.Plan) []plan.Relevant {
	x := relevance{run: r, seen: map[program.Decl]bool{}, have: map[relevantKey]bool{}}
	for _, c := range out.Changes {
		if d, ok := r.Program.Resource(c.Object.Resource()); ok && c.Action != plan.NoOp {
			x.follow(d.ID)
		}
	}
	for _, o := range out.Outputs {
		if d, ok := r.Program.Lookup(addr.Module{}, program.Output, o.Name); ok && o.Action != plan.NoOp {
			x.follow(d.ID)
		}
	}
	slices.SortFunc(x.list, func(a, b plan.Relevant) int {
		if c := cmp.Or(a.Resource.Compare(b.Resource), a.Key.Compare(b.Key)); c != 0 {
			return c
		}
		return cmp.Compare(mark.PathString(a.Path), mark.PathString(b.Path))
	})
	return x.list
}

type relevance struct {
	run  *run.Run
	seen map[program.Decl]bool
	have map[relevantKey]bool
	list []plan.Relevant
}

// relevantKey is the comparable form of a plan.Relevant.
type relevantKey struct {
	from addr.AbsResource
	key  addr.Key
	path string
}

func (r *relevance) follow(d program.Decl) {
	if r.seen[d] {
		return
	}
	r.seen[d] = true
	prog := r.run.Program
	for _, ref := range prog.Refs(d) {
		if ref.Use&^(program.ByDepends|program.ByModule|program.ByProvider) == 0 {
			continue
		}
		to := prog.Decls()[ref.To]
		switch {
		case to.Kind != program.Resource:
			r.follow(ref.To)
		case to.Resource.Mode != addr.Ephemeral:
			r.add(d, ref, to)
		}
	}
}

// add records the attributes of a resource to which d refers, for every instance of the resource's module.
func (r *relevance) add(d program.Decl, ref program.Ref, to *program.Declaration) {
	key := addr.NoKey
	if ref.Key == program.Fixed {
		key = ref.Fixed
	}
	frames, _ := r.run.Frame.Instances(to.Module, frame.After)
	for _, f := range frames {
		for _, path := range r.run.Program.Selected(d, ref.To) {
			one := plan.Relevant{Resource: to.Resource.In(f.Addr()), Key: key, Path: path}
			id := relevantKey{one.Resource, key, mark.PathString(path)}
			if !r.have[id] {
				r.have[id] = true
				r.list = append(r.list, one)
			}
		}
	}
}
