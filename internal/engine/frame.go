package engine

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/state"
)

// Frame gives a frame whose before face is a stored state, for looking around: nothing is read,
// planned or opened. What the state does not have is unknown.
func (e *Engine) Frame(ctx context.Context, prog *lang.Program, o lang.Options, s *state.Snapshot, bag *diag.Bag) (*lang.Frame, bool) {
	r, ok := e.newRun(ctx, prog, o, past{}, bag)
	if !ok {
		return nil, false
	}
	if s == nil {
		s = &state.Snapshot{}
	}
	r.expandBefore(s)
	// What the state has comes first: a repetition may be made from it.
	for _, all := range []bool{false, true} {
		for _, d := range prog.Decls() {
			if d.Kind != lang.Resource {
				continue
			}
			frames, _ := r.frame.Instances(d.Module, lang.Before)
			if all {
				frames, _ = r.frame.Expand(d.Module, lang.Before, &diag.Bag{})
			}
			for _, f := range frames {
				r.look(f, d, s, all)
			}
		}
	}
	return r.frame, true
}

// look fills one resource's slots from the state, in both faces: a steady one has only one.
// all says that also those that the state does not have are wanted.
func (r *run) look(f *lang.Frame, d *lang.Declaration, s *state.Snapshot, all bool) {
	stored := s.Resource(d.Resource.In(f.Addr()))
	keys := lang.Keys{Repeat: d.Repeat(), List: stored.Keys()}
	if (stored.Len() == 0) != all {
		return
	}
	if all {
		if keys = f.Keys(d.ID, lang.Before, &diag.Bag{}); keys.Status != lang.Known {
			return
		}
	}
	f.SetKeys(d.ID, lang.Before, keys)
	for _, k := range keys.List {
		f.PutLazy(d.ID, k, lang.Before, func() mark.Value { return r.looked(d, stored, k) })
	}
}

func (r *run) looked(d *lang.Declaration, stored *state.Resource, k addr.Key) mark.Value {
	if e := stored.Get(k); e != nil {
		return r.storedValue(d, stored.Addr.Instance(k).Current(), e)
	}
	return mark.Plain(r.prog.Schema(d.ID).Unknown())
}
