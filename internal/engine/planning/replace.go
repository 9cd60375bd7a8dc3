package planning

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

// checkMoved refuses a selection that leaves out objects which have moved. Where an object is now
// has to be planned with the objects around it, and a plan of the rest would keep it at an address
// that the configuration does not know, or move it without showing that.
func (p *planner) checkMoved() bool {
	left := map[string]bool{}
	for to := range p.moved.Origins {
		if !p.sel.Includes(to.Instance) && !p.req.Quiet {
			left[to.Abs().String()] = true
		}
	}
	if len(left) == 0 {
		return true
	}
	flag, way, each := "target", "or add the following additional target options:", "\n  -target=%q"
	if len(p.req.Excludes) > 0 {
		flag, way, each = "exclude", "or leave none of these out:", "\n  %s"
	}
	text := ""
	for _, a := range slices.Sorted(maps.Keys(left)) {
		text += fmt.Sprintf(each, a)
	}
	p.run.Bag.Add(diag.Errorf("Moved resource instances excluded by targeting", "Resource instances in your current state have moved to new addresses in the latest configuration. Lethe must include those resource instances while planning in order to ensure a correct result, but your -%s=... options do not fully cover all of those resource instances.\n\nTo create a valid plan, either remove your -%s=... options altogether %s%s\n\nNote that this may include further resource instances in your plan, in order to respect object dependencies.", flag, flag, way, text))
	return false
}

// checkReplace refuses -replace for what cannot be replaced.
func checkReplace(list []addr.Instance, bag *diag.Bag) bool {
	ok := true
	for _, i := range list {
		if i.Mode != addr.Managed {
			bag.Add(diag.Errorf("Invalid force-replace address", "Only managed resources can be used with the -replace option, and %s is not one.", i))
			ok = false
		}
	}
	return ok
}
