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

// checker has the state of one call of Check.
type checker struct {
	p   *program.Program
	bag *diag.Bag
	ok  bool
}

func (c *checker) error(d diag.Diagnostic) {
	c.bag.Add(d)
	c.ok = false
}

// ignored compares the names in ignore_changes with the schemas. It reports an error for names that do not exist. It
// warns about computed attributes, which the configuration never changes, and about write-only arguments, which have no
// stored value to compare with.
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
		whole, split := named(rest, ty)
		switch {
		case split && a == nil:
			at := t[:len(t)-len(rest)+len(whole)]
			c.bag.Add(diag.Warningf("Invalid index", "This key has no effect, because %[1]s has no named elements. Lethe ignores all changes of %[1]s. Remove the key.", mark.PathString(expr.Path(at))).At(t.SourceRange()))
		case diags.HasErrors():
			c.ok = c.bag.HCL(diags) && c.ok
		case a != nil && len(rest) == 0 && a.Computed && !a.Optional:
			c.bag.Add(diag.Warningf("Redundant ignore_changes element", "The provider alone decides the attribute %s, so ignore_changes has no effect on it. Remove the attribute from ignore_changes.", name).At(t.SourceRange()))
		case sch.IsWriteOnly(expr.Path(t)):
			c.bag.Add(diag.Warningf("Redundant ignore_changes element", "The argument %s is write-only: its value is not stored, so there is no change to ignore. Remove it from ignore_changes.", mark.PathString(expr.Path(t))).At(t.SourceRange()))
		}
	}
}

// named shortens a path that has a string key into a list or into a primitive value, because these have no named
// elements. As in Terraform, the shortened path then ignores changes of the whole list or value. If it has not
// shortened the path, named returns false.
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
