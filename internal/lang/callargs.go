package lang

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

// checkCalls holds the arguments of every call against the variables of the module it calls.
func checkCalls(p *Program, bag *diag.Bag) bool {
	ok := true
	for _, d := range p.Decls() {
		if d.Kind != Call {
			continue
		}
		n := p.NodeOf(d.ID)
		call := n.unit.decls[d.ID-n.base]
		if child := n.children[call.nth]; child != nil {
			ok = checkArguments(call, child, bag) && ok
		}
	}
	return ok
}

func checkArguments(call *decl, child *node, bag *diag.Bag) bool {
	ok := true
	vars := child.unit.mod.Variables
	var meant []string
	for _, a := range call.args {
		v := vars[a.name]
		switch {
		case v == nil && child.unit.mod.MayDeclare(a.name):
			ok = false
		case v == nil:
			ok = false
			metas, _ := config.CallMetaNames()
			near := diag.SuggestAmong(a.name, slices.Concat(slices.Collect(maps.Keys(vars)), metas))
			bag.Add(diag.Errorf("Unsupported argument", "An argument named %q is not expected here.%s", a.name, diag.Meant(near)).At(a.nameAt))
			meant = append(meant, near)
		case v.Deprecated != "" && !hushed(child, child.parent):
			bag.Add(diag.Warningf("Deprecated variable used", "The variable %q of this module is deprecated: %s", a.name, v.Deprecated).At(a.nameAt).See("declared here", v.Range))
		}
	}
	for name, v := range vars {
		if call.args[name] == nil && !hasDefault(v) && !slices.Contains(meant, name) {
			ok = false
			if child.unit.mod.Spoilt(v.Range) {
				continue // it may have a default
			}
			bag.Add(diag.Errorf("Missing required argument", "The argument %q is required, but no definition was found.", name).At(call.at).See("declared here", v.Range))
		}
	}
	return ok
}
