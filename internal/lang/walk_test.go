package lang

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// small is an engine as small as one can be: it fills the slots of all resources in the order of
// the references, with what the configuration says and computed attributes that are unknown or
// made up.
type small struct {
	p     *Program
	f     *Frame
	bag   *diag.Bag
	apply bool // computed attributes are known
	done  map[Decl]bool
	got   map[string]mark.Value // configurations by address
}

func run(p *Program, o Options, apply bool, bag *diag.Bag) *small {
	f, ok := NewFrame(p, o, bag)
	s := &small{p: p, f: f, bag: bag, apply: apply, done: map[Decl]bool{}, got: map[string]mark.Value{}}
	if !ok {
		return s
	}
	for _, d := range p.Decls() {
		s.visit(d.ID)
	}
	for _, d := range p.Decls() {
		s.outputs(d)
	}
	return s
}

func (s *small) visit(d Decl) {
	if s.done[d] {
		return
	}
	s.done[d] = true
	for _, r := range s.p.Refs(d) {
		s.visit(r.To)
	}
	decl := s.p.Decls()[d]
	if decl.Kind != Resource {
		return
	}
	frames, _ := s.f.Expand(decl.Module, After, s.bag)
	for _, f := range frames {
		for _, k := range f.Keys(d, After, s.bag).List {
			s.instance(f, decl, k)
		}
	}
}

func (s *small) instance(f *Frame, d *Declaration, k addr.Key) {
	f.Conditions(d.ID, k, Pre, After, nil, s.bag)
	v, o := f.Config(d.ID, k, After, s.bag)
	if o != OK {
		f.Fail(d.ID, k, After)
		return
	}
	at := d.Resource.In(f.Addr()).Instance(k).String()
	s.got[at] = v
	m := v.Raw.AsValueMap()
	m["id"] = cty.UnknownVal(cty.String)
	if s.apply {
		m["id"] = cty.StringVal("id:" + at)
	}
	for name := range m {
		if name == "secret_wo" || name == "need_wo" {
			m[name] = cty.NullVal(cty.String)
		}
	}
	v.Raw = cty.ObjectVal(m)
	v.Marks = slices.DeleteFunc(slices.Clone(v.Marks), func(a mark.At) bool { return a.Tag == mark.Ephemeral })
	if _, ok := m["secret"]; ok {
		v.Marks = append(v.Marks, mark.Paths([]cty.Path{cty.GetAttrPath("secret")}, mark.Sensitive)...)
	}
	f.Put(d.ID, k, After, v)
	f.Conditions(d.ID, k, Post, After, &v, s.bag)
}

// outputs evaluates what nothing else may have asked for.
func (s *small) outputs(d *Declaration) {
	frames, _ := s.f.Expand(d.Module, After, s.bag)
	for _, f := range frames {
		switch d.Kind {
		case Local:
			f.Local(d.Name, After, s.bag)
		case Variable:
			f.Variable(d.Name, After, s.bag)
			f.Conditions(d.ID, addr.NoKey, Validation, After, nil, s.bag)
		case Output:
			f.Output(d.Name, After, s.bag)
			f.Conditions(d.ID, addr.NoKey, OutputPre, After, nil, s.bag)
		case Check:
			f.Conditions(d.ID, addr.NoKey, Assert, After, nil, s.bag)
		case Provider:
			if d.Prov != nil {
				for _, k := range f.Keys(d.ID, After, s.bag).List {
					f.Settings(d.ID, k, After, s.bag)
				}
			}
		}
	}
}
