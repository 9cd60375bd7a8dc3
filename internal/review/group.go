package review

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diff"
	"github.com/lethe-iac/lethe/internal/plan"
)

// group sets the field Group of changes: equal changes of one resource get the same group. A change without an equal
// change gets no group.
func group(list []*Change) {
	of := map[addr.Resource]int{}
	for _, c := range list {
		of[c.Object.Resource()]++
	}
	first := map[[sha256.Size]byte]*Change{}
	for _, c := range list {
		if of[c.Object.Resource()] == 1 || !groupable(c.Change) {
			continue
		}
		n := c.Content()
		c.saved = n
		key := c.key(n)
		f := first[key]
		switch {
		case f == nil:
			first[key] = c
			continue
		case f.Group == nil:
			f.Group = &Group{Resource: f.Object.Resource(), Members: []*Change{f}, Opaque: n.HasOpaque()}
		}
		c.Group, c.saved = f.Group, nil
		f.Group.Members = append(f.Group.Members, c)
	}
}

// groupable reports whether the action, the reasons and the content describe a change completely, so that equal changes
// may be grouped.
func groupable(c *plan.Change) bool {
	return c.Importing == nil && !Moved(c) && !c.Object.IsDeposed() && c.Action != plan.NoOp
}

func (c *Change) key(n *diff.Node) [sha256.Size]byte {
	reasons, _ := json.Marshal(c.Reasons) // ignore the error, because a struct of texts can always be encoded
	key, _ := json.Marshal([]string{c.Object.Resource().String(), c.Action.String(), c.FirstFor, string(reasons)})
	return sha256.Sum256(n.AppendKey(key))
}
