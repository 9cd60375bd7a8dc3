package addr

import (
	"cmp"
	"strings"
)

// Mode is the kind of a resource.
type Mode uint8

// The resource modes. The zero value is none of them.
const (
	Managed Mode = iota + 1
	Data
	Ephemeral
	List   // a search for objects, in query files
	Action // an operation of a provider that changes no object of the state

	StateStore // a place for states, which a state_store block configures: only types of providers have this mode, and no resource
)

// String returns the mode as in states and machine-readable output. It returns "invalid" for StateStore and for unknown
// modes.
func (m Mode) String() string {
	switch m {
	case Managed:
		return "managed"
	case Data:
		return "data"
	case Ephemeral:
		return "ephemeral"
	case List:
		return "list"
	case Action:
		return "action"
	}
	return "invalid"
}

// Block returns the type of the block that declares a resource of this mode, and "invalid" if no block does.
func (m Mode) Block() string {
	if m == Managed {
		return "resource"
	}
	return m.String()
}

// ModeOf returns the mode of the resources that a type of block declares, and false for other blocks. It returns false
// for list and action blocks, too, because a reference may begin with list or action as the type of a managed resource.
func ModeOf(block string) (Mode, bool) {
	for _, m := range []Mode{Managed, Data, Ephemeral} {
		if m.Block() == block {
			return m, true
		}
	}
	return 0, false
}

// prefix returns the keyword and the dot before the type in an address, such as "data.". It returns "" for a managed
// resource and for StateStore.
func (m Mode) prefix() string {
	switch m {
	case Data:
		return "data."
	case Ephemeral:
		return "ephemeral."
	case List:
		return "list."
	case Action:
		return "action."
	}
	return ""
}

// Resource is a declared resource: one block, with all its instances in all instances of its module.
type Resource struct {
	Module     Module
	Mode       Mode
	Type, Name string
}

// Local returns the address inside its module, such as "data.aws_ami.base".
func (r Resource) Local() string { return r.Mode.prefix() + r.Type + "." + r.Name }

func (r Resource) String() string { return join(r.Module.String(), r.Local()) }

// In returns the resource inside one instance of its module.
func (r Resource) In(m ModuleInstance) AbsResource {
	return AbsResource{Module: m, Mode: r.Mode, Type: r.Type, Name: r.Name}
}

// Compare orders resources by module, mode, type and name.
func (r Resource) Compare(o Resource) int {
	return cmp.Or(strings.Compare(r.Module.String(), o.Module.String()), cmp.Compare(r.Mode, o.Mode),
		strings.Compare(r.Type, o.Type), strings.Compare(r.Name, o.Name))
}

// AbsResource is a resource inside one module instance, with all its instances there.
type AbsResource struct {
	Module     ModuleInstance
	Mode       Mode
	Type, Name string
}

// Local returns the address inside its module.
func (r AbsResource) Local() string { return r.Mode.prefix() + r.Type + "." + r.Name }

func (r AbsResource) String() string { return join(r.Module.String(), r.Local()) }

// Resource returns the declared resource: the address without the keys of module instances.
func (r AbsResource) Resource() Resource {
	return Resource{Module: r.Module.Module(), Mode: r.Mode, Type: r.Type, Name: r.Name}
}

// Instance returns the instance with this key.
func (r AbsResource) Instance(k Key) Instance {
	return Instance{Module: r.Module, Mode: r.Mode, Type: r.Type, Name: r.Name, Key: k}
}

// Compare orders resources by module, mode, type and name.
func (r AbsResource) Compare(o AbsResource) int {
	return cmp.Or(r.Module.Compare(o.Module), cmp.Compare(r.Mode, o.Mode),
		strings.Compare(r.Type, o.Type), strings.Compare(r.Name, o.Name))
}

// Instance is one instance of a resource.
type Instance struct {
	Module     ModuleInstance
	Mode       Mode
	Type, Name string
	Key        Key
}

// Abs returns the resource of the instance in its module instance.
func (i Instance) Abs() AbsResource {
	return AbsResource{Module: i.Module, Mode: i.Mode, Type: i.Type, Name: i.Name}
}

// Resource returns the declared resource: the address without the keys of module instances and of the instance.
func (i Instance) Resource() Resource { return i.Abs().Resource() }

// Current returns the current object of the instance.
func (i Instance) Current() Object { return Object{Instance: i} }

// Local returns the address inside its module.
func (i Instance) Local() string { return i.Mode.prefix() + i.Type + "." + i.Name + i.Key.String() }

func (i Instance) String() string { return join(i.Module.String(), i.Local()) }

// Compare orders instances by resource in its module instance, then by key.
func (i Instance) Compare(o Instance) int {
	return cmp.Or(i.Abs().Compare(o.Abs()), i.Key.Compare(o.Key))
}

// Object is one object of an instance: the current object, or a deposed object that waits for its destruction.
type Object struct {
	Instance
	Deposed string // eight hexadecimal digits; "": the current object
}

// IsDeposed reports whether o is a deposed object.
func (o Object) IsDeposed() bool { return o.Deposed != "" }

// String returns the address of the instance, followed by "(deposed object 0a1b2c3d)" for a deposed object.
func (o Object) String() string {
	if o.Deposed == "" {
		return o.Instance.String()
	}
	return o.Instance.String() + " (deposed object " + o.Deposed + ")"
}

// Compare orders objects by instance: the current object first, then deposed objects by key.
func (o Object) Compare(p Object) int {
	return cmp.Or(o.Instance.Compare(p.Instance), strings.Compare(o.Deposed, p.Deposed))
}

func join(module, rest string) string {
	if module == "" {
		return rest
	}
	return module + "." + rest
}
