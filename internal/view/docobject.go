package view

import (
	"maps"
	"slices"
	"strconv"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Parts that several documents have in common.

// Hosts gives a provider with the registry host that documents name it with; nil changes none.
type Hosts func(addr.Provider) addr.Provider

func (h Hosts) of(p addr.Provider) addr.Provider {
	if h == nil {
		return p
	}
	return h(p)
}

// formatPlan, formatState and so on are the versions of the documents.
const (
	formatPlan      = "1.2"
	formatState     = "1.0"
	formatSchemas   = "1.0"
	formatValidate  = "1.0"
	formatFunctions = "1.0"
)

// address writes what an object is called: address, mode, type, name, index.
func (d *doc) address(i addr.Instance) {
	d.keyStr("address", i.String())
	d.named(i)
}

func (d *doc) named(i addr.Instance) {
	d.keyStr("mode", i.Mode.String())
	d.keyStr("type", i.Type)
	d.keyStr("name", i.Name)
	if !i.Key.IsNone() {
		d.Key("index")
		d.instanceKey(i.Key)
	}
}

func (d *doc) instanceKey(k addr.Key) {
	if k.Hidden() {
		d.str(mark.Ephemeral.Mask())
	} else if n, ok := k.Int(); ok {
		d.Int(int64(n))
	} else if s, ok := k.Str(); ok {
		d.str(s)
	} else {
		d.Word("null")
	}
}

// sensitives writes where a value is sensitive, by its schema or its marks: true for such a value,
// false for others without parts; false is left out of objects and maps. Of unknown collections
// only the kind is told.
func (d *doc) sensitives(v cty.Value, f *form, secrets *tree) {
	ty := v.Type()
	switch {
	case secrets.is() || f.hides():
		d.Bool(true)
	case !composite(ty) || v.IsKnown() && v.IsNull():
		d.Bool(false)
	case ty.IsObjectType() || ty.IsMapType():
		d.object(func() {
			if !v.IsKnown() {
				return
			}
			for it := v.ElementIterator(); it.Next(); {
				k, ev := it.Element()
				name := k.AsString()
				in, sec := f.part(name), secrets.at(name)
				if sec.is() || in.hides() || composite(ev.Type()) && !(ev.IsKnown() && ev.IsNull()) {
					d.Key(name)
					d.sensitives(ev, in, sec)
				}
			}
		})
	default:
		d.array(func() {
			if !v.IsKnown() {
				return
			}
			i := 0
			for it := v.ElementIterator(); it.Next(); i++ {
				_, ev := it.Element()
				d.sensitives(ev, f.element(), secrets.at(strconv.Itoa(i)))
			}
		})
	}
}

// sensitiveObject writes where an object is sensitive; false if there is no object.
func (d *doc) sensitiveObject(name string, v mark.Value, f *blockForm) {
	d.Key(name)
	if v.Raw == cty.NilVal || v.Raw.IsNull() {
		d.Bool(false)
		return
	}
	d.sensitives(v.Raw, &f.form, secretTree(v))
}

// typeOf writes a type as the machine formats spell it: "string", ["list", …], ["object", {…}].
func (d *doc) typeOf(ty cty.Type) {
	kind := ""
	switch {
	case ty == cty.String:
		d.str("string")
		return
	case ty == cty.Number:
		d.str("number")
		return
	case ty == cty.Bool:
		d.str("bool")
		return
	case ty.IsListType():
		kind = "list"
	case ty.IsSetType():
		kind = "set"
	case ty.IsMapType():
		kind = "map"
	case ty.IsTupleType():
		kind = "tuple"
	case ty.IsObjectType():
		kind = "object"
	default:
		d.str("dynamic")
		return
	}
	d.array(func() {
		d.str(kind)
		d.typeParts(ty)
	})
}

func (d *doc) typeParts(ty cty.Type) {
	switch {
	case ty.IsTupleType():
		d.array(func() {
			for _, e := range ty.TupleElementTypes() {
				d.typeOf(e)
			}
		})
	case ty.IsObjectType():
		attrs := ty.AttributeTypes()
		d.object(func() {
			for _, name := range slices.Sorted(maps.Keys(attrs)) {
				d.Key(name)
				d.typeOf(attrs[name])
			}
		})
	default:
		d.typeOf(ty.ElementType())
	}
}

// modules writes a tree of modules while resources come in order: each module has its resources
// and then its children.
type modules struct {
	*doc
	open []openModule
}

type openModule struct {
	addr  addr.ModuleInstance
	state moduleState
}

type moduleState uint8

const (
	begun moduleState = iota
	inResources
	inChildren
)

// modules begins with the root module.
func (d *doc) modules() *modules {
	d.Key("root_module")
	d.Open('{')
	return &modules{d, []openModule{{}}}
}

func (m *modules) top() *openModule { return &m.open[len(m.open)-1] }

// resource writes a resource of a module.
func (m *modules) resource(in addr.ModuleInstance, write func()) {
	m.enter(in)
	top := m.top()
	if top.state != inResources {
		m.closeArray()
		m.Key("resources")
		m.doc.Open('[')
		top.state = inResources
	}
	m.object(write)
}

// enter closes and opens modules until in is the innermost.
func (m *modules) enter(in addr.ModuleInstance) {
	for !in.Under(m.top().addr) && in != m.top().addr {
		m.leave()
	}
	if in == m.top().addr {
		return
	}
	m.enter(in.Parent())
	if top := m.top(); top.state != inChildren {
		m.closeArray()
		m.Key("child_modules")
		m.doc.Open('[')
		top.state = inChildren
	}
	m.doc.Open('{')
	m.open = append(m.open, openModule{addr: in})
}

func (m *modules) closeArray() {
	if m.top().state != begun {
		m.Close(']')
		m.top().state = begun
	}
}

func (m *modules) leave() {
	m.closeArray()
	if a := m.top().addr; !a.IsRoot() {
		m.keyStr("address", a.String())
	}
	m.Close('}')
	m.open = m.open[:len(m.open)-1]
}

// end closes everything.
func (m *modules) end() {
	for len(m.open) > 0 {
		m.leave()
	}
}
