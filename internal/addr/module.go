package addr

import (
	"strings"
	"unique"
)

// Module is the path of a module in the configuration tree: the names of the calls from the root, without instance
// keys. The zero value is the root module.
type Module struct{ h unique.Handle[moduleHop] }

type moduleHop struct {
	parent Module
	name   string
}

// IsRoot reports whether m is the root module.
func (m Module) IsRoot() bool { return m == Module{} }

// Child returns the module that the call with this name in m creates.
func (m Module) Child(name string) Module {
	return Module{unique.Make(moduleHop{m, name})}
}

// Join returns a module below m. The argument is the path from m to this module.
func (m Module) Join(relative Module) Module {
	for _, name := range relative.Path() {
		m = m.Child(name)
	}
	return m
}

// Parent returns the module that calls m. It returns the root for the root.
func (m Module) Parent() Module {
	if m.IsRoot() {
		return m
	}
	return m.h.Value().parent
}

// Name returns the name of the call that creates m, and "" for the root.
func (m Module) Name() string {
	if m.IsRoot() {
		return ""
	}
	return m.h.Value().name
}

// Path returns the names of the calls from the root to m, and nil for the root.
func (m Module) Path() []string {
	if m.IsRoot() {
		return nil
	}
	return append(m.Parent().Path(), m.Name())
}

// Depth returns the number of calls between the root and m.
func (m Module) Depth() int {
	n := 0
	for ; !m.IsRoot(); m = m.Parent() {
		n++
	}
	return n
}

// Under reports whether m is ancestor or is below it.
func (m Module) Under(ancestor Module) bool {
	for ; m != ancestor; m = m.Parent() {
		if m.IsRoot() {
			return false
		}
	}
	return true
}

// String returns "module.a.module.b", or "" for the root.
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

// Unkeyed returns the instance of m with no key at any step: the instance if no call has count or for_each.
func (m Module) Unkeyed() ModuleInstance {
	if m.IsRoot() {
		return ModuleInstance{}
	}
	return m.Parent().Unkeyed().Child(m.Name(), NoKey)
}

// ModuleInstance is one instance of a module: the names of the calls from the root, with their instance keys. The zero
// value is the only instance of the root module.
type ModuleInstance struct{ h unique.Handle[instanceHop] }

type instanceHop struct {
	parent ModuleInstance
	name   string
	key    Key
}

// IsRoot reports whether m is the root module instance.
func (m ModuleInstance) IsRoot() bool { return m == ModuleInstance{} }

// Child returns the instance with this key of the call with this name in m.
func (m ModuleInstance) Child(name string, key Key) ModuleInstance {
	return ModuleInstance{unique.Make(instanceHop{m, name, key})}
}

// Parent returns the instance that contains the call of m. It returns the root for the root.
func (m ModuleInstance) Parent() ModuleInstance {
	if m.IsRoot() {
		return m
	}
	return m.h.Value().parent
}

// Call returns the name and the key of the last step, and "" and NoKey for the root.
func (m ModuleInstance) Call() (string, Key) {
	if m.IsRoot() {
		return "", NoKey
	}
	hop := m.h.Value()
	return hop.name, hop.key
}

// Module returns the module of m, without keys.
func (m ModuleInstance) Module() Module {
	if m.IsRoot() {
		return Module{}
	}
	hop := m.h.Value()
	return hop.parent.Module().Child(hop.name)
}

// Under reports whether m is ancestor or is below it.
func (m ModuleInstance) Under(ancestor ModuleInstance) bool {
	for ; m != ancestor; m = m.Parent() {
		if m.IsRoot() {
			return false
		}
	}
	return true
}

// Around returns the innermost module instance, m or an ancestor of m, whose module is p or contains p. If an
// expression in m refers to a declaration in p, it means the instances of p below this module instance.
func (m ModuleInstance) Around(p Module) ModuleInstance {
	for !p.Under(m.Module()) {
		m = m.Parent()
	}
	return m
}

// Depth returns the number of calls between the root and m.
func (m ModuleInstance) Depth() int {
	n := 0
	for ; !m.IsRoot(); m = m.Parent() {
		n++
	}
	return n
}

// String returns `module.a["x"].module.b[0]`, or "" for the root.
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

// Compare orders module instances: parents before their children, and otherwise by the name and key of the first call
// that differs.
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

// compareSiblings orders two different instances of equal depth by the first step that differs.
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
