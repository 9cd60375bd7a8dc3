package filling

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/state"
)

// Stored fills a frame's before face from a state. What the state does not have is unknown.
func Stored(prog *program.Program, root *frame.Frame, s *state.Snapshot) {
	ExpandBefore(prog, root, s)
	// What the state has comes first: a repetition may be made from it.
	for _, all := range []bool{false, true} {
		for _, d := range prog.Decls() {
			if d.Kind != program.Resource {
				continue
			}
			frames, _ := root.Instances(d.Module, frame.Before)
			if all {
				frames, _ = root.Expand(d.Module, frame.Before, &diag.Bag{})
			}
			for _, f := range frames {
				look(prog, f, d, s, all)
			}
		}
	}
}

// look fills one resource's slots from the state, in both faces: a steady one has only one.
// all says that also those that the state does not have are wanted.
func look(prog *program.Program, f *frame.Frame, d *program.Declaration, s *state.Snapshot, all bool) {
	stored := s.Resource(d.Resource.In(f.Addr()))
	keys := frame.Keys{Repeat: d.Repeat(), List: stored.Keys()}
	if (stored.Len() == 0) != all {
		return
	}
	if all {
		if keys = f.Keys(d.ID, frame.Before, &diag.Bag{}); keys.Status != frame.Known {
			return
		}
	}
	f.SetKeys(d.ID, frame.Before, keys)
	for _, k := range keys.List {
		f.PutLazy(d.ID, k, frame.Before, func() mark.Value { return looked(prog, d, stored, k) })
	}
}

func looked(prog *program.Program, d *program.Declaration, stored *state.Resource, k addr.Key) mark.Value {
	if e := stored.Get(k); e != nil {
		return StoredValue(prog, d, e)
	}
	return mark.Plain(prog.Schema(d.ID).Unknown())
}
