package lang

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// small is a minimal engine. It fills the slots of all resources in the order of the references. Each object has its
// configuration, and computed attributes that are unknown or invented.
type small struct {
	p     *program.Program
	f     *frame.Frame
	bag   *diag.Bag
	apply bool // true for an apply, in which computed attributes are known
	done  map[program.Decl]bool
	got   map[string]mark.Value // the evaluated configuration of each object, by address
}

func run(p *program.Program, o frame.Options, apply bool, bag *diag.Bag) *small {
	f, ok := frame.New(p, o, bag)
	s := &small{p: p, f: f, bag: bag, apply: apply, done: map[program.Decl]bool{}, got: map[string]mark.Value{}}
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

func (s *small) visit(d program.Decl) {
	if s.done[d] {
		return
	}
	s.done[d] = true
	for _, r := range s.p.Refs(d) {
		s.visit(r.To)
	}
	decl := s.p.Decls()[d]
	if decl.Kind != program.Resource {
		return
	}
	frames, _ := s.f.Expand(decl.Module, frame.After, s.bag)
	for _, f := range frames {
		for _, k := range f.Keys(d, frame.After, s.bag).List {
			s.instance(f, decl, k)
		}
	}
}

func (s *small) instance(f *frame.Frame, d *program.Declaration, k addr.Key) {
	f.Conditions(d.ID, k, program.Pre, nil, s.bag)
	v, o := f.Config(d.ID, k, frame.After, s.bag)
	if o != frame.OK {
		f.Fail(d.ID, k, frame.After)
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
		v.Marks = append(v.Marks, mark.SensitiveAt([]cty.Path{cty.GetAttrPath("secret")})...)
	}
	f.Put(d.ID, k, frame.After, v)
	f.Conditions(d.ID, k, program.Post, &v, s.bag)
}

// outputs evaluates a local, variable, output, check or provider configuration in all instances of its module, and
// checks its conditions. Without it, a declaration that no other declaration reads is not evaluated.
func (s *small) outputs(d *program.Declaration) {
	frames, _ := s.f.Expand(d.Module, frame.After, s.bag)
	for _, f := range frames {
		switch d.Kind {
		case program.Local:
			f.Named(program.Local, d.Name, frame.After, s.bag)
		case program.Variable:
			f.Named(program.Variable, d.Name, frame.After, s.bag)
			f.Conditions(d.ID, addr.NoKey, program.Validation, nil, s.bag)
		case program.Output:
			f.Named(program.Output, d.Name, frame.After, s.bag)
			f.Conditions(d.ID, addr.NoKey, program.OutputPre, nil, s.bag)
		case program.Check:
			f.Conditions(d.ID, addr.NoKey, program.Assert, nil, s.bag)
		case program.Provider:
			if d.Prov != nil {
				for _, k := range f.Keys(d.ID, frame.After, s.bag).List {
					f.Settings(d.ID, k, frame.After, s.bag)
				}
			}
		}
	}
}
