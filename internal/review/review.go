// Package review turns a plan into a reviewed plan: the model that views draw for people who must approve a plan.
//
// A Review lists the changes by risk, with the reasons of each. It groups equal changes of one resource with count or
// for_each. It separates the changes that were made outside of Lethe and that affect the plan from other changes that
// were made outside.
//
// Sensitive values are opaque (ADR 53). The content of a change is compared after every sensitive part was replaced by
// one placeholder (diff.Differ.Opaque). So nothing in a Review depends on sensitive values: no order, no group, no
// alignment of lines, and no statement that such a value changes or stays.
//
// The files are layers, each above the files that it uses: review.go; group.go, reasons.go; model.go; objects.go,
// order.go, counts.go.
package review

import (
	"cmp"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diff"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
)

// New returns the review of a plan. prog is the configuration that was planned; if it is nil, reasons have no chains of
// names. schemas returns the schemas of providers; it may be nil.
func New(p *plan.Plan, prog *program.Program, schemas provider.Lookup) *Review {
	x := NewObjects(schemas)
	r := &Review{Plan: p, Counts: Count(p), Checks: p.Checks}
	r.Changes = changesOf(p, prog, x)
	slices.SortStableFunc(r.Changes, byUrgency)
	group(r.Changes)
	for _, c := range Ordered(p.Drift) {
		r.outside(&Change{Change: c, Address: c.Object.String(), x: x})
	}
	r.outputs()
	return r
}

func changesOf(p *plan.Plan, prog *program.Program, x *Objects) []*Change {
	var out []*Change
	why := newReasons(p, prog, x)
	for _, c := range Ordered(p.Changes) {
		if Shown(c) {
			out = append(out, &Change{Change: c, Address: c.Object.String(), Reasons: why.of(c), x: x})
		}
	}
	return out
}

// Listed returns the changes of a plan that users see (see Shown), in the order of Ordered. If fold is true, equal
// changes are grouped. The reasons have no chains of names.
func Listed(p *plan.Plan, x *Objects, fold bool) []*Change {
	out := changesOf(p, nil, x)
	if fold {
		group(out)
	}
	return out
}

func byUrgency(a, b *Change) int { return cmp.Compare(urgency[b.Action], urgency[a.Action]) }

// Dangers returns the changes of managed objects with a high risk, destroyed objects first.
func Dangers(changes []*Change) []*Change {
	var out []*Change
	for _, c := range changes {
		if c.Risk() == High && c.Object.Mode != addr.Data {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, byUrgency)
	return out
}

// outside adds a change that was made outside of the program to Drift if the plan depends on it, and otherwise to Rest.
// It drops a change that the plan does not depend on and that has no action.
func (r *Review) outside(c *Change) {
	p := r.Plan
	relevant := diff.AllPaths
	if p.Mode == plan.Normal || p.Mode == plan.Destroy && c.Action != plan.Delete {
		relevant = Relevance(p.Relevant, c.Object.Instance)
	}
	if relevant != nil {
		n := c.x.Diff(c.Change, relevant, diff.Differ{Opaque: true})
		if n.Op != diff.Same || Moved(c.Change) && p.Mode == plan.RefreshOnly {
			c.Relevant = changedParts(n)
			r.Drift = append(r.Drift, c)
			return
		}
	}
	if c.Action != plan.NoOp {
		r.Rest = append(r.Rest, c)
	}
}

// changedParts returns the names of the attributes and block types that differ.
func changedParts(n *diff.Node) []string {
	var out []string
	for i, k := range n.Children {
		if k.Op != diff.Same && i < len(n.Names) {
			out = append(out, n.Names[i])
		}
	}
	for _, g := range n.Groups {
		if slices.ContainsFunc(g.Blocks, (*diff.Node).Changes) || g.Unknown != diff.Same {
			out = append(out, g.Name)
		}
	}
	return out
}

func (r *Review) outputs() {
	d := &diff.Differ{Opaque: true}
	for _, o := range r.Plan.Outputs {
		secret := o.Sensitive || r.Plan.Previous != nil && r.Plan.Previous.Outputs[o.Name].Sensitive
		hidden := func(paths *diff.Paths) *diff.Paths {
			if secret {
				return diff.AllPaths
			}
			return paths
		}
		b := diff.NewOpaqueValue(o.Before.Raw, nil, hidden(diff.SensitivePaths(o.Before)))
		a := diff.NewOpaqueValue(o.After.Raw, nil, hidden(diff.SensitivePaths(o.After)))
		if o.Action == plan.Create || !secret && b.IsAbsent() && o.Action != plan.Delete {
			b = nil
		}
		if o.Action == plan.Delete {
			a = nil
		}
		if n := d.Value(nil, b, a, nil, diff.AllPaths); n.Op != diff.Same {
			r.Outputs = append(r.Outputs, &Output{Name: o.Name, Sensitive: secret, Content: n})
		}
	}
}
