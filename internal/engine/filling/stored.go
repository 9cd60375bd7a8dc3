package filling

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/state"
)

// Stored fills a frame's before face from a state. What the state does not have is unknown.
func Stored(prog *lang.Program, frame *lang.Frame, s *state.Snapshot) {
	ExpandBefore(prog, frame, s)
	// What the state has comes first: a repetition may be made from it.
	for _, all := range []bool{false, true} {
		for _, d := range prog.Decls() {
			if d.Kind != lang.Resource {
				continue
			}
			frames, _ := frame.Instances(d.Module, lang.Before)
			if all {
				frames, _ = frame.Expand(d.Module, lang.Before, &diag.Bag{})
			}
			for _, f := range frames {
				look(prog, f, d, s, all)
			}
		}
	}
}

// look fills one resource's slots from the state, in both faces: a steady one has only one.
// all says that also those that the state does not have are wanted.
func look(prog *lang.Program, f *lang.Frame, d *lang.Declaration, s *state.Snapshot, all bool) {
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
		f.PutLazy(d.ID, k, lang.Before, func() mark.Value { return looked(prog, d, stored, k) })
	}
}

func looked(prog *lang.Program, d *lang.Declaration, stored *state.Resource, k addr.Key) mark.Value {
	if e := stored.Get(k); e != nil {
		return StoredValue(prog, d, stored.Addr.Instance(k).Current(), e)
	}
	return mark.Plain(prog.Schema(d.ID).Unknown())
}
