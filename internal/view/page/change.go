package page

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/review"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/view/printable"
)

// verb describes an action on the page: its symbol, its name for CSS classes and filters, and its text for readers.
type verb struct{ symbol, name, text string }

var verbs = map[plan.Action]verb{
	plan.Create: {"+", "create", "create"}, plan.Read: {"<=", "read", "read"}, plan.Update: {"~", "update", "update"},
	plan.DeleteCreate: {"-/+", "replace", "replace"}, plan.CreateDelete: {"+/-", "replace", "replace, create first"},
	plan.ForgetCreate: {"./+", "replace", "replace, forget the old one"}, plan.Delete: {"-", "destroy", "destroy"},
	plan.Forget: {".", "forget", "forget"}, plan.NoOp: {" ", "none", "no action"},
}

func action(c *review.Change) verb { return verbs[c.Action] }

// changes writes the changes of a list that are drawn: the first change of each group, and the changes without a group.
// prefix makes their ids differ from the ids of other lists. open is true if their content is unfolded at first.
func (p *page) changes(list []*review.Change, prefix string, open bool) {
	for _, c := range list {
		if c.Leads() {
			p.change(c, prefix, open)
		}
	}
}

func (p *page) change(c *review.Change, prefix string, open bool) {
	v := action(c)
	if prefix != "" {
		v.text = view.Outside(c.Change) + " outside"
	}
	members, modules := []*review.Change{c}, []string{p.text(c.Module())}
	if c.Group != nil {
		members = c.Group.Members
		for _, m := range members {
			if name := p.text(m.Module()); !slices.Contains(modules, name) {
				modules = append(modules, name)
			}
		}
	}
	id := ""
	if c.Group == nil {
		id = fmt.Sprintf(" id=\"%s\"", p.text(prefix+c.Address))
	}
	fmt.Fprintf(p, "<details class=\"change %s\"%s data-action=\"%s\" data-module=\"%s\" data-type=\"%s\" data-provider=\"%s\" data-count=\"%d\"",
		v.name, id, v.name, strings.Join(modules, "\n"), p.text(c.Object.Type), p.text(c.Provider().ForDisplay()), len(members))
	if open {
		p.WriteString(" open")
	}
	fmt.Fprintf(p, ">\n<summary><span class=\"act\">%s %s</span> ", html.EscapeString(v.symbol), v.text)
	if c.Group == nil {
		p.WriteString(p.code(c.Address))
	} else {
		fmt.Fprintf(p, "%s: %s equal changes", p.code(c.Group.Resource.String()), printable.Grouped(len(members)))
	}
	inHead := c.Risk() == review.High && prefix == ""
	if inHead {
		p.dangers(c)
	}
	p.WriteString("</summary>\n")
	p.reasons(c, inHead)
	if c.Group == nil {
		fmt.Fprintf(p, "<p class=\"meta permalink\"><a href=\"%s\">Link to this change</a></p>\n", p.fragment(prefix+c.Address))
	} else {
		p.members(c.Group, prefix)
	}
	p.buf.Reset()
	o := p.content()
	o.Bare = c.Group != nil
	o.All = c.Importing != nil
	view.Content(&p.buf, c.Content(), o)
	if p.buf.Len() > 0 {
		p.WriteString("<pre>")
		p.lines(p.buf.Bytes())
		p.WriteString("</pre>\n")
	}
	p.WriteString("</details>\n")
}

// dangers writes the reasons of a dangerous change into its summary line, so that readers see them while the change is
// folded.
func (p *page) dangers(c *review.Change) {
	for i, r := range c.Reasons {
		fmt.Fprintf(p, "%s <span class=\"why\">%s</span>", [...]string{":", ";"}[min(i, 1)], p.text(r.String()))
	}
}

// reasons writes the other facts about a change, and its reasons unless inHead is true: then its summary line has them.
func (p *page) reasons(c *review.Change, inHead bool) {
	var items []string
	for _, r := range c.Reasons {
		if !inHead {
			items = append(items, fmt.Sprintf("<span class=\"why\">%s</span>", p.text(r.String())))
		}
	}
	if c.Moved() {
		items = append(items, "moved from "+p.code(c.Was.String()))
	}
	if c.Importing != nil {
		items = append(items, p.text(view.Imported(c.Importing)))
	}
	if len(c.Relevant) > 0 {
		items = append(items, "other changes depend on "+p.text(strings.Join(c.Relevant, ", ")))
	}
	if len(items) > 0 {
		p.WriteString("<ul><li>" + strings.Join(items, "</li><li>") + "</li></ul>\n")
	}
}

// members lists the objects of a group of equal changes. Each object has a permanent link.
func (p *page) members(g *review.Group, prefix string) {
	if g.Opaque {
		p.WriteString("<p class=\"meta\">Sensitive values are not compared.</p>\n")
	}
	p.WriteString("<ul class=\"members\">")
	for _, m := range g.Members {
		fmt.Fprintf(p, "<li id=\"%s\"><a href=\"%s\">%s</a></li>", p.text(prefix+m.Address), p.fragment(prefix+m.Address), p.code(m.Address))
	}
	p.WriteString("</ul>\n")
}
