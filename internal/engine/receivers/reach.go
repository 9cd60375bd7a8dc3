package receivers

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// Reach has the instances of ephemeral resources that some declarations need: for their own values and provisioners,
// for the settings of their providers, and for the configuration of these ephemeral resources.
type Reach map[program.Decl][]Received

// Reach returns the ephemeral resources that the given declarations need, directly or through other needed
// declarations.
func (r *Analysis) Reach(from []program.Decl) Reach {
	out := Reach{}
	if !r.Any {
		return out
	}
	seen := map[program.Decl]bool{}
	for todo := slices.Clone(from); len(todo) > 0; {
		d := todo[len(todo)-1]
		if todo = todo[:len(todo)-1]; seen[d] {
			continue
		}
		seen[d] = true
		info := r.prog.Decls()[d]
		list := slices.Clone(r.Received(d))
		if info.Kind == program.Resource {
			list = append(list, r.behind(r.prog.Refs(d), byProvision, info)...)
			todo = append(todo, r.prog.ProviderOf(d))
		}
		for _, w := range list {
			out[w.Of] = append(out[w.Of], w)
			todo = append(todo, w.Of)
		}
	}
	return out
}

// Has reports whether an instance of the ephemeral resource e is needed. The result does not depend on whether the text
// of key is hidden (addr.Key.Hide).
func (x Reach) Has(e program.Decl, key addr.Key) bool {
	return slices.ContainsFunc(x[e], func(w Received) bool {
		return w.Instances == nil || slices.ContainsFunc(w.Instances, func(i Instance) bool { return i.Same || i.Key.Hide() == key.Hide() })
	})
}
