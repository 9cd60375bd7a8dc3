package engine

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang"
)

// runChecks evaluates the assertions of check blocks. Whatever fails in there is a warning.
func (r *run) runChecks() {
	for _, d := range r.prog.Decls() {
		if d.Kind != lang.Check {
			continue
		}
		frames, _ := r.frame.Instances(d.Module, lang.After, &diag.Bag{})
		for _, f := range frames {
			r.runCheck(d, f)
		}
	}
}

func (r *run) runCheck(d *lang.Declaration, f *lang.Frame) {
	address := join(d.Module.String(), "check."+d.Name)
	object := join(f.Addr().String(), "check."+d.Name)
	var b diag.Bag
	results := f.Conditions(d.ID, addr.NoKey, lang.Assert, lang.After, nil, &b)
	r.warn(&b)
	r.checks.report("check", address, object, results)
}

// runValidations checks what variables must satisfy, in every module instance.
func (r *run) runValidations() bool {
	ok := true
	for _, d := range r.prog.Decls() {
		if d.Kind != lang.Variable || len(d.Var.Validations) == 0 {
			continue
		}
		frames, _ := r.frame.Instances(d.Module, lang.After, &diag.Bag{})
		for _, f := range frames {
			results := f.Conditions(d.ID, addr.NoKey, lang.Validation, lang.After, nil, r.bag)
			r.checks.report("var", join(d.Module.String(), "var."+d.Name), join(f.Addr().String(), "var."+d.Name), results)
			ok = ok && holds(results)
		}
	}
	return ok
}

func join(module, rest string) string {
	if module == "" {
		return rest
	}
	return module + "." + rest
}
