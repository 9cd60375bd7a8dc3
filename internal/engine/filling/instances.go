package filling

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// called is a module call, by its name and the module instance that contains it.
type called struct {
	in   addr.ModuleInstance
	name string
}

// calledIn returns the instance keys of each module call below which the state has resources.
func calledIn(s *state.Snapshot) map[called][]addr.Key {
	out := map[called][]addr.Key{}
	seen := map[addr.ModuleInstance]bool{}
	for _, r := range s.Resources() {
		for at := r.Addr.Module; !at.IsRoot() && !seen[at]; at = at.Parent() {
			seen[at] = true
			name, key := at.Call()
			c := called{at.Parent(), name}
			out[c] = append(out[c], key)
		}
	}
	return out
}

// ExpandBefore sets the prior keys of module calls (the before face of the frame root) from the state. The frame later
// adds the keys of count, for_each or enabled of the call, when it evaluates this argument.
func ExpandBefore(prog *program.Program, root *frame.Frame, s *state.Snapshot) {
	stored := calledIn(s)
	for _, d := range prog.Decls() {
		if d.Kind != program.Call {
			continue
		}
		frames, _ := root.Instances(d.Module, frame.Before)
		for _, f := range frames {
			list := stored[called{f.Addr(), d.Name}]
			repeat := d.Repeat()
			if repeat == program.Once {
				if !slices.ContainsFunc(list, func(k addr.Key) bool { return !k.IsNone() }) {
					continue
				}
				if !slices.Contains(list, addr.NoKey) {
					list = append(list, addr.NoKey)
				}
			}
			f.SetKeys(d.ID, frame.Before, frame.Keys{Repeat: repeat, List: list, More: true})
		}
	}
}

// CollectKeys copies the known instance keys of module calls and resources from a frame to a plan.
func CollectKeys(prog *program.Program, root *frame.Frame, out *plan.Plan) {
	out.Keys, out.KeysBefore = map[string][]addr.Key{}, map[string][]addr.Key{}
	add := func(to map[string][]addr.Key, at string, keys frame.Keys) {
		if keys.Status == frame.Known {
			to[at] = append([]addr.Key{}, keys.List...)
		}
	}
	for _, d := range prog.Decls() {
		if d.Repeat() == program.Once || d.Kind == program.Provider || d.Kind == program.Resource && d.Resource.Mode == addr.Ephemeral {
			continue // plans store nothing of ephemeral resources, not even their keys
		}
		frames, _ := root.Instances(d.Module, frame.After)
		for _, f := range frames {
			add(out.Keys, placeOf(d, f), f.Expanded(d.ID, frame.After))
		}
		if d.Kind != program.Call {
			continue
		}
		frames, _ = root.Instances(d.Module, frame.Before)
		for _, f := range frames {
			add(out.KeysBefore, placeOf(d, f), f.Expanded(d.ID, frame.Before))
		}
	}
}

// placeOf returns the address of a resource or module call in a module instance, as the key for plan.Plan.Keys.
func placeOf(d *program.Declaration, f *frame.Frame) string {
	if d.Kind == program.Call {
		return f.Addr().Child(d.Name, addr.NoKey).String()
	}
	return d.Resource.In(f.Addr()).String()
}
