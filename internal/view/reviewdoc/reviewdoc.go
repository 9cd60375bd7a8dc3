// Package reviewdoc writes a reviewed plan as JSON, for programs that show plans themselves.
//
// The format has its own version. Minor versions add fields. The document contains no sensitive value. A part of the
// kind "sensitive" has no value, and does not show whether the value changes.
package reviewdoc

import (
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/diff"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/review"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/view/actionview"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
)

// Format is the version of the form of the document, which its member format_version contains.
const Format = "1.0"

type document struct {
	Format    string                    `json:"format_version"`
	Mode      string                    `json:"mode"`
	Workspace string                    `json:"workspace"`
	Timestamp string                    `json:"timestamp"`
	Applyable bool                      `json:"applyable"`
	Complete  bool                      `json:"complete"`
	Errored   bool                      `json:"errored"`
	Partial   bool                      `json:"partial"`
	Counts    review.Counts             `json:"counts"`
	Changes   iter.Seq[change]          `json:"changes,omitempty"`
	Groups    []group                   `json:"groups,omitempty"`
	Drift     iter.Seq[change]          `json:"relevant_drift,omitempty"`
	Rest      iter.Seq[change]          `json:"other_drift,omitempty"`
	Outputs   iter.Seq2[string, output] `json:"outputs,omitempty"`
	Actions   iter.Seq[invocation]      `json:"actions,omitempty"`
	Deferred  []string                  `json:"deferred,omitempty"`
	Later     iter.Seq[invocation]      `json:"later_actions,omitempty"`
	Checks    iter.Seq[check]           `json:"checks,omitempty"`
	Leases    iter.Seq[lease]           `json:"leases,omitempty"`
}

type change struct {
	Address  string   `json:"address"`
	Previous string   `json:"previous_address,omitempty"`
	Module   string   `json:"module_address,omitempty"`
	Mode     string   `json:"mode"`
	Type     string   `json:"type"`
	Name     string   `json:"name"`
	Deposed  string   `json:"deposed,omitempty"`
	Provider string   `json:"provider_name"`
	Action   string   `json:"action"`
	Risk     string   `json:"risk"`
	Reasons  []reason `json:"reasons,omitempty"`
	Import   string   `json:"import,omitempty"`
	Group    *int     `json:"group,omitempty"` // the index of its group of equal changes in groups; absent without a group
	Relevant []string `json:"relevant_attributes,omitempty"`
	Content  *part    `json:"content,omitempty"` // the differences; in a group of equal changes, only the first change has them
}

type reason struct {
	Kind      plan.Reason `json:"reason,omitempty"`
	Text      string      `json:"text"`
	Attribute string      `json:"attribute,omitempty"`
	Chains    [][]string  `json:"chains,omitempty"`
}

type group struct {
	Resource  string   `json:"resource"`
	Addresses []string `json:"addresses"`
	Sensitive bool     `json:"sensitive_values_not_compared"`
}

type output struct {
	Sensitive bool  `json:"sensitive"`
	Content   *part `json:"content"`
}

type check struct {
	Address  string   `json:"address"`
	Kind     string   `json:"kind"`
	Status   string   `json:"status"`
	Problems []string `json:"problems,omitempty"`
}

// invocation is an invocation of an action in the document.
type invocation struct {
	Address string `json:"address"`
	actionview.PlanTriggers
}

func invocationOf(i *plan.Invocation) invocation {
	return invocation{i.Action.String(), actionview.PlanTriggersOf(i)}
}

type lease struct {
	Address string   `json:"address"`
	Users   []string `json:"users"`
}

// Write writes the document of a reviewed plan, and returns the error of w. It applies scrub, which masks secrets, to
// strings. scrub may be nil. hosts completes addresses of providers.
func Write(w io.Writer, r *review.Review, hosts jsondoc.Hosts, scrub func(string) string) error {
	p := r.Plan
	doc := document{
		Format: Format, Mode: p.Mode.String(), Workspace: p.Workspace, Timestamp: p.Timestamp.UTC().Format("2006-01-02T15:04:05Z"),
		Applyable: p.Applyable(), Complete: p.Complete, Errored: p.Errored, Partial: p.Partial(), Counts: r.Counts,
		Outputs: jsondoc.EachNamed(r.Outputs, func(o *review.Output) (string, output) {
			return o.Name, output{o.Sensitive, &part{o.Content}}
		}),
		Checks: jsondoc.Each(r.Checks, checkOf),
		Leases: jsondoc.Each(p.Leases, func(l plan.Lease) lease { return lease{l.Addr, l.Receivers} }),
	}
	doc.Actions, doc.Later = jsondoc.Each(p.Invocations, invocationOf), jsondoc.Each(p.LaterInvocations, invocationOf)
	groups := map[*review.Group]int{}
	for _, c := range r.Changes {
		if g := c.Group; g != nil && c.Leads() {
			groups[g] = len(doc.Groups)
			out := group{Resource: g.Resource.String(), Sensitive: g.Opaque}
			for _, m := range g.Members {
				out.Addresses = append(out.Addresses, m.Address)
			}
			doc.Groups = append(doc.Groups, out)
		}
	}
	of := func(c *review.Change) change { return changeOf(c, groups, hosts) }
	doc.Changes, doc.Drift, doc.Rest = jsondoc.Each(r.Changes, of), jsondoc.Each(r.Drift, of), jsondoc.Each(r.Rest, of)
	for _, c := range p.Deferred {
		doc.Deferred = append(doc.Deferred, c.Subject())
	}
	return jsondoc.WriteScrubbed(w, doc, jsondoc.OneLine, scrub)
}

func changeOf(c *review.Change, groups map[*review.Group]int, hosts jsondoc.Hosts) change {
	out := change{
		Address: c.Address, Module: c.Module(), Mode: c.Object.Mode.String(), Type: c.Object.Type, Name: c.Object.Name, Deposed: c.Object.Deposed,
		Provider: hosts.Of(c.Provider()), Action: c.Action.String(), Risk: c.Risk().String(), Relevant: c.Relevant,
	}
	for _, r := range c.Reasons {
		out.Reasons = append(out.Reasons, reason(r))
	}
	if c.Moved() {
		out.Previous = c.Was.String()
	}
	if c.Importing != nil {
		out.Import = view.Imported(c.Importing)
	}
	if c.Group != nil {
		out.Group = new(groups[c.Group])
	}
	if c.Leads() {
		out.Content = &part{c.Content()}
	}
	return out
}

func checkOf(c state.Check) check {
	out := check{Address: c.Addr, Kind: c.Kind, Status: c.Status.String()}
	for _, o := range c.Objects {
		out.Problems = append(out.Problems, o.Failures...)
	}
	return out
}

// part is a comparison of values, or of a part of them.
type part struct{ *diff.Node }

// WriteJSON writes the comparison. It omits equal parts, except in added and removed values.
func (p part) WriteJSON(w *jsontext.Writer) {
	w.Open('{')
	p.members(w, "")
	w.Close('}')
}

var kinds = [...]string{
	diff.ScalarNode: "value", diff.TextNode: "text", diff.JSONNode: "json", diff.SensitiveNode: "sensitive", diff.WriteOnlyNode: "write-only",
	diff.UnknownNode: "unknown", diff.RetypedNode: "retyped", diff.SequenceNode: "sequence", diff.DictNode: "object",
}

var ops = [...]string{diff.Same: "same", diff.Add: "add", diff.Update: "update", diff.Remove: "remove", diff.Opaque: "not-compared"}

func (p part) members(w *jsontext.Writer, name string) {
	n := p.Node
	text := func(key, s string) {
		w.Key(key)
		w.Text(s)
	}
	if name != "" {
		text("name", name)
	}
	text("kind", kinds[n.Kind])
	text("op", ops[n.Op])
	if n.Label != "" {
		text("label", n.Label)
	}
	if n.Forces {
		w.KeyTrue("forces_replacement")
	}
	switch n.Kind {
	case diff.ScalarNode, diff.TextNode:
		side(w, "before", n.Before)
		side(w, "after", n.After)
	case diff.RetypedNode, diff.UnknownNode, diff.JSONNode:
		inside(w, "old", n.Old)
		inside(w, "new", n.New)
	}
	p.parts(w)
}

func side(w *jsontext.Writer, key string, v *diff.Value) {
	if v == nil {
		return
	}
	w.Key(key)
	switch v.Kind {
	case diff.NullValue, diff.UnknownValue:
		w.Word("null")
	case diff.BoolValue:
		w.Word(v.Text)
	case diff.NumberValue:
		if strings.HasSuffix(v.Text, "Inf") { // JSON has no infinite numbers
			w.Text(v.Text)
			break
		}
		w.Word(v.Text)
	default:
		w.Text(v.Text)
	}
}

func inside(w *jsontext.Writer, key string, n *diff.Node) {
	if n != nil {
		w.Key(key)
		part{n}.WriteJSON(w)
	}
}

// parts writes the parts of a list or an object, and the nested blocks of a block. If the node is an update, it omits
// unchanged parts.
func (p part) parts(w *jsontext.Writer) {
	n := p.Node
	all := n.Op == diff.Add || n.Op == diff.Remove || n.Op == diff.Same
	write := func(name string, in *diff.Node) {
		if all || in.Op != diff.Same {
			w.Open('{')
			part{in}.members(w, name)
			w.Close('}')
		}
	}
	if len(n.Children) > 0 {
		w.Key("parts")
		w.Open('[')
		for i, k := range n.Children {
			name := ""
			if i < len(n.Names) {
				name = n.Names[i]
			}
			write(name, k)
		}
		w.Close(']')
	}
	if slices.ContainsFunc(n.Groups, func(g diff.Group) bool { return len(g.Blocks) > 0 || g.Unknown != diff.Same }) {
		w.Key("blocks")
		w.Open('[')
		for _, g := range n.Groups {
			if g.Unknown != diff.Same {
				write(g.Name, &diff.Node{Kind: diff.UnknownNode, Op: g.Unknown, Forces: g.Forces})
			}
			for _, b := range g.Blocks {
				write(g.Name, b)
			}
		}
		w.Close(']')
	}
}
