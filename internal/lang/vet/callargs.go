package vet

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// checkCalls compares the arguments of every module call with the variables of the called module. If it reports an
// error, it returns false.
func checkCalls(p *program.Program, bag *diag.Bag) bool {
	ok := true
	for _, d := range p.Decls() {
		if d.Kind != program.Call {
			continue
		}
		n := p.NodeOf(d.ID)
		call := n.Unit.Defs[d.ID-n.Base]
		if child := n.Children[call.Nth]; child != nil {
			ok = checkArguments(call, child, bag) && ok
		}
	}
	return ok
}

func checkArguments(call *program.Def, child *program.Node, bag *diag.Bag) bool {
	ok := true
	vars := child.Unit.Module.Variables
	var meant []string
	for _, a := range call.Inputs.Args {
		v := vars[a.Name]
		switch {
		case v == nil && child.Unit.Module.Unreadable():
			ok = false
		case v == nil:
			ok = false
			metas, _ := config.CallMetaNames()
			near := diag.SuggestAmong(a.Name, slices.Concat(slices.Collect(maps.Keys(vars)), metas))
			bag.Add(diag.Errorf("Unsupported argument", "An argument named %q is not expected here.%s", a.Name, diag.Meant(near)).At(a.NameAt))
			meant = append(meant, near)
		case v.Deprecated != "" && !silenced(child, child.Parent):
			bag.Add(diag.Warningf("Deprecated variable used", "The variable %q of this module is deprecated: %s", a.Name, v.Deprecated).At(a.NameAt).See("declared here", v.Range))
		}
	}
	for name, v := range vars {
		if call.Inputs.Args[name] == nil && !program.HasDefault(v) && !slices.Contains(meant, name) {
			ok = false
			if child.Unit.Module.Broken(v.Range) {
				continue // the block of the variable has errors, so its default may be missing only because of them
			}
			bag.Add(diag.Errorf("Missing required argument", "The argument %q is required, but no definition was found.", name).At(call.At).See("declared here", v.Range))
		}
	}
	return ok
}
