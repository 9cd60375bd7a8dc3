// Package parts names the parts of a state, for runs that work on one at the same time (store.Divisible).
//
// A run changes objects, and needs others as they are: those that its changes are made from. What it needs is a
// resource, with all instances that it has or may get in some module instance, for configurations refer to resources
// and not to single objects. So what changes an object changes something within its resource, as seen from its own
// module instance and from each around it: for module.a["x"].t.n[0] these are module.a["x"].t.n[*] and
// module.a[*].t.n[*].
package parts

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// whole is the part that all others are within.
const whole = "all of the state"

// Whole adds all of a state, to be changed.
func Whole(p store.Parts) { p[whole] |= store.Changes }

// IsWhole reports whether all of a state is to be changed.
func IsWhole(p store.Parts) bool { return p[whole]&store.Changes != 0 }

// Change adds an instance that is changed, with its deposed objects.
func Change(p store.Parts, i addr.Instance) {
	p[whole] |= store.Within
	p[i.String()] |= store.Changes
	r := i.Resource()
	for at := i.Module; ; at = at.Parent() {
		p[resource(at, r)] |= store.Within
		if at.IsRoot() {
			return
		}
	}
}

// Changes reports whether an instance is among those that are changed.
func Changes(p store.Parts, i addr.Instance) bool {
	return IsWhole(p) || p[i.String()]&store.Changes != 0
}

// Need adds a resource in and below a module instance, with all its instances.
func Need(p store.Parts, at addr.ModuleInstance, r addr.Resource) {
	p[whole] |= store.Within
	p[resource(at, r)] |= store.Needs
}

// Output adds a root output that is changed.
func Output(p store.Parts, name string) {
	p[whole] |= store.Within
	p[output(name)] |= store.Changes
}

// ChangesOutput reports whether a root output is among those that are changed.
func ChangesOutput(p store.Parts, name string) bool {
	return IsWhole(p) || p[output(name)]&store.Changes != 0
}

func output(name string) string { return "output." + name }

// Check adds the results of the conditions of a declaration, which are changed.
func Check(p store.Parts, kind, address string) {
	p[whole] |= store.Within
	p[kind+" conditions of "+address] |= store.Changes
}

// resource is the name of a resource in and below a module instance.
func resource(at addr.ModuleInstance, r addr.Resource) string {
	name := at.String()
	for _, step := range r.Module.Path()[at.Depth():] {
		if name != "" {
			name += "."
		}
		name += "module." + step + "[*]"
	}
	if name != "" {
		name += "."
	}
	return name + addr.Resource{Mode: r.Mode, Type: r.Type, Name: r.Name}.String() + "[*]"
}
