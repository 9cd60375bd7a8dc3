package vet

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// writeOnlyOutputs reports an error for each root output that selects a write-only attribute, directly or through
// locals and outputs of modules, unless the output is sensitive. The stored value of such an attribute is null, but the
// reference shows that the output is meant to have a secret. An output of a whole object with such an attribute is
// allowed.
func (c *checker) writeOnlyOutputs() {
	direct := c.selectWriteOnly()
	if len(direct) == 0 {
		return
	}
	reaches := func(d program.Decl) bool {
		return madeFrom(c.p, d, func(at *program.Declaration) (found, through bool) {
			value := at.Kind == program.Local || at.Kind == program.Output || at.Kind == program.Variable
			return direct[at.ID] && value, value
		}, func(ref program.Ref) bool { return ref.Use&program.ByValue != 0 }) != nil
	}
	root := c.p.Root()
	for _, name := range slices.Sorted(maps.Keys(root.Unit.Module.Outputs)) {
		o := root.Unit.Module.Outputs[name]
		i, _ := root.Unit.Index(program.Output, name)
		if o.Sensitive || !reaches(root.Decl(i)) {
			continue
		}
		c.error(diag.Errorf("An output referencing a sensitive value needs to be marked with sensitive too", "This output refers to a write-only attribute, so it must be sensitive. Add this argument:\n    sensitive = true").At(o.Range))
	}
}

// selectWriteOnly returns the declarations whose text selects a write-only attribute of a resource.
func (c *checker) selectWriteOnly() map[program.Decl]bool {
	direct := map[program.Decl]bool{}
	for n := range c.p.Nodes() {
		for i := range n.Unit.Paths {
			s := &n.Unit.Paths[i]
			sch := c.p.Schema(n.Decl(s.Target.Local))
			if s.From >= 0 && sch != nil && sch.IsWriteOnly(expr.Path(s.Rest)) {
				direct[n.Decl(s.From)] = true
			}
		}
	}
	return direct
}
