package review

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diff"
	"github.com/lethe-iac/lethe/internal/plan"
)

// Ordered returns a sorted copy of changes, in the order in which Terraform and OpenTofu show them: modules by the
// number of calls around them and then by path; in a module, data sources before managed resources, and then by
// address.
func Ordered(changes []*plan.Change) []*plan.Change {
	out := slices.Clone(changes)
	slices.SortStableFunc(out, func(a, b *plan.Change) int {
		if a.Object.Module != b.Object.Module {
			return cmp.Or(cmp.Compare(a.Object.Module.Depth(), b.Object.Module.Depth()), a.Object.Module.Compare(b.Object.Module))
		}
		return cmp.Or(CompareModes(a.Object.Mode, b.Object.Mode), a.Object.Compare(b.Object))
	})
	return out
}

// CompareModes orders data sources before other modes. It returns a negative number if a comes first, a positive number
// if b comes first, and 0 if the order does not matter.
func CompareModes(a, b addr.Mode) int {
	switch isData := a == addr.Data; {
	case isData == (b == addr.Data):
		return 0
	case isData:
		return -1
	}
	return 1
}

// Shown reports whether a change is shown to users. Data sources are shown if apply reads them, and managed objects if
// they change, move or are imported.
func Shown(c *plan.Change) bool {
	if c.Object.Mode == addr.Data {
		return c.Action == plan.Read
	}
	return c.Action != plan.NoOp || Moved(c) || c.Importing != nil
}

// Moved reports whether the change gives the object another address.
func Moved(c *plan.Change) bool { return c.Was != c.Object && c.Was.Type != "" }

// Cause explains why a data source is read during apply, or why an object is no longer wanted. It returns "" for all
// other reasons.
func Cause(c *plan.Change) string {
	switch c.Why {
	case plan.ReadConfigUnknown:
		return "config refers to values not yet known"
	case plan.ReadDependencyPending:
		return "depends on a resource or a module with changes pending"
	case plan.ReadCheckNested:
		return "config will be reloaded to verify a check block"
	case plan.DeleteNoResource:
		return fmt.Sprintf("because %s is not in configuration", c.Object.Abs().Local())
	case plan.DeleteNoMoveTarget:
		return fmt.Sprintf("because %s was moved to %s, which is not in configuration", c.Was, c.Object.Abs())
	case plan.DeleteNoModule:
		return fmt.Sprintf("because %s is not in configuration", c.Object.Module)
	case plan.DeleteWrongRepetition:
		if _, ok := c.Object.Key.Int(); ok {
			return "because resource does not use count"
		}
		if _, ok := c.Object.Key.Str(); ok {
			return "because resource does not use for_each"
		}
		return "because resource uses count or for_each"
	case plan.DeleteCountIndex:
		return fmt.Sprintf("because index %s is out of range for count", c.Object.Key)
	case plan.DeleteEachKey:
		return fmt.Sprintf("because key %s is not in for_each map", c.Object.Key)
	case plan.DeleteDisabled:
		return "because enabled is false in its lifecycle block"
	}
	return ""
}

// Relevance returns the attributes of an object that changes depend on, or nil if no change depends on the object.
func Relevance(list []plan.Relevant, i addr.Instance) *diff.Paths {
	var t *diff.Paths
	for _, r := range list {
		if r.Resource != i.Abs() || !r.Key.IsNone() && r.Key != i.Key {
			continue
		}
		if t == nil {
			t = &diff.Paths{}
		}
		t.Add(r.Path)
	}
	return t
}
