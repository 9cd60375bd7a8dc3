package review

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diff"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// Review is a plan in the order in which people should read it.
type Review struct {
	Plan    *plan.Plan
	Counts  Counts
	Changes []*Change // the changes of managed objects, and the data sources that apply reads; sorted by Risk, then as Ordered sorts them
	Drift   []*Change // changes made outside that affect the plan
	Rest    []*Change // other changes made outside
	Outputs []*Output // outputs that change, and sensitive outputs
	Checks  []state.Check
}

// Change is a planned change, or a change made outside, with the reasons for it.
type Change struct {
	*plan.Change
	Address  string // unique within Changes, and within Drift and Rest together
	Reasons  []Reason
	Group    *Group   // the group of equal changes; nil if no other change is equal
	Relevant []string // for a change made outside: the attributes on which other changes depend

	x     *Objects
	saved *diff.Node
}

// Output is a root output. The values of a sensitive output are not compared: its Op is diff.Opaque if it exists before
// and after.
type Output struct {
	Name      string
	Sensitive bool
	Content   *diff.Node
}

// Op returns the operation on the output.
func (o *Output) Op() diff.Op { return o.Content.Op }

// Risk tells how much a planned action can damage. It depends only on the action.
type Risk uint8

// The risks, in increasing order.
const (
	Low    Risk = iota // the action creates, reads or only records an object
	Medium             // the action updates or forgets an object
	High               // the action destroys or replaces an object
)

func (r Risk) String() string { return [...]string{"low", "medium", "high"}[r] }

// Risk returns the risk of the change.
func (c *Change) Risk() Risk {
	switch {
	case c.Action == plan.Delete || c.Action.Replaces():
		return High
	case c.Action == plan.Update || c.Action == plan.Forget:
		return Medium
	}
	return Low
}

// urgency orders actions: destroyed objects first, objects without an action last.
var urgency = map[plan.Action]int{
	plan.Delete: 8, plan.DeleteCreate: 7, plan.CreateDelete: 6, plan.ForgetCreate: 5, plan.Forget: 4, plan.Update: 3, plan.Create: 2,
	plan.Read: 1,
}

// Group is a set of equal changes of one resource: the same action for the same reasons, and the same differences.
// Unchanged attributes may differ. Sensitive values are not compared.
type Group struct {
	Resource addr.Resource
	Members  []*Change // the equal changes, in the order of the list that New or Listed has grouped
	Opaque   bool      // the changes have sensitive parts, which were not compared and may differ
}

// Content compares the object before and after the change. Sensitive parts are not compared.
func (c *Change) Content() *diff.Node {
	n := c.saved
	if c.saved = nil; n == nil {
		n = c.x.Diff(c.Change, diff.AllPaths, diff.Differ{Opaque: true})
	}
	return n
}

// Leads reports whether the change is drawn: it is not in a group, or the first of its group.
func (c *Change) Leads() bool { return c.Group == nil || c.Group.Members[0] == c }

// Moved reports whether the address of the object changes.
func (c *Change) Moved() bool { return Moved(c.Change) }

// Module returns the address of the object's module, "" for the root module.
func (c *Change) Module() string { return c.Object.Module.String() }

// Provider returns the provider of the object.
func (c *Change) Provider() addr.Provider { return c.Change.Provider.Provider }

// Reason is one reason for the action of a change.
type Reason struct {
	Kind      plan.Reason // the reason in the plan; "" for a reason that consists only of Text
	Text      string      // a phrase such as "ami forces the replacement"
	Attribute string      // the attribute that forces a replacement, as users write it; "" for other reasons
	// Chains are the names through which the attribute, or replace_triggered_by, gets its value, the nearest first.
	// Names in called modules have the address of the module without instance keys.
	Chains [][]string
}

// String returns the text with the chains, such as "ami forces the replacement (ami ← local.image ← var.image)".
func (r Reason) String() string {
	if len(r.Chains) == 0 {
		return r.Text
	}
	var all []string
	for _, c := range r.Chains {
		all = append(all, strings.Join(c, " ← "))
	}
	return r.Text + " (" + strings.Join(all, "; ") + ")"
}
