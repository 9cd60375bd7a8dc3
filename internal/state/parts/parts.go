// Package parts names the parts of a state that a run locks. Runs that work on one state at the same time
// (store.ConcurrentStore) lock different parts.
//
// A run changes objects, and needs other objects to stay unchanged. It needs whole resources, with all instances that
// exist or may be created in a module instance, because configurations refer to resources and not to single objects. So
// the change of an object is also a change within each part that contains the object. These parts are its resource, as
// seen from its module instance and from each module around it. For module.a["x"].t.n[0] these are module.a["x"].t.n[*]
// and module.a[*].t.n[*].
package parts

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/store"
)

// wholeState is the name of the part that contains all other parts of a state.
const wholeState = "all of the state"

// WholeState adds to p that the run changes the whole state.
func WholeState(p store.Parts) { p[wholeState] |= store.Changes }

// IsWholeState reports whether the run with the parts p changes the whole state.
func IsWholeState(p store.Parts) bool { return p[wholeState]&store.Changes != 0 }

// Change adds to p that the run changes an instance and its deposed objects. It also adds store.Within for each part
// that contains the instance.
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

// Changes reports whether the run with the parts p changes an instance.
func Changes(p store.Parts, i addr.Instance) bool {
	return IsWholeState(p) || p[i.String()]&store.Changes != 0
}

// Need adds to p that a resource must not change, with all its instances in a module instance and below it.
func Need(p store.Parts, at addr.ModuleInstance, r addr.Resource) {
	p[wholeState] |= store.Within
	p[resource(at, r)] |= store.Needs
}

// Output adds to p that the run changes a root output.
func Output(p store.Parts, name string) {
	p[wholeState] |= store.Within
	p[output(name)] |= store.Changes
}

// ChangesOutput reports whether the run with the parts p changes a root output.
func ChangesOutput(p store.Parts, name string) bool {
	return IsWholeState(p) || p[output(name)]&store.Changes != 0
}

func output(name string) string { return "output." + name }

// Check adds to p that the run changes the check results of a declaration.
func Check(p store.Parts, kind, address string) {
	p[wholeState] |= store.Within
	p[kind+" conditions of "+address] |= store.Changes
}

// resource returns the name of the part with all instances of a resource in a module instance and in all module
// instances below it. Example: for aws_instance.a of module a.b at module.a["x"], the name is
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
