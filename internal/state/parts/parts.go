// Package parts names the parts of a state that a run locks. Runs that work on one state at the same time
// (store.ConcurrentStore) lock different parts.
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

// wholeState is the name of the part that contains all other parts.
const wholeState = "all of the state"

// WholeState adds the change of the whole state to p.
func WholeState(p store.Parts) { p[wholeState] |= store.Changes }

// IsWholeState reports whether p has the change of the whole state.
func IsWholeState(p store.Parts) bool { return p[wholeState]&store.Changes != 0 }

// Change adds the change of an instance with its deposed objects. It also adds Within for each part that contains the
// instance.
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

// Need adds a resource that must not change, with all its instances in and below the module instance at.
func Need(p store.Parts, at addr.ModuleInstance, r addr.Resource) {
	p[wholeState] |= store.Within
	p[resource(at, r)] |= store.Needs
}

// Output adds the change of a root output.
func Output(p store.Parts, name string) {
	p[wholeState] |= store.Within
	p[output(name)] |= store.Changes
}

// ChangesOutput reports whether the run changes a root output.
func ChangesOutput(p store.Parts, name string) bool {
	return IsWholeState(p) || p[output(name)]&store.Changes != 0
}

func output(name string) string { return "output." + name }

// Check adds the change of the check results of a declaration.
func Check(p store.Parts, kind, address string) {
	p[wholeState] |= store.Within
	p[kind+" conditions of "+address] |= store.Changes
}

// resource returns the name for all instances of a resource, in the module instance at and in all module instances
// below it. Example: for aws_instance.a of module a.b at module.a["x"], the name is
// module.a["x"].module.b[*].aws_instance.a[*].
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
