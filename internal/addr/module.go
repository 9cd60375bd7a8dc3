package addr

import (
	"strings"
	"unique"
)

// Module is the path of a module in the configuration tree: call names from the root, without
// instance keys. The zero value is the root module.
type Module struct{ h unique.Handle[moduleHop] }

type moduleHop struct {
	parent Module
	name   string
}

// IsRoot reports whether m is the root module.
func (m Module) IsRoot() bool { return m == Module{} }

// Child is the module that the call of that name in m makes.
func (m Module) Child(name string) Module {
	return Module{unique.Make(moduleHop{m, name})}
}

// Join is the module that relative names as seen from m.
func (m Module) Join(relative Module) Module {
	for _, name := range relative.Path() {
		m = m.Child(name)
	}
	return m
}

// Parent is the module that calls m; the root's parent is the root.
func (m Module) Parent() Module {
	if m.IsRoot() {
		return m
	}
	return m.h.Value().parent
}

// Name is the name of the call that makes m, empty for the root.
func (m Module) Name() string {
	if m.IsRoot() {
		return ""
	}
	return m.h.Value().name
}

// Path lists the call names from the root down to m.
func (m Module) Path() []string {
	if m.IsRoot() {
		return nil
	}
	return append(m.Parent().Path(), m.Name())
}

// Depth is the number of calls between the root and m.
func (m Module) Depth() int {
	n := 0
	for ; !m.IsRoot(); m = m.Parent() {
		n++
	}
	return n
}

// Under reports whether m is ancestor or lies below it.
func (m Module) Under(ancestor Module) bool {
	for ; m != ancestor; m = m.Parent() {
		if m.IsRoot() {
			return false
		}
	}
	return true
}

// String is "module.a.module.b", or "" for the root.
func (m Module) String() string {
	var b strings.Builder
	m.write(&b)
	return b.String()
}

func (m Module) write(b *strings.Builder) {
	if m.IsRoot() {
		return
	}
	hop := m.h.Value()
	hop.parent.write(b)
	if b.Len() > 0 {
		b.WriteByte('.')
	}
	b.WriteString("module.")
	b.WriteString(hop.name)
}

// Unkeyed is m with no key at any step: the instance of a path whose calls do not repeat.
func (m Module) Unkeyed() ModuleInstance {
	if m.IsRoot() {
		return ModuleInstance{}
	}
	return m.Parent().Unkeyed().Child(m.Name(), NoKey)
}

// ModuleInstance is one instance of a module: call names with instance keys from the root. The
// zero value is the root module's only instance.
type ModuleInstance struct{ h unique.Handle[instanceHop] }

type instanceHop struct {
	parent ModuleInstance
	name   string
	key    Key
}

// IsRoot reports whether m is the root module instance.
func (m ModuleInstance) IsRoot() bool { return m == ModuleInstance{} }

// Child is the instance with that key of the call of that name in m.
func (m ModuleInstance) Child(name string, key Key) ModuleInstance {
	return ModuleInstance{unique.Make(instanceHop{m, name, key})}
}

// Parent is the instance that holds the call which makes m; the root's parent is the root.
func (m ModuleInstance) Parent() ModuleInstance {
	if m.IsRoot() {
		return m
	}
	return m.h.Value().parent
}

// Call gives the name and the key of the last step, "" and NoKey for the root.
func (m ModuleInstance) Call() (string, Key) {
	if m.IsRoot() {
		return "", NoKey
	}
	hop := m.h.Value()
	return hop.name, hop.key
}

// Module is m without its keys.
func (m ModuleInstance) Module() Module {
	if m.IsRoot() {
		return Module{}
	}
	hop := m.h.Value()
	return hop.parent.Module().Child(hop.name)
}

// Under reports whether m is ancestor or lies below it.
func (m ModuleInstance) Under(ancestor ModuleInstance) bool {
	for ; m != ancestor; m = m.Parent() {
		if m.IsRoot() {
			return false
		}
	}
	return true
}

// Around is the nearest module instance around m, or m itself, that p lies below or is an instance of: what
// stands in m means the instances of p below it.
func (m ModuleInstance) Around(p Module) ModuleInstance {
	for !p.Under(m.Module()) {
		m = m.Parent()
	}
	return m
}

// Depth is the number of calls between the root and m.
func (m ModuleInstance) Depth() int {
	n := 0
	for ; !m.IsRoot(); m = m.Parent() {
		n++
	}
	return n
}

// String is `module.a["x"].module.b[0]`, or "" for the root.
func (m ModuleInstance) String() string {
	var b strings.Builder
	m.write(&b)
	return b.String()
}

func (m ModuleInstance) write(b *strings.Builder) {
	if m.IsRoot() {
		return
	}
	hop := m.h.Value()
	hop.parent.write(b)
	if b.Len() > 0 {
		b.WriteByte('.')
	}
	b.WriteString("module.")
	b.WriteString(hop.name)
	hop.key.write(b)
}

// Compare orders module instances: parents before children, then by name and key.
func (m ModuleInstance) Compare(o ModuleInstance) int {
	if m == o {
		return 0
	}
	md, od := m.Depth(), o.Depth()
	for ; md > od; md-- {
		m = m.Parent()
	}
	if m == o {
		return 1
	}
	for ; od > md; od-- {
		o = o.Parent()
	}
	if m == o {
		return -1
	}
	return compareSiblings(m, o)
}

// compareSiblings orders two different instances of equal depth by their first differing step.
func compareSiblings(m, o ModuleInstance) int {
	if mp, op := m.Parent(), o.Parent(); mp != op {
		return compareSiblings(mp, op)
	}
	mn, mk := m.Call()
	on, ok := o.Call()
	if c := strings.Compare(mn, on); c != 0 {
		return c
	}
	return mk.Compare(ok)
}
