// Package parts names the parts of a state, for runs that work on one state at the same time (store.ConcurrentStore).
//
// A run changes objects, and needs the objects that its changes depend on to stay unchanged. It needs a whole resource,
// with all instances that the resource has or may get in some module instance, because configurations refer to
// resources and not to single objects. So a change of an object is also a change within its resource, as seen from its
// own module instance and from each instance around it. For module.a["x"].t.n[0] these are module.a["x"].t.n[*] and
// module.a[*].t.n[*].
package parts

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/store"
)

// wholeState is the part that all others are within.
const wholeState = "all of the state"

// WholeState adds all of a state, to be changed.
func WholeState(p store.Parts) { p[wholeState] |= store.Changes }

// IsWholeState reports whether all of a state is to be changed.
func IsWholeState(p store.Parts) bool { return p[wholeState]&store.Changes != 0 }

// Change adds an instance that is changed, with its deposed objects.
func Change(p store.Parts, i addr.Instance) {
	p[wholeState] |= store.Within
	p[i.String()] |= store.Changes
	r := i.Resource()
	for at := i.Module; ; at = at.Parent() {
		p[resource(at, r)] |= store.Within
		if at.IsRoot() {
			return
		}
	}
}

// Changes reports whether the run changes an instance.
func Changes(p store.Parts, i addr.Instance) bool {
	return IsWholeState(p) || p[i.String()]&store.Changes != 0
}

// Need adds a resource in and below a module instance, with all its instances.
func Need(p store.Parts, at addr.ModuleInstance, r addr.Resource) {
	p[wholeState] |= store.Within
	p[resource(at, r)] |= store.Needs
}

// Output adds a root output that is changed.
func Output(p store.Parts, name string) {
	p[wholeState] |= store.Within
	p[output(name)] |= store.Changes
}

// ChangesOutput reports whether the run changes a root output.
func ChangesOutput(p store.Parts, name string) bool {
	return IsWholeState(p) || p[output(name)]&store.Changes != 0
}

func output(name string) string { return "output." + name }

// Check adds the results of the conditions of a declaration, which are changed.
func Check(p store.Parts, kind, address string) {
	p[wholeState] |= store.Within
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
