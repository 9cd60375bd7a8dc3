package lang

import (
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Import is one object that an import block wants.
type Import struct {
	To       addr.Instance
	ID       string
	Identity cty.Value // NilVal where there is an ID
	Unknown  bool      // id or identity depend on what is not known yet
	Provider *config.ProviderRef
	Block    *config.Import
	Range    diag.Range
}

// importBlock is a compiled import block.
type importBlock struct {
	cfg          *config.Import
	id, identity hclsyntax.Expression
	forEach      hclsyntax.Expression
	steps        []importStep
	d            *decl // carries for_each and the references
}

// importStep is one step of the address, with the expression of its key.
type importStep struct {
	key hclsyntax.Expression
}

func (c *compiler) importBlock(im *config.Import) {
	d := &decl{kind: Resource, name: im.Resource.Name, at: im.Range, res: &config.Resource{Name: config.Name{Mode: im.Resource.Mode, Type: im.Resource.Type, Name: im.Resource.Name}}}
	d.repeat.ForEach = im.ForEach
	c.d = d
	pl := place{each: im.ForEach != nil}
	out := &importBlock{cfg: im, d: d}
	out.forEach = c.in(ByImport, place{}).optional(im.ForEach)
	d.rep = out.forEach
	out.id = c.in(ByImport, pl).optional(im.ID)
	out.identity = c.in(ByImport, pl).optional(im.Identity)
	out.steps = c.importSteps(native(im.To), pl)
	c.u.imports = append(c.u.imports, out)
}

// importSteps collects the keys in an address, from left to right: one for each module step and
// the resource itself; nil where there is none.
func (c *compiler) importSteps(e hclsyntax.Expression, pl place) []importStep {
	r := c.in(ByImport, pl)
	switch e := e.(type) {
	case *hclsyntax.TemplateExpr:
		if v, ok := constant(fold(e, e.Parts...)); ok && v.Type() == cty.String {
			inner, diags := hclsyntax.ParseExpression([]byte(v.AsString()), e.SrcRange.Filename, e.SrcRange.Start)
			if diags.HasErrors() {
				c.hcl(diags)
				return nil
			}
			return c.importSteps(inner, pl)
		}
	case *hclsyntax.TemplateWrapExpr:
		return c.importSteps(e.Wrapped, pl)
	case *hclsyntax.ScopeTraversalExpr:
		return keysOfTraversal(nil, e.Traversal)
	case *hclsyntax.IndexExpr:
		steps := c.importSteps(e.Collection, pl)
		return append(steps, importStep{r.node(e.Key)})
	case *hclsyntax.RelativeTraversalExpr:
		return keysOfTraversal(c.importSteps(e.Source, pl), e.Traversal)
	}
	c.error("Invalid import address", "The \"to\" argument must be the address of a resource instance; its instance keys may be expressions.", e.Range())
	return nil
}

// keysOfTraversal collects constant keys.
func keysOfTraversal(steps []importStep, t hcl.Traversal) []importStep {
	for _, s := range t {
		if ix, ok := s.(hcl.TraverseIndex); ok {
			steps = append(steps, importStep{&hclsyntax.LiteralValueExpr{Val: ix.Key, SrcRange: ix.SrcRange}})
		}
	}
	return steps
}

// Imports gives the imports into a resource, of all its instances, as the import blocks of the
// frame's module say. They are evaluated once; anything broken is in the bag.
func (f *Frame) Imports(d Decl, bag *diag.Bag) ([]Import, Outcome) {
	target := f.w.p.decls[d].Resource
	var out []Import
	outcome := OK
	for i, b := range f.u.imports {
		if b.target(f.n.cfg.Path) != target {
			continue
		}
		got := f.importsOf(i, b)
		bag.Add(got.diags...)
		out = append(out, got.list...)
		outcome = max(outcome, got.outcome)
	}
	return out, outcome
}

// AllImports gives all imports, also those into resources that have no configuration.
func (f *Frame) AllImports(bag *diag.Bag) ([]Import, Outcome) {
	var out []Import
	outcome := OK
	for i, b := range f.u.imports {
		got := f.importsOf(i, b)
		bag.Add(got.diags...)
		out = append(out, got.list...)
		outcome = max(outcome, got.outcome)
	}
	return out, outcome
}

// UndeclaredImports are the import blocks into resources that nothing declares, by resource.
func (p *Program) UndeclaredImports() map[addr.Resource]*config.Import {
	out := map[addr.Resource]*config.Import{}
	for m, n := range p.nodes {
		for _, b := range n.unit.imports {
			to := b.target(m)
			if _, declared := p.resources[to]; !declared && !p.mayHave(to) {
				out[to] = b.cfg
			}
		}
	}
	return out
}

// mayHave reports whether a resource that is not declared may be, where a module could not be read.
func (p *Program) mayHave(r addr.Resource) bool {
	if n := p.nodes[r.Module]; n != nil {
		return n.unit.mod.MayDeclare(r.Type) && n.unit.mod.MayDeclare(r.Name)
	}
	m := r.Module // up to the call that leads to what was not read
	for p.nodes[m.Parent()] == nil {
		m = m.Parent()
	}
	parent := p.nodes[m.Parent()].unit.mod
	return parent.Calls[m.Name()] != nil || parent.MayDeclare(m.Name())
}

// target is the resource that an import block names, seen from the module that has the block.
func (b *importBlock) target(m addr.Module) addr.Resource {
	r := b.cfg.Resource
	r.Module = m.Join(r.Module)
	return r
}

// imported is an evaluated import block.
type imported struct {
	once    sync.Once
	list    []Import
	diags   []diag.Diagnostic
	outcome Outcome
}

func (f *Frame) importsOf(i int, b *importBlock) *imported {
	got := &f.imports[i]
	got.once.Do(func() {
		var bag diag.Bag
		got.list, got.outcome = f.evalImports(b, &bag)
		got.diags = bag.List()
	})
	return got
}

func (f *Frame) evalImports(b *importBlock, bag *diag.Bag) ([]Import, Outcome) {
	if b.forEach == nil {
		im, o := f.importOne(b, addr.NoKey, nil, bag)
		if o != OK {
			return nil, o
		}
		return []Import{im}, OK
	}
	s := f.scope(After, bag)
	rep := s.repeat(b.d)
	outcome := s.outcome()
	s.release()
	var out []Import
	for _, k := range rep.List {
		im, o := f.importOne(b, k, rep, bag)
		if o == OK {
			out = append(out, im)
		}
		outcome = max(outcome, o)
	}
	return out, outcome
}

func (f *Frame) importOne(b *importBlock, k addr.Key, rep *repeated, bag *diag.Bag) (Import, Outcome) {
	s := f.scope(After, bag).of(b.d, k)
	defer s.release()
	s.each = rep
	out := Import{Provider: b.cfg.Provider, Block: b.cfg, Range: b.cfg.Range}
	to, ok := s.importAddress(b)
	if !ok {
		return out, s.outcome()
	}
	out.To = to
	if b.identity != nil {
		out, _ = s.importIdentity(out, b)
	} else {
		out, _ = s.importID(out, b)
	}
	return out, s.outcome()
}

func (s *scope) importID(out Import, b *importBlock) (Import, bool) {
	const title = "Invalid import id argument"
	v := s.Eval(b.id)
	if s.outcome() != OK {
		return out, false
	}
	fail := func(detail string) (Import, bool) {
		s.Error(s.WithValues(diag.Errorf(title, "%s", detail).At(b.id.Range()), b.id, s.Ctx))
		return out, false
	}
	switch {
	case mark.Anywhere(v, mark.Ephemeral):
		return fail("The import id cannot be ephemeral: it is kept in plan and state." + cameFrom(v))
	case mark.Anywhere(v, mark.Sensitive):
		return fail("The import id cannot be sensitive: it is shown in plans.")
	}
	str, err := convert.Convert(v, cty.String)
	switch {
	case err != nil:
		return fail("The import id value is unsuitable: " + conversionText(err) + ".")
	case !str.IsKnown():
		out.Unknown, out.Range = true, b.id.Range()
		return out, true
	case str.IsNull():
		return fail("The import id cannot be null.")
	case str.AsString() == "":
		return fail("The import id value evaluates to an empty string, please provide a non-empty value.")
	}
	out.ID = str.AsString()
	return out, true
}

func (s *scope) importIdentity(out Import, b *importBlock) (Import, bool) {
	v := s.Eval(b.identity)
	if s.outcome() != OK {
		return out, false
	}
	if marks := mark.Split(v).Marks; len(marks) > 0 {
		m, detail := marks[0], "The import identity cannot be sensitive: it is shown in plans."
		if m.Tag == mark.Ephemeral {
			detail = "The import identity cannot be ephemeral: it is kept in plan and state." + wayOf(m)
		}
		s.Error(diag.Errorf("Invalid import identity argument", "%s", detail).At(insideExpr(b.identity, b.identity.Range(), m.Path)))
		return out, false
	}
	if v.IsNull() {
		s.Error(diag.Errorf("Invalid import identity argument", "The import identity cannot be null.").At(b.identity.Range()))
		return out, false
	}
	out.Identity, out.Unknown = v, !v.IsWhollyKnown()
	return out, true
}

// importAddress evaluates the keys of the address that an import block names.
func (s *scope) importAddress(b *importBlock) (addr.Instance, bool) {
	r := b.cfg.Resource
	keys, ok := s.importKeys(b)
	if !ok {
		return addr.Instance{}, false
	}
	path := r.Module.Path()
	mi := s.f.addr
	next := 0
	t := traversalOf(native(b.cfg.To))
	for i, name := range path {
		key := addr.NoKey
		if next < len(keys) && t.keyedAt(i) {
			key, next = keys[next], next+1
		}
		mi = mi.Child(name, key)
	}
	out := addr.Instance{Module: mi, Mode: r.Mode, Type: r.Type, Name: r.Name}
	if next < len(keys) {
		out.Key = keys[next]
	}
	return out, true
}

func (s *scope) importKeys(b *importBlock) ([]addr.Key, bool) {
	var out []addr.Key
	for _, step := range b.steps {
		v := s.Eval(step.key)
		if s.outcome() != OK {
			return nil, false
		}
		detail := ""
		switch {
		case mark.Anywhere(v, mark.Ephemeral):
			detail = "An instance key in the address must not be ephemeral: it is kept in plan and state." + cameFrom(v)
		case mark.Anywhere(v, mark.Sensitive):
			detail = "An instance key in the address must not be sensitive: it is shown in plans."
		case !v.IsKnown() && s.f.w.o.Validate:
			out = append(out, addr.NoKey)
			continue
		case !v.IsKnown():
			detail = "An instance key in the address must be known while planning."
		}
		key, ok := addr.KeyOf(v)
		if detail == "" && !ok {
			detail = "An instance key in the address must be a string or a whole number."
		}
		if detail != "" {
			s.Error(s.WithValues(diag.Errorf("Import block 'to' address contains an invalid key", "%s", detail).At(step.key.Range()), step.key, s.Ctx))
			return nil, false
		}
		out = append(out, key)
	}
	return out, true
}

// moduleKeys tells after which module steps of an address a key follows.
type moduleKeys []bool

func (m moduleKeys) keyedAt(i int) bool { return i < len(m) && m[i] }

// traversalOf finds the module steps of an address expression that carry keys.
func traversalOf(e hclsyntax.Expression) moduleKeys {
	var out moduleKeys
	inModule := false // the name of a call was just read
	name := false     // the word "module" was just read
	step := func(word string, key bool) {
		switch {
		case key:
			if inModule {
				out[len(out)-1] = true
			}
			inModule = false
		case name:
			out = append(out, false)
			name, inModule = false, true
		default:
			name, inModule = word == "module", false
		}
	}
	walkSteps(e, step)
	return out
}

func walkSteps(e hclsyntax.Expression, step func(string, bool)) {
	traversal := func(t hcl.Traversal) {
		for _, s := range t {
			switch s := s.(type) {
			case hcl.TraverseRoot:
				step(s.Name, false)
			case hcl.TraverseAttr:
				step(s.Name, false)
			case hcl.TraverseIndex:
				step("", true)
			}
		}
	}
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		traversal(e.Traversal)
	case *hclsyntax.IndexExpr:
		walkSteps(e.Collection, step)
		step("", true)
	case *hclsyntax.RelativeTraversalExpr:
		walkSteps(e.Source, step)
		traversal(e.Traversal)
	case *hclsyntax.TemplateWrapExpr:
		walkSteps(e.Wrapped, step)
	case *hclsyntax.TemplateExpr:
		if v, ok := constant(fold(e, e.Parts...)); ok && v.Type() == cty.String {
			if inner, diags := hclsyntax.ParseExpression([]byte(v.AsString()), e.SrcRange.Filename, e.SrcRange.Start); !diags.HasErrors() {
				walkSteps(inner, step)
			}
		}
	}
}
