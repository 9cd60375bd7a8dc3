package view

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diff"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/review"
	"github.com/lethe-iac/lethe/internal/view/printable"
	"github.com/zclconf/go-cty/cty"
)

// compareInTree orders module instances for the module trees of JSON documents: parents come before their children. It
// orders the instances of one module by the text of their address, so module.m[10] comes before module.m[2].
func compareInTree(a, b addr.ModuleInstance) int {
	if a == b {
		return 0
	}
	order := cmp.Compare(a.Depth(), b.Depth())
	for a.Depth() > b.Depth() {
		a = a.Parent()
	}
	for b.Depth() > a.Depth() {
		b = b.Parent()
	}
	if a == b {
		return order
	}
	for a.Parent() != b.Parent() {
		a, b = a.Parent(), b.Parent()
	}
	return strings.Compare(a.String(), b.String())
}

// group writes a change, or the first change of a group of equal changes and up to 20 addresses of the others.
func (r *renderer) group(c *review.Change, n *diff.Node) {
	if c.Group == nil {
		r.change(c.Change, n, false)
		return
	}
	const named = 20
	rest := c.Group.Members[1:]
	text := fmt.Sprintf("(and %s equal changes:", printable.Grouped(len(rest)))
	if len(rest) == 1 {
		text = "(and one equal change:"
	}
	for i, m := range rest[:min(len(rest), named)] {
		if i > 0 {
			text += ","
		}
		text += " " + EscapeLine(m.Address)
	}
	if len(rest) > named {
		text += fmt.Sprintf(", and %s more", printable.Grouped(len(rest)-named))
	}
	if c.Group.Opaque {
		text += "; sensitive values are not compared"
	}
	r.change(c.Change, n, false, text+")")
}

// change writes a change with its heading and remarks. drift is true for a change that was made outside. The caller has
// escaped the further remarks in more.
func (r *renderer) change(c *plan.Change, n *diff.Node, drift bool, more ...string) {
	forget := c.Action == plan.Forget
	margin := "  "
	if forget {
		margin = " "
	}
	t := title(c, r.o, drift)
	r.WriteString(r.o.paint(margin+"# "+t.bold, bold) + t.text + r.o.paint(t.loud, bold, red) + t.rest + "\n")
	for _, remark := range append(remarks(c, r.o, drift), more...) {
		r.WriteString(margin + "# " + remark + "\n")
	}
	switch action := c.Action; {
	case forget:
		r.WriteString(" . ")
	case drift && action == plan.Delete:
		r.WriteString("  " + r.o.paint("-", red) + " ")
	default:
		r.WriteString(r.o.actionSymbol(action) + " ")
	}
	fmt.Fprintf(r, "%s %s %s {\n", c.Object.Mode.Block(), quote(c.Object.Type), quote(c.Object.Name))
	r.block(n, renderOptions{suffix: true, all: c.Importing != nil})
	r.WriteString("    }\n\n")
}

// actionSymbol returns the symbol of an action, three columns wide.
func (o Options) actionSymbol(a plan.Action) string {
	plus, minus := o.paint("+", green), o.paint("-", red)
	switch a {
	case plan.Create:
		return "  " + plus
	case plan.Read:
		return " " + o.paint("<=", green)
	case plan.Update:
		return "  " + o.paint("~", yellow)
	case plan.DeleteCreate:
		return minus + "/" + plus
	case plan.CreateDelete:
		return plus + "/" + minus
	case plan.Delete:
		return "  " + minus
	case plan.Forget:
		return "  ."
	case plan.ForgetCreate:
		return "./" + plus
	}
	return "   "
}

// heading is the first line above a change. Its parts are printed one after the other: an address (bold), the action,
// the word that users must not overlook, such as "destroyed" (loud), and the rest.
type heading struct{ bold, text, loud, rest string }

// titles describe the actions in words, without the address. title adds it, and the reason if users must know it.
var titles = map[plan.Action]heading{
	plan.Create:       {text: " will be created"},
	plan.Read:         {text: " will be read during apply"},
	plan.Update:       {text: " will be updated in-place"},
	plan.Delete:       {text: " will be ", loud: "destroyed"},
	plan.DeleteCreate: {text: " must be ", loud: "replaced"},
	plan.CreateDelete: {text: " must be ", loud: "replaced"},
	plan.ForgetCreate: {text: " must be ", loud: "replaced"},
}

// title returns the first line above a change. drift is true for a change that was made outside of Lethe.
func title(c *plan.Change, o Options, drift bool) heading {
	name := EscapeLine(c.Object.String())
	h := titles[c.Action]
	still := c.Action == plan.NoOp
	switch {
	case drift && c.Action == plan.Delete:
		h = heading{text: " has been ", loud: "deleted"}
	case still && review.Moved(c) && drift:
		return heading{bold: EscapeLine(c.Was.String()), text: " has moved to " + name}
	case still && review.Moved(c):
		return heading{bold: EscapeLine(c.Was.String()), text: " has moved to " + o.paint(name, bold)}
	case drift:
		h = heading{text: " has changed"}
	case c.Action == plan.Forget:
		h.text = fmt.Sprintf(" will no longer be managed by %s, but will not be destroyed", o.product())
	case still && c.Importing != nil:
		h.text = " will be imported"
	case c.Action.Replaces() && c.Why == plan.ReplaceTainted:
		h.text = " is tainted, so must be "
	case c.Action.Replaces() && c.Why == plan.ReplaceByRequest:
		h.text, h.rest = " will be ", ", as requested"
	case c.Action.Replaces() && c.Why == plan.ReplaceByTriggers:
		h.text, h.rest = " will be ", " due to changes in replace_triggered_by"
	}
	h.bold = name
	return h
}

// Outside returns a word for a change that was made outside of the program: "deleted", "moved" or "changed".
func Outside(c *plan.Change) string {
	switch {
	case c.Action == plan.Delete:
		return "deleted"
	case c.Action == plan.NoOp && review.Moved(c):
		return "moved"
	}
	return "changed"
}

// remarks returns the lines between the title of a change and its content. drift is true for a change that was made
// outside of Lethe.
func remarks(c *plan.Change, o Options, drift bool) []string {
	var out []string
	add := func(when bool, format string, a ...any) {
		if when {
			out = append(out, EscapeLine(fmt.Sprintf("("+format+")", a...)))
		}
	}
	from := fmt.Sprintf("moved from %s", c.Was)
	if drift {
		add(review.Moved(c) && c.Action != plan.Delete && c.Action != plan.NoOp, "%s", from)
		return out
	}
	still, deposed := c.Action == plan.NoOp, c.Object.IsDeposed()
	why := review.Cause(c)
	add(c.Action == plan.Read && why != "", "%s", why)
	add(deposed && (c.Action == plan.Delete || c.Action == plan.Forget), "left over from a partially-failed replacement of this instance")
	add(!deposed && c.Action == plan.Delete && why != "", "%s", why)
	add(c.Overrides(), "prevent_destroy is set, and -allow-destroy overrides it")
	add(c.Action == plan.Forget && c.SkipDestroy, "destroy = false is set in the configuration")
	add(c.Action == plan.Forget && !c.SkipDestroy, "it was removed from the configuration without a decision whether to destroy it")
	add(c.Action == plan.ForgetCreate, "the existing object is forgotten, not destroyed: destroy = false is set in the configuration")
	add(c.Action == plan.CreateDelete && c.FirstFor != "", "created before the old one is destroyed, because of %s", c.FirstFor)
	add(still && c.Generated != "", "config will be generated")
	add(!still && review.Moved(c), "%s", from)
	if c.Importing == nil {
		return out
	}
	add(!still || review.Moved(c), "%s", Imported(c.Importing))
	if c.Action.Replaces() {
		out = append(out, o.paint("Warning: this will destroy the imported resource", yellow))
	}
	return out
}

// Imported returns a text that describes the object to import: by its ID or its identity.
func Imported(i *plan.Importing) string {
	switch {
	case i.Unknown:
		return "imported from an id that is known after apply"
	case i.ID == "" && i.Identity != cty.NilVal && !i.Identity.IsNull():
		return "imported by identity " + compact(diff.NewUntypedValue(i.Identity, nil))
	}
	return "imported from " + quote(i.ID)
}

// changeCounts has the number of objects for each action of a plan or an apply.
type changeCounts struct {
	Add       int    `json:"add"`
	Change    int    `json:"change"`
	Import    int    `json:"import"`
	Remove    int    `json:"remove"`
	Forget    int    `json:"forget,omitempty"`
	Invoke    int    `json:"action_invocation,omitempty"`
	Operation string `json:"operation"`
}

// count counts the objects of a plan by action. A replacement counts twice: as added, and as removed or forgotten.
func count(p *plan.Plan) changeCounts {
	n := review.Count(p)
	return changeCounts{
		Add: n.Create + n.Replace, Change: n.Update, Import: n.Import, Remove: n.Destroy + n.Replace - n.Renew, Forget: n.Forget + n.Renew,
		Invoke: len(p.Invocations), Operation: "plan",
	}
}

// text returns "1 to import, 2 to add, 3 to change, 4 to destroy, 5 to forget." It omits imports and forgotten objects
// if their number is zero. If the plan invokes actions, their number follows.
func (n changeCounts) text() string {
	s := fmt.Sprintf("%d to add, %d to change, %d to destroy", n.Add, n.Change, n.Remove)
	if n.Import > 0 {
		s = fmt.Sprintf("%d to import, %s", n.Import, s)
	}
	if n.Forget > 0 {
		s += fmt.Sprintf(", %d to forget", n.Forget)
	}
	if n.Invoke > 0 {
		s += fmt.Sprintf(". Actions: %d to invoke", n.Invoke)
	}
	return s + "."
}

// compact returns a value as text on one line. Null is "null", and an unknown value is "(known after apply)". It omits
// null attributes of objects.
func compact(v *diff.Value) string {
	var parts []string
	switch {
	case v.IsAbsent():
		return "null"
	case v.Kind == diff.UnknownValue:
		return "(known after apply)"
	case v.Kind == diff.StringValue:
		return quote(v.Text)
	case v.IsSequence():
		for _, e := range v.Elements {
			parts = append(parts, compact(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case v.IsDict():
		for i, e := range v.Elements {
			if !e.IsAbsent() {
				parts = append(parts, diff.AttributeName(v.Names[i])+" = "+compact(e))
			}
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	}
	return v.Text
}
