package addr

import (
	"cmp"
	"strings"
)

// Mode says which of the three lives a resource leads.
type Mode uint8

// The resource modes. The zero value is none of them.
const (
	Managed Mode = iota + 1
	Data
	Ephemeral
)

// String is the mode as state and machine formats write it.
func (m Mode) String() string {
	switch m {
	case Managed:
		return "managed"
	case Data:
		return "data"
	case Ephemeral:
		return "ephemeral"
	}
	return "invalid"
}

// Block is the name of the block that declares a resource of this mode.
func (m Mode) Block() string {
	if m == Managed {
		return "resource"
	}
	return m.String()
}

// ModeOf is the mode of the resources that blocks of a name declare; false for all other blocks.
func ModeOf(block string) (Mode, bool) {
	for _, m := range []Mode{Managed, Data, Ephemeral} {
		if m.Block() == block {
			return m, true
		}
	}
	return 0, false
}

// prefix is what stands before the type in an address.
func (m Mode) prefix() string {
	switch m {
	case Data:
		return "data."
	case Ephemeral:
		return "ephemeral."
	}
	return ""
}

// Resource is a resource as declared: one block, however many instances it has and of
// those of its module.
type Resource struct {
	Module     Module
	Mode       Mode
	Type, Name string
}

// Local is the address inside its module, such as "data.aws_ami.base".
func (r Resource) Local() string { return r.Mode.prefix() + r.Type + "." + r.Name }

func (r Resource) String() string { return join(r.Module.String(), r.Local()) }

// In is the resource inside one instance of its module.
func (r Resource) In(m ModuleInstance) AbsResource {
	return AbsResource{Module: m, Mode: r.Mode, Type: r.Type, Name: r.Name}
}

// Compare orders as String would, by parts.
func (r Resource) Compare(o Resource) int {
	return cmp.Or(strings.Compare(r.Module.String(), o.Module.String()), cmp.Compare(r.Mode, o.Mode),
		strings.Compare(r.Type, o.Type), strings.Compare(r.Name, o.Name))
}

// AbsResource is a resource inside one module instance: the set of its instances there.
type AbsResource struct {
	Module     ModuleInstance
	Mode       Mode
	Type, Name string
}

// Local is the address inside its module.
func (r AbsResource) Local() string { return r.Mode.prefix() + r.Type + "." + r.Name }

func (r AbsResource) String() string { return join(r.Module.String(), r.Local()) }

// Resource is the declaration.
func (r AbsResource) Resource() Resource {
	return Resource{Module: r.Module.Module(), Mode: r.Mode, Type: r.Type, Name: r.Name}
}

// Instance is the instance with that key.
func (r AbsResource) Instance(k Key) Instance {
	return Instance{Module: r.Module, Mode: r.Mode, Type: r.Type, Name: r.Name, Key: k}
}

// Compare orders by module, mode, type and name.
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

// Abs is the instance's resource in its module instance.
func (i Instance) Abs() AbsResource {
	return AbsResource{Module: i.Module, Mode: i.Mode, Type: i.Type, Name: i.Name}
}

// Resource is the declaration.
func (i Instance) Resource() Resource { return i.Abs().Resource() }

// Current is the instance's current object.
func (i Instance) Current() Object { return Object{Instance: i} }

// Local is the address inside its module.
func (i Instance) Local() string { return i.Mode.prefix() + i.Type + "." + i.Name + i.Key.String() }

func (i Instance) String() string { return join(i.Module.String(), i.Local()) }

// Compare orders by resource, then key.
func (i Instance) Compare(o Instance) int {
	return cmp.Or(i.Abs().Compare(o.Abs()), i.Key.Compare(o.Key))
}

// Object is one object of an instance: the current one, or one that was deposed and waits for its
// destruction.
type Object struct {
	Instance
	Deposed string // eight hex digits; "" is the current object
}

// IsDeposed reports whether o is a deposed object.
func (o Object) IsDeposed() bool { return o.Deposed != "" }

// String is the instance, with "(deposed object 0a1b2c3d)" after it where it applies.
func (o Object) String() string {
	if o.Deposed == "" {
		return o.Instance.String()
	}
	return o.Instance.String() + " (deposed object " + o.Deposed + ")"
}

// Compare orders by instance, the current object first.
func (o Object) Compare(p Object) int {
	return cmp.Or(o.Instance.Compare(p.Instance), strings.Compare(o.Deposed, p.Deposed))
}

func join(module, rest string) string {
	if module == "" {
		return rest
	}
	return module + "." + rest
}
