package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/experiment"
	"github.com/zclconf/go-cty/cty"
)

var terraformSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "required_version"}, {Name: "experiments"}, {Name: "language"}},
	Blocks: []hcl.BlockHeaderSchema{
		{Type: "backend", LabelNames: []string{"type"}},
		{Type: "cloud"},
		{Type: "state_store", LabelNames: []string{"type"}},
		{Type: "required_providers"},
		{Type: "provider_meta", LabelNames: []string{"provider"}},
		{Type: "encryption"},
	},
}

// terraform reads one terraform block, except for required_version (see version.go). done is true for a block in an
// override file. A state_store block is an error if its experiment is not permitted.
func (l *loader) terraform(b *hcl.Block, done bool) {
	c, ok := l.rd.content(b.Body, terraformSchema)
	l.mod.unreadable = l.mod.unreadable || !ok
	checkEdition(l.rd, c.Attributes["language"])
	checkExperiments(l.rd, c.Attributes["experiments"])
	for _, inner := range c.Blocks {
		switch inner.Type {
		case "backend":
			l.backend(inner, inner.Labels[0], done)
		case "state_store":
			if l.rd.opts.Experiments.Has(experiment.StateStore) {
				l.backend(inner, inner.Labels[0], done)
			} else {
				l.rd.error(place(inner), "Unsupported block type", "Blocks of type %q are an experiment. To permit them, %s.", inner.Type, experiment.Advice(experiment.StateStore))
			}
		case "cloud":
			l.backend(inner, "cloud", done)
		case "required_providers":
			if done || l.first("required_providers", place(inner), "Duplicate required providers configuration", "A module may have only one required_providers block, and another is at %s. Merge the two blocks.") {
				l.required.add(inner.Body)
			}
		case "provider_meta":
			l.providerMeta(inner, done)
		case "encryption":
			l.encryption(inner, done)
		}
	}
}

// checkEdition reports an error if the language edition a is not supported. Only one edition exists so far. If a is
// nil, the module names no edition, and checkEdition reports nothing.
func checkEdition(rd *reader, a *hcl.Attribute) {
	if a == nil {
		return
	}
	switch kw := word(a.Expr); {
	case kw == "":
		rd.error(a.Expr.Range(), "Invalid language edition", "A language edition is written as a bare word, such as TF2021. There is only one edition: remove the %q argument.", a.Name)
	case kw != "TF2021" && !strings.HasPrefix(kw, "tofu2024"):
		rd.error(a.Expr.Range(), "Unsupported language edition", "The language edition %s is not supported. Remove the %q argument.", kw, a.Name)
	}
}

// checkExperiments checks that the argument is a list of words. It warns if the list is not empty, because a module
// cannot enable experiments of Lethe.
func checkExperiments(rd *reader, a *hcl.Attribute) {
	if a == nil {
		return
	}
	list, ds := hcl.ExprList(a.Expr)
	if ds.HasErrors() {
		rd.error(a.Expr.Range(), "Invalid experiments value", "The names of experiments are written as a list of bare words, in brackets.")
		return
	}
	for _, e := range list {
		if word(e) == "" {
			rd.error(e.Range(), "Invalid experiment keyword", "The name of an experiment is a bare word, without quotes.")
			return
		}
	}
	if len(list) > 0 {
		rd.warn(a.NameRange, "Experiments without effect", "A module cannot enable experiments of Lethe, so this argument has no effect. The module may not work if it needs an experiment of Terraform. Remove the argument.")
	}
}

// backend reads a backend, cloud or state_store block. A module may have only one of them. done is true for a block in
// an override file, which replaces the earlier block.
func (l *loader) backend(b *hcl.Block, typ string, done bool) {
	if done {
		if !l.first("backend in "+b.DefRange.Filename, place(b), "Duplicate backend configuration", "Each override file may have only one backend configuration, and another is at %s. Remove one of them.") {
			return
		}
		if before := l.mod.Stored(); before != nil {
			l.mod.Overridden = append(l.mod.Overridden, before)
		}
	} else if first := l.mod.Stored(); first != nil {
		l.secondBackend(b, first)
		return
	}
	l.mod.Backend, l.mod.Cloud = nil, nil
	back := &Backend{Type: typ, Store: b.Type == "state_store", Body: b.Body, Range: place(b)}
	if typ == "cloud" && b.Type == "cloud" {
		l.mod.Cloud = back
	} else {
		l.mod.Backend = back
	}
}

func (l *loader) secondBackend(b *hcl.Block, first *Backend) {
	cloud := b.Type == "cloud"
	switch {
	case cloud != (l.mod.Cloud != nil):
		l.rd.again(place(b), first.Range, "Both a backend and cloud configuration are present", "A module may declare either one 'cloud' block or one 'backend' block, and the other block is at %s. Remove one of them.", first.Range)
	case cloud:
		l.rd.again(place(b), first.Range, "Duplicate HCP Terraform configurations", "A module may have only one 'cloud' block, and another is at %s. Remove one of them.", first.Range)
	default:
		l.rd.again(place(b), first.Range, "Duplicate backend configuration", "A module may have only one backend configuration, and another is at %s. Remove one of them.", first.Range)
	}
}

func (l *loader) providerMeta(b *hcl.Block, done bool) {
	local := b.Labels[0]
	if !done && !l.first("provider_meta", place(b), "Duplicate provider_meta block", "A provider_meta block for provider %q was already declared at %s. Merge the two blocks.", local) {
		return
	}
	if !l.rd.localName(local, b.LabelRanges[0]) {
		return
	}
	if body, ok := onlyConstants(l.rd, b.Body); ok {
		l.mod.Meta[local] = &Meta{Body: body, Range: place(b)}
	}
}

// onlyConstants evaluates the arguments of a body, and returns a body in native syntax with their values. An argument
// that is not constant, or a block, is an error: onlyConstants then reports it and returns false.
func onlyConstants(rd *reader, b hcl.Body) (*hclsyntax.Body, bool) {
	attrs, ds := b.JustAttributes()
	ok := rd.hcl(ds)
	out := &hclsyntax.Body{Attributes: hclsyntax.Attributes{}, EndRange: b.MissingItemRange()}
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		a := attrs[name]
		v, constant := rd.constant(a.Expr)
		ok = constant && ok
		out.Attributes[name] = &hclsyntax.Attribute{
			Name: name, Expr: &hclsyntax.LiteralValueExpr{Val: v, SrcRange: a.Expr.Range()}, SrcRange: a.Range, NameRange: a.NameRange,
		}
	}
	return out, ok
}

func (l *loader) encryption(b *hcl.Block, done bool) {
	if !done && !l.first("encryption", place(b), "Duplicate encryption configuration", "A module may have only one encryption block, and another is at %s. Merge the two blocks.") {
		return
	}
	if l.mod.Encryption == nil {
		l.mod.Encryption = b.Body
	} else {
		l.mod.Encryption = override(l.mod.Encryption, b.Body)
	}
}

var languageSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "edition"}, {Name: "experiments"}},
	Blocks:     []hcl.BlockHeaderSchema{{Type: "compatible_with"}},
}

// language reads a language block, except for compatible_with (see version.go).
func (l *loader) language(b *hcl.Block) {
	c, _ := l.rd.content(b.Body, languageSchema)
	checkEdition(l.rd, c.Attributes["edition"])
	checkExperiments(l.rd, c.Attributes["experiments"])
}

// Constant is a constant in a backend block: a value that refers to nothing.
type Constant struct {
	Path  cty.Path
	Range diag.Range
	Null  bool
}

// Constants returns the constants in the arguments of a backend block and in their attributes. It returns only
// constants for whose path wanted returns true.
func (b *Backend) Constants(wanted func(cty.Path) bool) (found []Constant) {
	var look func(path cty.Path, x hcl.Expression)
	look = func(path cty.Path, x hcl.Expression) {
		if wanted(path) {
			if len(x.Variables()) == 0 {
				v, ds := x.Value(nil)
				found = append(found, Constant{path, x.Range(), !ds.HasErrors() && v.IsNull()})
			}
			return
		}
		members, _ := hcl.ExprMap(x)
		for _, m := range members {
			if name, _ := m.Key.Value(nil); name.Type() == cty.String && name.IsKnown() && !name.IsNull() {
				look(path.Copy().GetAttr(name.AsString()), m.Value)
			}
		}
	}
	attrs, _ := b.Body.JustAttributes() // ignore the errors: mistakes are reported when the block is read
	for name, a := range attrs {
		look(cty.GetAttrPath(name), a.Expr)
	}
	return found
}
