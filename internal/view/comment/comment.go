// Package comment writes a reviewed plan as Markdown, for a comment on a pull request.
//
// Text from outside (names, values, messages) cannot act as Markdown or HTML. It is written only in code spans and in
// fences (code blocks), whose delimiters are longer than every run of backticks in the text. All HTML elements have
// constant texts. If the comment is too long, blocks (such as one change) in the middle are left out. The most
// dangerous changes are at the beginning, and outputs and leases (ephemeral resources) at the end.
//
// comment.go has the sections, cut.go shortens the comment, span.go writes code spans and fences, draft.go has the blocks.
package comment

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/review"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/view/actionview"
	"github.com/lethe-iac/lethe/internal/view/printable"
)

// Write writes the comment of a reviewed plan. It returns the error of w.
func Write(w io.Writer, r *review.Review, o Options) error {
	d := &draft{r: r, o: o}
	if d.o.Scrub == nil {
		d.o.Scrub = func(s string) string { return s }
	}
	d.head()
	d.dangers()
	d.rest()
	d.outputs()
	d.outside("Changed outside, and this plan depends on it", r.Drift)
	d.outside("Other changes outside", r.Rest)
	d.notes()
	_, err := io.WriteString(w, d.within(o.Max))
	return err
}

func (d *draft) head() {
	pl := d.r.Plan
	kind := map[plan.Mode]string{plan.Destroy: "Plan to destroy everything", plan.RefreshOnly: "Refresh-only plan"}[pl.Mode]
	if pl.Requested() {
		kind = "Plan to invoke an action"
	}
	d.begin("", "")
	text := fmt.Sprintf("## %s: %s\n", cmp.Or(kind, "Plan"), d.r.Counts.Text())
	if pl.Workspace != "" && pl.Workspace != "default" {
		text += "\nWorkspace " + d.span(pl.Workspace) + "\n"
	}
	switch {
	case pl.Errored:
		text += "\n**Planning failed.** The plan is incomplete and cannot be applied.\n"
	case pl.Requested():
		text += "\n**The plan invokes one action**, because of `-invoke`. It changes no object.\n"
	case pl.Partial():
		text += "\n**The plan covers only a part of the objects**, because of `-target`, `-exclude` or `-changed`.\n"
	}
	if len(d.r.Changes)+len(d.r.Drift)+len(d.r.Outputs)+len(pl.Invocations) == 0 {
		text += "\nNo changes.\n"
	}
	d.add(text, "", 0)
}

// verbs are the words for the actions of changes.
var verbs = map[plan.Action]string{
	plan.Create: "create", plan.Read: "read", plan.Update: "update", plan.DeleteCreate: "replace", plan.CreateDelete: "replace, create first",
	plan.ForgetCreate: "replace, forget the old one", plan.Delete: "destroy", plan.Forget: "forget", plan.NoOp: "no action",
}

// dangers lists all destroyed and replaced objects, before the section with the content of the changes.
func (d *draft) dangers() {
	list := review.Dangers(d.r.Changes)
	if len(list) == 0 {
		return
	}
	d.begin("\n### Destroyed or replaced\n\n", "")
	for _, c := range list {
		text := fmt.Sprintf("- **%s** %s", verbs[c.Action], d.span(c.Address))
		for _, fact := range d.facts(c) {
			text += "\n  - " + fact
		}
		d.add(text+"\n", "", 1)
	}
	d.folded("Differences of these objects")
	for _, c := range list {
		if c.Leads() {
			d.add("\n"+d.title(c)+"\n"+d.members(c), d.content(c), 0)
		}
	}
}

func (d *draft) rest() {
	var list []*review.Change
	for _, c := range d.r.Changes {
		if c.Risk() != review.High {
			list = append(list, c)
		}
	}
	if len(list) > 0 {
		d.folded("Other changes")
		d.changes(list)
	}
}

// changes adds a block for each change or group.
func (d *draft) changes(list []*review.Change) {
	for _, c := range list {
		if !c.Leads() {
			continue
		}
		n := 1
		if c.Group != nil {
			n = len(c.Group.Members)
		}
		d.add(fmt.Sprintf("\n**%s** %s\n%s%s", verbs[c.Action], d.title(c), d.factList(c), d.members(c)), d.content(c), n)
	}
}

// title returns the address of the changed object. If c represents a group of equal changes, it returns the address of
// the resource and the number of the changes.
func (d *draft) title(c *review.Change) string {
	if c.Group == nil {
		return d.span(c.Address)
	}
	text := fmt.Sprintf("%s: %s equal changes", d.span(c.Group.Resource.String()), printable.Grouped(len(c.Group.Members)))
	if c.Group.Opaque {
		text += ", sensitive values not compared"
	}
	return text
}

// members lists the objects of a group. It returns "" for a change that is not a group.
func (d *draft) members(c *review.Change) string {
	if c.Group == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nObjects:\n\n")
	for _, m := range c.Group.Members {
		b.WriteString("- " + d.span(m.Address) + "\n")
	}
	return b.String()
}

func (d *draft) factList(c *review.Change) string {
	text := ""
	for _, fact := range d.facts(c) {
		text += "- " + fact + "\n"
	}
	if text != "" {
		text = "\n" + text
	}
	return text
}

// facts returns the reasons of a change, and other facts about it, as Markdown.
func (d *draft) facts(c *review.Change) []string {
	var out []string
	for _, r := range c.Reasons {
		out = append(out, d.span(r.String()))
	}
	if c.Moved() {
		out = append(out, "moved from "+d.span(c.Was.String()))
	}
	if c.Importing != nil {
		out = append(out, "import: "+d.span(view.Imported(c.Importing)))
	}
	if len(c.Relevant) > 0 {
		out = append(out, "other changes depend on "+d.span(strings.Join(c.Relevant, ", ")))
	}
	return out
}

func (d *draft) contentOptions() view.ContentOptions { return view.ContentFor(d.o.Scrub, d.o.Full) }

// content returns the lines of the differences of a change.
func (d *draft) content(c *review.Change) string {
	o := d.contentOptions()
	o.Bare, o.All = c.Group != nil, c.Importing != nil
	var b bytes.Buffer
	view.Content(&b, c.Content(), o)
	return b.String()
}

func (d *draft) outputs() {
	if len(d.r.Outputs) == 0 {
		return
	}
	d.ending("Outputs")
	for _, out := range d.r.Outputs {
		var b bytes.Buffer
		view.OutputContent(&b, out.Name, out.Content, d.contentOptions())
		d.add("", b.String(), 0)
	}
}

func (d *draft) outside(title string, list []*review.Change) {
	if len(list) == 0 {
		return
	}
	d.ending(title)
	for _, c := range list {
		d.add(fmt.Sprintf("\n**%s** %s\n%s", view.Outside(c.Change), d.span(c.Address), d.factList(c)), d.content(c), 1)
	}
}

// notes lists deferred changes, checks and leases.
func (d *draft) notes() {
	var deferred []string
	for _, c := range d.r.Plan.Deferred {
		deferred = append(deferred, d.span(c.Subject())+": "+d.span(view.DeferralText(c)))
	}
	d.list("Actions to be invoked", actionview.Texts(d.r.Plan.Invocations, d.span))
	d.list("Decided in a later round", deferred)
	d.list("Actions that later rounds may invoke", actionview.Texts(d.r.Plan.LaterInvocations, d.span))
	d.list("Checks", view.CheckTexts(d.r.Checks, d.span, d.span))
	d.list("Leases at apply", view.LeaseTexts(d.r.Plan.Leases, d.span))
}

// list adds a folded section with a list. The items are Markdown.
func (d *draft) list(title string, items []string) {
	if len(items) == 0 {
		return
	}
	d.ending(title)
	for i, item := range items {
		d.add([...]string{"\n", ""}[min(i, 1)]+"- "+item+"\n", "", 0)
	}
}
