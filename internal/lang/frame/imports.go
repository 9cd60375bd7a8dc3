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

// Imports returns the imports into all instances of a resource in this module instance. It evaluates the import blocks
// of the frame's module at the first call only. It adds their errors to the bag at every call. The status is the worst
// status of these blocks.
func (f *Frame) Imports(d program.Decl, bag *diag.Bag) ([]Import, Status) {
	target := f.w.p.Decls()[d].Resource
	return importsInto(f, func(b *program.ImportBlock) bool { return b.Target(f.n.Config.Path) == target }, bag)
}

// AllImports returns all imports of the frame's module, including imports into resources without configuration.
func (f *Frame) AllImports(bag *diag.Bag) ([]Import, Status) {
	return importsInto(f, func(*program.ImportBlock) bool { return true }, bag)
}

func importsInto(f *Frame, wanted func(*program.ImportBlock) bool, bag *diag.Bag) (out []Import, outcome Status) {
	for i, b := range f.u.Imports {
		if wanted(b) {
			got := f.imports[i].of(f, b)
			bag.Add(got.diags...)
			out = append(out, got.list...)
			outcome = max(outcome, got.outcome)
		}
	}
	return out, outcome
}

// of evaluates the import block b of f, unless an earlier call has evaluated it.
func (got *imported) of(f *Frame, b *program.ImportBlock) *imported {
	got.once.Do(func() {
		var bag diag.Bag
		got.list, got.outcome = evalImports(f, b, &bag)
		got.diags = bag.List()
	})
	return got
}

func evalImports(f *Frame, b *program.ImportBlock, bag *diag.Bag) ([]Import, Status) {
	if b.ForEach == nil {
		im, o := importOne(f, b, nil, bag)
		if o != OK {
			return nil, o
		}
		return []Import{im}, OK
	}
	s := newScope(f, After, bag)
	pairs := (&repeater{s: s, d: b.Def, out: &repeated{Keys: Keys{Repeat: program.ForEach}}, e: b.ForEach, title: "Invalid for_each argument", early: true}).pairs()
	outcome := s.outcome()
	s.release()
	var out []Import
	for i := range pairs {
		im, o := importOne(f, b, &pairs[i], bag)
		if o == OK {
			out = append(out, im)
		}
		outcome = max(outcome, o)
	}
	return out, outcome
}

// of returns each.key for the field "key", and each.value for any other field.
func (p *eachPair) of(field string) cty.Value {
	if field == "key" {
		return p.key
	}
	return p.value
}

// pairs returns the elements of the for_each of an import block. Because an import block creates no instances, its
// for_each may be any collection, as in Terraform. In a list, each.key is the index; in a set, it is the element
// itself. The elements have the marks of the collection: otherwise, an address or an id would show a sensitive element.
func (r *repeater) pairs() []eachPair {
	v := r.s.Eval(r.e)
	if r.s.outcome() != OK || mark.Is(v, mark.Ephemeral) && !r.mayBeMarked(v, "for_each") {
		return nil
	}
	v, remark := mark.Unmark(v)
	ty := v.Type()
	switch {
	case v.IsNull():
		return nil
	case ty != cty.DynamicPseudoType && !ty.IsCollectionType() && !ty.IsTupleType() && !ty.IsObjectType():
		r.error(`The given "for_each" argument value is unsuitable: the "for_each" argument of an import block must be a map, object, list, tuple or set, and you have provided a value of type %s.`, ty.FriendlyName())
		return nil
	case !v.IsKnown() || ty.IsSetType() && !v.IsWhollyKnown():
		r.unknown(unknownForEach, "value", "values")
		if r.s.f.w.o.Validate {
			return []eachPair{{cty.DynamicVal, cty.DynamicVal}}
		}
		return nil
	case !r.fits(int64(v.LengthInt())):
		return nil
	}
	out := make([]eachPair, 0, v.LengthInt())
	for k, e := range expr.Entries(v) {
		if ty.IsSetType() {
			k = remark(k)
		}
		out = append(out, eachPair{k, remark(e)})
	}
	return out
}

func importOne(f *Frame, b *program.ImportBlock, each *eachPair, bag *diag.Bag) (Import, Status) {
	s := newScope(f, After, bag).of(b.Def, addr.NoKey)
	defer s.release()
	if s.pair = each; each != nil {
		s.Marked = each.key.ContainsMarked() || each.value.ContainsMarked()
	}
	out := Import{Provider: b.Config.Provider, Block: b.Config, Range: b.Config.Range}
	im := &importer{s, b}
	to, ok := im.address()
	if !ok {
		return out, s.outcome()
	}
	out.To = to
	if b.Def.ProviderKey != nil {
		if out.Key, ok = s.providerKey(b.Def.ProviderKey); !ok {
			return out, s.outcome()
		}
	}
	if b.Identity != nil {
		out, _ = im.identity(out)
	} else {
		out, _ = im.id(out)
	}
	return out, s.outcome()
}

// importer evaluates the arguments of an import block, for one element of its for_each.
type importer struct {
	s *scope
	b *program.ImportBlock
}

func (im *importer) id(out Import) (Import, bool) {
	b := im.b
	const title = "Invalid import id argument"
	v := im.s.Eval(b.ID)
	if im.s.outcome() != OK {
		return out, false
	}
	fail := func(detail string) (Import, bool) {
		im.s.Error(im.s.WithValues(diag.Errorf(title, "%s", detail).At(b.ID.Range()), b.ID, im.s.Ctx))
		return out, false
	}
	switch {
	case mark.Anywhere(v, mark.Ephemeral):
		return fail("The import id cannot be ephemeral, because it is stored in the plan and the state." + cameFrom(v))
	case mark.Anywhere(v, mark.Sensitive):
		return fail("The import id cannot be sensitive, because plans show it.")
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
		return fail("The import id is an empty string. Set it to the provider's ID of the object.")
	}
	out.ID = str.AsString()
	return out, true
}

func (im *importer) identity(out Import) (Import, bool) {
	b := im.b
	v := im.s.Eval(b.Identity)
	if im.s.outcome() != OK {
		return out, false
	}
	if marks := mark.Split(v).Marks; len(marks) > 0 {
		m, detail := marks[0], "The import identity cannot be sensitive, because plans show it."
		if m.Tag == mark.Ephemeral {
			detail = "The import identity cannot be ephemeral, because it is stored in the plan and the state." + trailOf(m)
		}
		im.s.Error(diag.Errorf("Invalid import identity argument", "%s", detail).At(expr.InsideExpr(b.Identity, b.Identity.Range(), m.Path)))
		return out, false
	}
	if v.IsNull() {
		im.s.Error(diag.Errorf("Invalid import identity argument", "The import identity cannot be null.").At(b.Identity.Range()))
		return out, false
	}
	out.Identity, out.Unknown = v, !v.IsWhollyKnown()
	return out, true
}

// address evaluates the target address of an import block. It returns false if a key cannot be evaluated or is invalid.
func (im *importer) address() (addr.Instance, bool) {
	r := im.b.Config.Resource
	mi := im.s.f.addr
	for i, name := range r.Module.Path() {
		key, ok := im.instanceKey(im.b.ModuleKeys[i])
		if !ok {
			return addr.Instance{}, false
		}
		mi = mi.Child(name, key)
	}
	key, ok := im.instanceKey(im.b.Key)
	return addr.Instance{Module: mi, Mode: r.Mode, Type: r.Type, Name: r.Name, Key: key}, ok
}

// instanceKey evaluates one instance key of the target address. It returns NoKey and true if e is nil, and during
// validation also if the key is unknown. If the key cannot be evaluated, is marked, or is not a known string or whole
// number, it reports an error and returns false.
func (im *importer) instanceKey(e hclsyntax.Expression) (addr.Key, bool) {
	if e == nil {
		return addr.NoKey, true
	}
	v := im.s.Eval(e)
	if im.s.outcome() != OK {
		return addr.NoKey, false
	}
	detail := ""
	switch {
	case mark.Anywhere(v, mark.Ephemeral):
		detail = "An instance key in the address cannot be ephemeral, because it is stored in the plan and the state." + cameFrom(v)
	case mark.Anywhere(v, mark.Sensitive):
		detail = "An instance key in the address cannot be sensitive, because plans show it."
	case !v.IsKnown() && im.s.f.w.o.Validate:
		return addr.NoKey, true
	case !v.IsKnown():
		detail = "An instance key in the address must be known during plan."
	}
	var key addr.Key
	if detail == "" { // KeyOf reads no marked values
		var ok bool
		if key, ok = addr.KeyOf(v); !ok {
			detail = "An instance key in the address must be a string or a whole number."
		}
	}
	if detail != "" {
		im.s.Error(im.s.WithValues(diag.Errorf("Import block 'to' address contains an invalid key", "%s", detail).At(e.Range()), e, im.s.Ctx))
		return addr.NoKey, false
	}
	return key, true
}
