package planning

import (
	"slices"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/zclconf/go-cty/cty"
)

// decisions are the changes that have been planned so far.
type decisions struct {
	mu         sync.Mutex
	list       []*plan.Change
	byResource map[addr.AbsResource][]*plan.Change // the changes except NoOp changes and changes of deposed objects, for replace_triggered_by
}

// record adds a change.
func (x *decisions) record(c *plan.Change) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.list = append(x.list, c)
	if c.Action != plan.NoOp && !c.Object.IsDeposed() {
		if x.byResource == nil {
			x.byResource = map[addr.AbsResource][]*plan.Change{}
		}
		x.byResource[c.Object.Abs()] = append(x.byResource[c.Object.Abs()], c)
	}
}

// ends reports whether the plan destroys or forgets an object without creating it again.
func (x *decisions) ends(o addr.Object) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.ContainsFunc(x.byResource[o.Abs()], func(c *plan.Change) bool {
		return c.Object == o && (c.Action == plan.Delete || c.Action == plan.Forget)
	})
}

// replaces reports whether the plan replaces an object of a resource, in any module instance.
func (x *decisions) replaces(r addr.Resource) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.ContainsFunc(x.list, func(c *plan.Change) bool { return c.Action.Replaces() && c.Object.Resource() == r })
}

// triggered reports whether a change of this plan affects the value to which t, a reference in replace_triggered_by,
// refers.
func (x *decisions) triggered(t frame.Trigger) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.byResource[t.Resource] {
		if !t.All && c.Object.Key != t.Key {
			continue
		}
		if changesAt(c, t.Path) {
			return true
		}
	}
	return false
}

// changesAt reports whether the change c affects the value at path, or the sensitive marks of this value. Examples for
// replace_triggered_by = [x.a.tags["k"]]:
//   - the key is in neither map, before and after: no change;
//   - the key is in one of the two maps: a change;
//   - the map will be known after apply: a change.
//
// If path is empty, an update or replacement of the object counts. An object that is only created or destroyed has no
// earlier or no later value to compare, so it triggers nothing.
func changesAt(c *plan.Change, path cty.Path) bool {
	if c.Action != plan.Update && !c.Action.Replaces() || len(path) == 0 {
		return c.Action == plan.Update || c.Action.Replaces()
	}
	before, err1 := path.Apply(c.Before.Raw)
	after, err2 := path.Apply(c.After.Raw)
	if err1 != nil || err2 != nil { // the object has no value at path before or after the change
		return (err1 == nil) != (err2 == nil)
	}
	return !before.RawEquals(after) || !slices.Equal(sensitiveAt(c.Before, path), sensitiveAt(c.After, path))
}

// sensitiveAt returns the sensitive paths in the value at path, sorted. If the whole value is sensitive, it returns
// only "".
func sensitiveAt(v mark.Value, path cty.Path) []string {
	var out []string
	for _, p := range v.PathsOf(mark.Sensitive) {
		switch {
		case path.HasPrefix(p):
			return []string{""}
		case p.HasPrefix(path):
			out = append(out, mark.PathString(p))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
