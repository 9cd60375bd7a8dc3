package vet

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// checker is one run of Check.
type checker struct {
	p   *program.Program
	bag *diag.Bag
	ok  bool
}

func (c *checker) error(d diag.Diagnostic) {
	c.bag.Add(d)
	c.ok = false
}

// ignored holds ignore_changes against the schema: what is not there cannot be ignored, what only
// the provider decides is never changed by the configuration, and what is write-only has no value
// that could have changed.
func (c *checker) ignored() {
	seen := map[*program.Def]bool{}
	for _, d := range c.p.Decls() {
		if d.Kind != program.Resource || c.p.Schema(d.ID) == nil {
			continue
		}
		if u := c.p.Def(d.ID); !seen[u] {
			seen[u] = true
			c.ignoredBy(d, c.p.Schema(d.ID))
		}
	}
}

func (c *checker) ignoredBy(d *program.Declaration, sch *schema.Schema) {
	for _, t := range d.Res.Lifecycle.Ignore {
		name, rest, ok := expr.Attribute(t)
		if !ok {
			name, rest = t.RootName(), t[1:]
		}
		var ty cty.Type
		a := sch.Attr(name)
		if nested := sch.Nested(name); a != nil {
			ty = a.Type
		} else if nested != nil {
			ty = nested.Type()
		} else {
			c.error(diag.Errorf("Unsupported attribute", "This object has no argument, nested block, or exported attribute named %q.%s", name, diag.DidYouMean(name, program.AllNames(sch.Block))).At(t.SourceRange()))
			continue
		}
		_, diags := rest.TraverseRel(cty.UnknownVal(ty))
		whole, cut := named(rest, ty)
		switch {
		case cut && a == nil:
			at := t[:len(t)-len(rest)+len(whole)]
			c.bag.Add(diag.Warningf("Invalid index", "This key selects nothing, because %[1]s has no named elements: changes to all of it are ignored.", mark.PathString(expr.Path(at))).At(t.SourceRange()))
		case diags.HasErrors():
			c.ok = c.bag.HCL(diags) && c.ok
		case a != nil && len(rest) == 0 && a.Computed && !a.Optional:
			c.bag.Add(diag.Warningf("Redundant ignore_changes element", "Adding an attribute name to ignore_changes tells Lethe to ignore future changes to the argument in configuration after the object has been created, retaining the value originally configured.\n\nThe attribute %s is decided by the provider alone and therefore there can be no configured value to compare with. Including this attribute in ignore_changes has no effect. Remove the attribute from ignore_changes to quiet this warning.", name).At(t.SourceRange()))
		case sch.IsWriteOnly(expr.Path(t)):
			c.bag.Add(diag.Warningf("Redundant ignore_changes element", "The argument %s is write-only: its value is not kept, so that there is none to compare with, and it is sent again only when another argument, such as its version, says so. Including it in ignore_changes has no effect. Remove it from ignore_changes to quiet this warning.", mark.PathString(expr.Path(t))).At(t.SourceRange()))
		}
	}
}

// named cuts a path where it has a name for an element of what has none: of a list of blocks, or of text in one. That
// stands for the whole of it, as in Terraform.
func named(rest hcl.Traversal, ty cty.Type) (hcl.Traversal, bool) {
	for i, step := range rest {
		v, _ := rest[:i].TraverseRel(cty.UnknownVal(ty))
		index, ok := step.(hcl.TraverseIndex)
		if of := v.Type(); ok && index.Key.Type() == cty.String && (of.IsListType() || of.IsPrimitiveType()) {
			return rest[:i], true
		}
	}
	return rest, false
}
