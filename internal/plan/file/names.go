package file

import (
	"errors"

	"github.com/lethe-iac/lethe/internal/addr"
)

// Names are written by parts, from the outermost module inwards.

func (c *coder) key(p *addr.Key) {
	const none, number, word = 0, 1, 2
	n, isInt := p.Int()
	s, isStr := p.Str()
	kind := uint8(none)
	switch {
	case isInt:
		kind = number
	case isStr:
		kind = word
	}
	enum(c, &kind, word)
	switch kind {
	case none:
		*p = addr.NoKey
	case number:
		i := int64(n)
		c.int(&i)
		*p = addr.IntKey(int(i))
	case word:
		text(c, &s)
		*p = addr.StringKey(s)
	}
}

// hop is one step of a module path.
type hop struct {
	name string
	key  addr.Key
}

func (c *coder) moduleInstance(p *addr.ModuleInstance) {
	var hops []hop
	for m := *p; !m.IsRoot(); m = m.Parent() {
		var h hop
		h.name, h.key = m.Call()
		hops = append(hops, h)
	}
	list(c, &hops, func(h *hop) { text(c, &h.name); c.key(&h.key) })
	if c.reading {
		*p = addr.ModuleInstance{}
		for i := len(hops) - 1; i >= 0; i-- {
			*p = p.Child(hops[i].name, hops[i].key)
		}
	}
}

func (c *coder) module(p *addr.Module) {
	names := p.Path()
	list(c, &names, func(s *string) { text(c, s) })
	if c.reading {
		*p = addr.Module{}
		for _, n := range names {
			*p = p.Child(n)
		}
	}
}

func (c *coder) mode(p *addr.Mode) {
	enum(c, p, addr.Ephemeral)
	if *p == 0 {
		c.fail(errors.New("a resource has no mode"))
	}
}

func (c *coder) resource(p *addr.Resource) {
	c.module(&p.Module)
	c.mode(&p.Mode)
	text(c, &p.Type)
	text(c, &p.Name)
}

func (c *coder) absResource(p *addr.AbsResource) {
	c.moduleInstance(&p.Module)
	c.mode(&p.Mode)
	text(c, &p.Type)
	text(c, &p.Name)
}

func (c *coder) instance(p *addr.Instance) {
	r := p.Abs()
	c.absResource(&r)
	c.key(&p.Key)
	*p = r.Instance(p.Key)
}

func (c *coder) object(p *addr.Object) {
	c.instance(&p.Instance)
	text(c, &p.Deposed)
}

func (c *coder) provider(p *addr.Provider) {
	text(c, &p.Host)
	text(c, &p.Namespace)
	text(c, &p.Type)
}

func (c *coder) providerInstance(p *addr.ProviderInstance) {
	c.module(&p.Module)
	c.provider(&p.Provider)
	text(c, &p.Alias)
	c.key(&p.Key)
}

// target is written as a user writes it: it says what was left open.
func (c *coder) target(p *addr.Target) {
	s := p.String()
	text(c, &s)
	if c.reading && c.err == nil {
		t, err := addr.ParseTarget(s)
		if err != nil {
			c.fail(err)
		}
		*p = t
	}
}
