package applying

import (
	"context"
	"slices"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/walk"
)

// rereading reads data sources again whose results a saved plan does not contain, because the user's setting
// forget_data excludes them. It reads:
//
//   - before the walk (the run of the steps of the apply), data sources that depend on no managed resource;
//   - in a step, other data sources: a change with the action Read orders them after the resources they depend on;
//   - for the prior values (the before face), the data sources to which the prior settings of a provider or an
//     ephemeral resource refer, when the walk configures or opens it.
type rereading struct {
	run    *run.Run
	steady map[addr.Object]*plan.Change // the changes with the action Read that begin carries out before the walk
	lacks  map[addr.Object]bool         // the data sources whose results the plan lacks
	mode   plan.Mode
	got    sync.Map // a *sync.Once for each data source that is read again, by rereadKey
}

type rereadKey struct {
	decl program.Decl
	face frame.Face
}

// prepare returns the plan to carry out: a copy of p without the results that the setting forget_data excludes, and
// with changes that read the data sources whose results p lacks. It leaves the changes of data sources that depend on
// no managed resource to begin, which reads them before the walk. It adds no changes to a destroy plan, a refresh-only
// plan, or a plan without work.
func (x *rereading) prepare(r *run.Run, p *plan.Plan) *plan.Plan {
	x.run, x.mode, x.steady, x.lacks = r, p.Mode, map[addr.Object]*plan.Change{}, map[addr.Object]bool{}
	out := *p
	kept, results := r.Settings.Split(r.Program, p.Refreshed)
	out.Refreshed, out.Unstored.Results = kept, append(results, p.Unstored.Results...)
	changes := filling.ChangesByObject(p)
	for _, result := range p.Unstored.Results {
		d, ok := r.Program.Resource(result.Object.Resource())
		if result.Entry != nil || !ok || p.Mode == plan.RefreshOnly && !p.Requested() || !p.Visits() {
			continue
		}
		x.lacks[result.Object] = true
		if p.Mode == plan.Destroy || result.Before || changes[result.Object] != nil {
			continue
		}
		unknown := r.Program.Schema(d.ID)
		c := &plan.Change{
			Object: result.Object, Was: result.Object, Action: plan.Read, Why: plan.ReadNotStored,
			Before: mark.Plain(unknown.Null()), After: mark.Plain(unknown.Unknown()), Provider: result.Provider,
		}
		if r.Receivers.Steady(d.ID) {
			x.steady[c.Object] = c
		} else {
			out.Changes = append(out.Changes[:len(out.Changes):len(out.Changes)], c)
		}
	}
	slices.SortFunc(out.Changes, func(a, b *plan.Change) int { return a.Object.Compare(b.Object) })
	if len(x.lacks) > 0 {
		r.Objects.Reread = true
		r.Settings.Send(event.Note{Text: "Reading data sources again, because the plan file does not contain their results (forget_data)."})
	}
	return &out
}

// begin reads the data sources that depend on no managed resource. It is called before the walk, and calls read with
// the change of each data source.
func (x *rereading) begin(ctx context.Context, read func(*plan.Change)) {
	if len(x.steady) == 0 {
		return
	}
	list := x.run.Program.Decls()
	walk.Each(len(list), func(i int) {
		if x.run.Receivers.Steady(list[i].ID) {
			x.ready(ctx, list[i].ID, frame.After, func(_ *program.Declaration, _ *frame.Frame, o addr.Object) {
				if c := x.steady[o]; c != nil {
					read(c)
				}
			})
		}
	})
}

// before reads the prior values (before face) of the data sources to which the settings of d, a provider or an
// ephemeral resource, refer. It reads only data sources that the plan file lacks.
func (x *rereading) before(ctx context.Context, d program.Decl) {
	if len(x.lacks) == 0 {
		return
	}
	x.ready(ctx, d, frame.Before, func(d *program.Declaration, f *frame.Frame, o addr.Object) {
		if _, has := f.Got(d.ID, o.Key, frame.Before); x.lacks[o] && !has {
			x.readBefore(ctx, d, f, o)
		}
	})
}

// ready calls read for all instances of the data sources on which the declaration id depends, and of id itself if it is
// a data source. Each data source comes after the data sources on which it depends. ready calls read only once for each
// instance and face (prior or planned values). It does not search behind managed resources, because their values are in
// the state. On the before face it also omits declarations whose prior and planned values are equal, except in a
// destroy plan.
func (x *rereading) ready(ctx context.Context, id program.Decl, face frame.Face, read func(*program.Declaration, *frame.Frame, addr.Object)) {
	once, _ := x.got.LoadOrStore(rereadKey{id, face}, new(sync.Once))
	once.(*sync.Once).Do(func() {
		d := x.run.Program.Decls()[id]
		if d.Kind == program.Resource && d.Resource.Mode == addr.Managed || face == frame.Before && x.mode != plan.Destroy && x.run.Receivers.Steady(id) {
			return
		}
		for _, ref := range x.run.Program.Refs(id) {
			x.ready(ctx, ref.To, face, read)
		}
		frames, _ := x.run.Frame.Instances(d.Module, face)
		for _, f := range frames {
			switch {
			case d.Kind == program.Call && face == frame.Before:
				f.Keys(id, face, &diag.Bag{})
			case d.Kind == program.Resource && d.Resource.Mode == addr.Data:
				list := f.Keys(id, face, &diag.Bag{}).List
				walk.Each(len(list), func(i int) { read(d, f, d.Resource.In(f.Addr()).Instance(list[i]).Current()) })
			}
		}
	})
}

// readBefore reads one instance of a data source for its prior value (before face), and marks this value as failed if
// it cannot read the instance. It keeps the provider running itself (Sessions.Hold), because the order of the steps
// does not contain this use of the provider.
func (x *rereading) readBefore(ctx context.Context, d *program.Declaration, f *frame.Frame, o addr.Object) {
	bag := x.run.Bag
	config, out := f.Config(d.ID, o.Key, frame.Before, bag)
	pk, known := f.ProviderKey(d.ID, o.Key, frame.Before, bag)
	if out == frame.OK && known == frame.OK && config.Raw.IsWhollyKnown() {
		u := declared.UseOf(x.run.Program, d, pk)
		s, done, ok := x.run.Sessions.Hold(ctx, bag, u, frame.Before)
		defer done()
		typ := x.run.Types.Of(ctx, bag, u.Instance.Provider, d.Resource, o.Instance)
		if ok && !s.Unknown && typ != nil {
			if v, _, got := x.run.Tools(o, s, typ).ReadData(ctx, config, object.Stored{Provider: u.Instance}, true); got.Kind == plan.Known {
				f.Put(d.ID, o.Key, frame.Before, v)
				return
			}
		}
	}
	f.Fail(d.ID, o.Key, frame.Before)
}
