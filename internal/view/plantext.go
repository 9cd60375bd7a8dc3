package view

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diff"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/review"
)

// PlanText writes a whole plan for people, as `show` prints a saved plan.
func PlanText(w io.Writer, p *plan.Plan, s provider.Lookup, o Options) {
	newPlanText(w, p, s, o).write()
}

// planText writes a plan piece by piece, so that a large plan needs no memory for its text.
type planText struct {
	*objects
	w *bufio.Writer
	o Options
	p *plan.Plan
}

func newPlanText(w io.Writer, p *plan.Plan, s provider.Lookup, o Options) *planText {
	return &planText{w: bufio.NewWriterSize(w, 32<<10), o: o, p: p, objects: newObjects(s)} // a larger buffer than the default, because the text of a change has a few hundred bytes
}

// printf prints sentences without colours, and wraps them if the terminal is narrow. The method print does not wrap.
func (t *planText) printf(format string, a ...any) {
	t.w.WriteString(t.o.fit(fmt.Sprintf(format, a...)))
}

func (t *planText) print(format string, a ...any) { fmt.Fprintf(t.w, format, a...) }

// rule returns the line that separates sections.
func (o Options) rule() string {
	n := 77
	if o.Width > 0 {
		n = min(n, o.Width-1)
	}
	return o.paint(strings.Repeat("─", n), dim)
}

func (t *planText) write() {
	defer t.w.Flush()
	changes := review.Listed(t.p, t.Objects, t.o.Fold)
	outputs := changedOutputs(t.p)
	drifted := t.drift()
	switch {
	case len(changes) > 0 || len(outputs) > 0 || len(t.p.Deferred) > 0 || t.p.Requested() && !t.p.Errored:
		if drifted {
			t.print("\n%s\n", t.o.rule())
		}
		t.requested()
		t.changes(changes)
		t.deferred()
		t.outputs(outputs, len(changes) == 0)
	case t.p.Errored:
		t.print("\n%s %s encountered an error while generating this plan.\n\n", t.o.paint("Planning failed.", bold, red), t.o.product())
	case drifted && t.p.Mode != plan.Destroy:
	default:
		t.nothing()
	}
}

// nothing prints that no change is needed.
func (t *planText) nothing() {
	name := t.o.product()
	title, text := "Your infrastructure matches the configuration.", name+" has compared your real infrastructure against your configuration\nand found no differences, so no changes are needed."
	switch t.p.Mode {
	case plan.Destroy:
		title, text = "No objects need to be destroyed.", "Either you have not created any objects yet or the existing objects were\nalready deleted outside of "+name+"."
	case plan.RefreshOnly:
		title, text = "Your infrastructure still matches the configuration.", name+" has checked that the real remote objects still match the result of\nyour most recent changes, and found no differences."
	}
	t.print("\n%s%s\n\n", t.o.paint("No changes.", bold, green), t.o.paint(" "+title, bold))
	t.printf("%s\n", text)
}

// changes writes the list of actions.
func (t *planText) changes(changes []*review.Change) {
	if len(changes) == 0 {
		return
	}
	t.legend(changes)
	if t.p.Errored {
		t.printf("\n%s planned the following actions, but then encountered a problem:\n\n", t.o.product())
	} else {
		t.printf("\n%s will perform the following actions:\n\n", t.o.product())
	}
	for _, c := range changes {
		if c.Leads() {
			r := renderer{Writer: t.w, o: t.o, bare: c.Group != nil}
			r.group(c, t.Diff(c.Change, diff.AllPaths, t.o.differ()))
			t.invocations(c)
		}
	}
	t.dangers(changes)
	t.print("%s %s\n", t.o.paint("Plan:", bold), count(t.p).text())
	t.leases()
}

// requested lists the actions that -invoke requests. It prints nothing if the plan has no such request.
func (t *planText) requested() {
	if !t.p.Requested() {
		return
	}
	t.printf("\n%s will invoke the following action(s):\n\n", t.o.product())
	for _, i := range t.p.Invocations {
		t.invocation(i)
		t.print("\n")
	}
	t.print("%s %s\n", t.o.paint("Plan:", bold), count(t.p).text())
	t.leases()
}

// dangers lists the destroyed and replaced objects a second time, because users easily overlook them.
func (t *planText) dangers(changes []*review.Change) {
	n, title := review.Count(t.p), ""
	if n.Destroy > 0 {
		title = fmt.Sprintf("%d to destroy", n.Destroy)
	}
	if n.Replace > 0 {
		title = strings.TrimPrefix(fmt.Sprintf("%s, %d to replace", title, n.Replace), ", ")
	}
	if title == "" {
		return
	}
	t.print("%s %s.\n", t.o.paint("Destroyed or replaced:", bold), title)
	for _, c := range review.Dangers(changes) {
		t.print("%s %s", t.o.actionSymbol(c.Action), t.o.paint(EscapeLine(c.Address), bold))
		for i, r := range c.Reasons {
			t.print("%s%s", [...]string{": ", "; "}[min(i, 1)], EscapeLine(r.Text))
		}
		t.print("\n")
	}
}

// leases lists the leases that the apply will open, with their users.
func (t *planText) leases() {
	if len(t.p.Leases) == 0 {
		return
	}
	t.print("\nLeases at apply:\n")
	for _, l := range t.p.Leases {
		t.print("  %s for %s\n", EscapeLine(l.Addr), EscapeLine(strings.Join(l.Receivers, ", ")))
	}
}

// legend explains the symbols that the changes use.
func (t *planText) legend(changes []*review.Change) {
	used := map[plan.Action]bool{}
	for _, c := range changes {
		used[c.Action] = c.Action != plan.NoOp
	}
	lines := ""
	for _, l := range []struct {
		action plan.Action
		text   string
	}{
		{plan.Create, "create"}, {plan.Update, "update in-place"}, {plan.Delete, "destroy"},
		{plan.DeleteCreate, "destroy and then create replacement"}, {plan.CreateDelete, "create replacement and then destroy"},
		{plan.ForgetCreate, "forget and then create replacement"}, {plan.Forget, "forget, without destroying"}, {plan.Read, "read (data resources)"},
	} {
		if used[l.action] {
			lines += t.o.actionSymbol(l.action) + " " + l.text + "\n"
		}
	}
	if lines != "" {
		t.printf("\n%s used the selected providers to generate the following execution\nplan. Resource actions are indicated with the following symbols:\n", t.o.product())
		t.print("%s", lines)
	}
}

// deferred lists the changes that can only be planned after this plan is applied.
func (t *planText) deferred() {
	if len(t.p.Deferred) == 0 {
		return
	}
	t.printf("\n%s will decide about these resources in a later round:\n\n", t.o.product())
	for _, c := range review.Ordered(t.p.Deferred) {
		t.print("  # %s %s\n", t.o.paint(EscapeLine(c.Subject()), bold), EscapeLine(DeferralText(c)))
		for _, i := range t.p.LaterInvocations {
			if i.Trigger.Object == c.Object && i.Deferral.Pattern == c.Deferral.Pattern {
				t.print("      then %s may be invoked (%s)\n", t.o.paint(EscapeLine(i.Action.String()), bold), i.Trigger.Event)
			}
		}
	}
}

// DeferralText returns the text after the address of a deferred change: the event after which the change is decided, or
// that the object remains unchanged in this round, and a reason if one is known.
func DeferralText(c *plan.Change) string {
	d := c.Deferral
	why := map[plan.Reason]string{plan.ReplaceByTriggers: "; then it is replaced (replace_triggered_by)", plan.ReplaceByRequest: "; then it is replaced (-replace)"}[c.Why]
	switch {
	case d.Reason == plan.InstanceCountUnknown && d.Pattern == "":
		return "stays in this round, because its keys are not known yet" + why
	case d.Reason == plan.DeferredPrereq && (c.Action == plan.Delete || c.Action == plan.Forget):
		return "stays in this round, because other objects may depend on it"
	case d.Reason == plan.InstanceCountUnknown, d.Reason == plan.DeferredPrereq, d.Reason == plan.ResourceConfigUnknown && len(d.After) > 0:
	case d.Reason == plan.ProviderConfigUnknown:
		why = " (its provider needs the values)"
	default:
		why = " (its provider deferred it: " + d.Reason + ")"
	}
	switch n := len(d.After); {
	case n == 0:
		return "is decided in a later round" + why
	case n == 1 && strings.Contains("."+d.After[0], ".data."):
		return "is decided after " + d.After[0] + " is read" + why
	case n == 1:
		return "is decided after " + d.After[0] + " exists" + why
	case n > 3:
		return fmt.Sprintf("is decided after %s and %d more exist", strings.Join(d.After[:3], ", "), n-3) + why
	}
	return "is decided after " + strings.Join(d.After[:len(d.After)-1], ", ") + " and " + d.After[len(d.After)-1] + " exist" + why
}

// outputs writes the changes of root outputs. If the plan has no other changes (alone), it explains the use of an
// apply.
func (t *planText) outputs(outs []*plan.OutputChange, alone bool) {
	if len(outs) == 0 {
		return
	}
	t.print("\nChanges to Outputs:\n")
	d := &diff.Differ{ShowSensitive: t.o.ShowSensitive}
	n := &diff.Node{Kind: diff.DictNode, Nested: true}
	for _, o := range t.p.Outputs {
		n.Width = max(n.Width, utf8.RuneCountInString(diff.AttributeName(o.Name)))
	}
	for _, o := range outs {
		n.Names = append(n.Names, diff.AttributeName(o.Name))
		n.Children = append(n.Children, outputNode(d, o))
	}
	r := renderer{Writer: t.w, o: t.o}
	r.parts(n, renderOptions{depth: -1, suffix: true})
	if alone && !t.p.Errored {
		t.printf("\nYou can apply this plan to save these new output values to the %s\nstate, without changing any real infrastructure.\n", t.o.product())
	}
}

// outputNode compares an output with its former value. If only its sensitivity changes, the values count as equal.
func outputNode(d *diff.Differ, o *plan.OutputChange) *diff.Node {
	b, a := diff.NewUntypedValue(o.Before.Raw, diff.SensitivePaths(o.Before)), diff.NewUntypedValue(o.After.Raw, diff.SensitivePaths(o.After))
	if o.Sensitive {
		b, a = secretly(b), secretly(a)
	}
	if o.Action == plan.Create || b.IsAbsent() && o.Action != plan.Delete {
		b = nil
	}
	if o.Action == plan.Delete {
		a = nil
	}
	return d.Value(nil, b, a, nil, diff.AllPaths)
}

func secretly(v *diff.Value) *diff.Value {
	if v != nil {
		v.Sensitive = true
	}
	return v
}

// changedOutputs returns the outputs whose value changes.
func changedOutputs(p *plan.Plan) []*plan.OutputChange {
	var out []*plan.OutputChange
	for _, o := range p.Outputs {
		if o.Action != plan.NoOp && outputNode(&diff.Differ{ShowSensitive: true}, o).Op != diff.Same {
			out = append(out, o)
		}
	}
	return out
}

// drift writes the changes that were made outside of the program. For a refresh-only plan it writes all of them.
// Otherwise it writes the changed attributes that a planned change depends on, and in a destroy plan also the missing
// objects. It reports whether it wrote any.
func (t *planText) drift() bool {
	any := false
	for _, c := range review.Ordered(t.p.Drift) {
		relevant := diff.AllPaths
		if t.p.Mode != plan.RefreshOnly && !(t.p.Mode == plan.Destroy && c.Action == plan.Delete) {
			if relevant = review.Relevance(t.p.Relevant, c.Object.Instance); relevant == nil {
				continue
			}
		}
		n := t.Diff(c, relevant, t.o.differ())
		if n.Op == diff.Same && !(review.Moved(c) && t.p.Mode == plan.RefreshOnly) {
			continue
		}
		if !any {
			t.driftTitle()
			any = true
		}
		r := renderer{Writer: t.w, o: t.o}
		r.change(c, n, true)
	}
	if any {
		t.driftEnd()
	}
	return any
}

func (t *planText) driftTitle() {
	name := t.o.product()
	t.print("\n%s Objects have changed outside of %s\n\n", t.o.paint("Note:", bold, green), name)
	t.printf("%s detected the following changes made outside of %s since the\nlast %q which may have affected this plan:\n\n", name, name, t.o.command()+" apply")
}

func (t *planText) driftEnd() {
	name := t.o.product()
	if t.p.Requested() {
		t.printf("\nIf you apply this plan, %s also records the updated values in the state.\n", name)
		return
	}
	if t.p.Mode == plan.RefreshOnly {
		t.printf("\nThis is a refresh-only plan, so %s will not take any actions to undo\nthese. If you were expecting these changes then you can apply this plan to\nrecord the updated values in the %s state without changing any remote\nobjects.\n", name, name)
		return
	}
	t.printf("\nUnless you have made equivalent changes to your configuration, or ignored the\nrelevant attributes using ignore_changes, the following plan may include\nactions to undo or respond to these changes.\n")
}

// differ returns the settings for comparisons in texts.
func (o Options) differ() diff.Differ { return diff.Differ{ShowSensitive: o.ShowSensitive} }

// invocations lists the actions that a change invokes. For a group, it lists the actions of all its members.
func (t *planText) invocations(c *review.Change) {
	if len(t.p.Invocations) == 0 {
		return
	}
	if c.Group == nil {
		t.invocationsOf(c.Object)
		return
	}
	for _, m := range c.Group.Members {
		t.invocationsOf(m.Object)
	}
}

func (t *planText) invocationsOf(of addr.Object) {
	for _, before := range []bool{true, false} {
		title := false
		for _, i := range t.p.Invocations {
			if i.Trigger.Object != of || i.Trigger.Event.Precedes() != before {
				continue
			}
			if when := map[bool]string{true: "before", false: "after"}[before]; !title {
				t.print("    Actions to be invoked %s this change in order:\n", when)
				title = true
			}
			t.invocation(i)
		}
		if title {
			t.print("\n")
		}
	}
}

// invocation writes the invocation of one action.
func (t *planText) invocation(i *plan.Invocation) {
	f := t.Form(i.Provider.Provider, i.Action)
	d := t.o.differ()
	r := renderer{Writer: t.w, o: t.o, plain: true}
	when := fmt.Sprintf("(%s)", i.Trigger.Event)
	if i.Trigger.Requested() {
		when = "will be invoked"
		if i.Trigger.Object != (addr.Object{}) {
			when += EscapeLine(fmt.Sprintf(" (called from %s)", i.Trigger.Object))
		}
	}
	t.print("    # %s %s\n    action %s %s {\n", t.o.paint(EscapeLine(i.Action.String()), bold), when, quote(i.Action.Type), quote(i.Action.Name))
	if v := d.Object(f, i.Config); v != nil {
		t.print("        config {\n")
		r.block(d.Block(f, v, v, nil, diff.AllPaths), renderOptions{depth: 2, all: true})
		t.print("        }\n")
	}
	t.print("    }\n")
}
