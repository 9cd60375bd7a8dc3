package frame

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Imports gives the imports into a resource, of all its instances, as the import blocks of the
// frame's module say. They are evaluated once; anything broken is in the bag.
func (f *Frame) Imports(d program.Decl, bag *diag.Bag) ([]Import, Outcome) {
	target := f.w.p.Decls()[d].Resource
	return importsInto(f, func(b *program.ImportBlock) bool { return b.Target(f.n.Config.Path) == target }, bag)
}

// AllImports gives all imports, also those into resources that have no configuration.
func (f *Frame) AllImports(bag *diag.Bag) ([]Import, Outcome) {
	return importsInto(f, func(*program.ImportBlock) bool { return true }, bag)
}

func importsInto(f *Frame, wanted func(*program.ImportBlock) bool, bag *diag.Bag) (out []Import, outcome Outcome) {
	for i, b := range f.u.Imports {
		if wanted(b) {
			got := f.importsOf(i, b)
			bag.Add(got.diags...)
			out = append(out, got.list...)
			outcome = max(outcome, got.outcome)
		}
	}
	return out, outcome
}

func (f *Frame) importsOf(i int, b *program.ImportBlock) *imported {
	got := &f.imports[i]
	got.once.Do(func() {
		var bag diag.Bag
		got.list, got.outcome = evalImports(f, b, &bag)
		got.diags = bag.List()
	})
	return got
}

func evalImports(f *Frame, b *program.ImportBlock, bag *diag.Bag) ([]Import, Outcome) {
	if b.ForEach == nil {
		im, o := importOne(f, b, addr.NoKey, nil, bag)
		if o != OK {
			return nil, o
		}
		return []Import{im}, OK
	}
	s := f.scope(After, bag)
	rep := s.repeat(b.Def)
	outcome := s.outcome()
	s.release()
	var out []Import
	for _, k := range rep.List {
		im, o := importOne(f, b, k, rep, bag)
		if o == OK {
			out = append(out, im)
		}
		outcome = max(outcome, o)
	}
	return out, outcome
}

func importOne(f *Frame, b *program.ImportBlock, k addr.Key, rep *repeated, bag *diag.Bag) (Import, Outcome) {
	s := f.scope(After, bag).of(b.Def, k)
	defer s.release()
	s.each = rep
	out := Import{Provider: b.Config.Provider, Block: b.Config, Range: b.Config.Range}
	im := &importer{s, b}
	to, ok := im.address()
	if !ok {
		return out, s.outcome()
	}
	out.To = to
	if b.Identity != nil {
		out, _ = im.identity(out)
	} else {
		out, _ = im.id(out)
	}
	return out, s.outcome()
}

// importer evaluates the arguments of an import block, for one key of its for_each.
type importer struct {
	*scope
	b *program.ImportBlock
}

func (s *importer) id(out Import) (Import, bool) {
	b := s.b
	const title = "Invalid import id argument"
	v := s.Eval(b.ID)
	if s.outcome() != OK {
		return out, false
	}
	fail := func(detail string) (Import, bool) {
		s.Error(s.WithValues(diag.Errorf(title, "%s", detail).At(b.ID.Range()), b.ID, s.Ctx))
		return out, false
	}
	switch {
	case mark.Anywhere(v, mark.Ephemeral):
		return fail("The import id cannot be ephemeral: it is kept in plan and state." + cameFrom(v))
	case mark.Anywhere(v, mark.Sensitive):
		return fail("The import id cannot be sensitive: it is shown in plans.")
	}
	str, err := convert.To(v, cty.String)
	switch {
	case err != nil:
		return fail("The import id value is unsuitable: " + expr.ConversionText(err) + ".")
	case !str.IsKnown():
		out.Unknown, out.Range = true, b.ID.Range()
		return out, true
	case str.IsNull():
		return fail("The import id cannot be null.")
	case str.AsString() == "":
		return fail("The import id value evaluates to an empty string, please provide a non-empty value.")
	}
	out.ID = str.AsString()
	return out, true
}

func (s *importer) identity(out Import) (Import, bool) {
	b := s.b
	v := s.Eval(b.Identity)
	if s.outcome() != OK {
		return out, false
	}
	if marks := mark.Split(v).Marks; len(marks) > 0 {
		m, detail := marks[0], "The import identity cannot be sensitive: it is shown in plans."
		if m.Tag == mark.Ephemeral {
			detail = "The import identity cannot be ephemeral: it is kept in plan and state." + wayOf(m)
		}
		s.Error(diag.Errorf("Invalid import identity argument", "%s", detail).At(expr.InsideExpr(b.Identity, b.Identity.Range(), m.Path)))
		return out, false
	}
	if v.IsNull() {
		s.Error(diag.Errorf("Invalid import identity argument", "The import identity cannot be null.").At(b.Identity.Range()))
		return out, false
	}
	out.Identity, out.Unknown = v, !v.IsWhollyKnown()
	return out, true
}

// address evaluates the keys of the address that an import block names.
func (s *importer) address() (addr.Instance, bool) {
	r := s.b.Config.Resource
	mi := s.f.addr
	for i, name := range r.Module.Path() {
		key, ok := s.instanceKey(s.b.ModuleKeys[i])
		if !ok {
			return addr.Instance{}, false
		}
		mi = mi.Child(name, key)
	}
	key, ok := s.instanceKey(s.b.Key)
	return addr.Instance{Module: mi, Mode: r.Mode, Type: r.Type, Name: r.Name, Key: key}, ok
}

// instanceKey evaluates one key of the address; nil is none.
func (s *importer) instanceKey(e hclsyntax.Expression) (addr.Key, bool) {
	if e == nil {
		return addr.NoKey, true
	}
	v := s.Eval(e)
	if s.outcome() != OK {
		return addr.NoKey, false
	}
	detail := ""
	switch {
	case mark.Anywhere(v, mark.Ephemeral):
		detail = "An instance key in the address must not be ephemeral: it is kept in plan and state." + cameFrom(v)
	case mark.Anywhere(v, mark.Sensitive):
		detail = "An instance key in the address must not be sensitive: it is shown in plans."
	case !v.IsKnown() && s.f.w.o.Validate:
		return addr.NoKey, true
	case !v.IsKnown():
		detail = "An instance key in the address must be known while planning."
	}
	key, ok := addr.KeyOf(v)
	if detail == "" && !ok {
		detail = "An instance key in the address must be a string or a whole number."
	}
	if detail != "" {
		s.Error(s.WithValues(diag.Errorf("Import block 'to' address contains an invalid key", "%s", detail).At(e.Range()), e, s.Ctx))
		return addr.NoKey, false
	}
	return key, true
}
