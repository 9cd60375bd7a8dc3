package review

import (
	"fmt"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/plan"
)

// Counts are the numbers of objects by action. An object that is replaced counts as one replacement, and not as a
// creation or a destruction. Data sources count only as read. An imported or moved object counts in Import or Move, and
// in addition by its action.
type Counts struct {
	Create  int `json:"create"`
	Update  int `json:"update"`
	Replace int `json:"replace"`
	Destroy int `json:"destroy"`
	Forget  int `json:"forget"`
	Read    int `json:"read"`
	Import  int `json:"import"`
	Move    int `json:"move"`
	// Renew is the number of replacements whose old object is forgotten instead of destroyed. Replace includes them.
	Renew  int `json:"replace_forgetting"`
	Invoke int `json:"invoke,omitempty"` // invocations of actions
}

// Count counts the objects of a plan by action.
func Count(p *plan.Plan) Counts {
	n := Counts{Invoke: len(p.Invocations)}
	for _, c := range p.Changes {
		n.add(c)
	}
	return n
}

func (n *Counts) add(c *plan.Change) {
	if c.Importing != nil {
		n.Import++
	}
	if Moved(c) {
		n.Move++
	}
	switch {
	case c.Object.Mode == addr.Data:
		if c.Action == plan.Read {
			n.Read++
		}
	case c.Action == plan.Create:
		n.Create++
	case c.Action == plan.Update:
		n.Update++
	case c.Action == plan.Delete:
		n.Destroy++
	case c.Action == plan.Forget:
		n.Forget++
	case c.Action.Replaces():
		n.Replace++
		if c.Action == plan.ForgetCreate {
			n.Renew++
		}
	}
}

// Text returns "3 to add, 1 to change, 2 to replace, 1 to destroy". It appends the numbers of other actions if they are
// not zero.
func (n Counts) Text() string {
	parts := []string{
		fmt.Sprintf("%d to add", n.Create), fmt.Sprintf("%d to change", n.Update), fmt.Sprintf("%d to replace", n.Replace),
		fmt.Sprintf("%d to destroy", n.Destroy),
	}
	for _, more := range []struct {
		n    int
		text string
	}{{n.Forget, "to forget"}, {n.Import, "to import"}, {n.Move, "to move"}, {n.Read, "to read"}, {n.Invoke, "to invoke"}} {
		if more.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", more.n, more.text))
		}
	}
	return strings.Join(parts, ", ")
}
