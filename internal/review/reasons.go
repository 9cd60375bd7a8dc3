package review

import (
	"cmp"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diff"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/zclconf/go-cty/cty"
)

// Limits of the chains of one reason.
const (
	maxChains = 3   // maximum number of chains of one reason
	maxNames  = 12  // maximum number of names in one chain
	maxSteps  = 200 // maximum number of names that are followed for one reason
)

// reasons finds the reasons of changes.
type reasons struct {
	prog    *program.Program
	x       *Objects
	changes map[addr.Resource]bool          // resources with an object that is created, updated or replaced
	chains  map[chainKey][][]string         // the chains of references of attributes that were searched already
	sources map[program.Decl][]program.Name // the results of program.ValueNames so far
}

type chainKey struct {
	of        program.Decl
	attribute string
}

func newReasons(p *plan.Plan, prog *program.Program, x *Objects) *reasons {
	r := &reasons{prog: prog, x: x, changes: map[addr.Resource]bool{}, chains: map[chainKey][][]string{}, sources: map[program.Decl][]program.Name{}}
	for _, c := range p.Changes {
		if c.Action.Ups() {
			r.changes[c.Object.Resource()] = true
		}
	}
	return r
}

// of returns the reasons of a change.
func (r *reasons) of(c *plan.Change) []Reason {
	var out []Reason
	add := func(text string) { out = append(out, Reason{Kind: c.Why, Text: text}) }
	switch {
	case c.Action.Replaces():
		out = r.replacement(c)
	case c.Object.IsDeposed() && (c.Action == plan.Delete || c.Action == plan.Forget):
		add("left over from a partially-failed replacement of this instance")
	case c.Action == plan.Forget && c.SkipDestroy:
		add("destroy = false is set in the configuration")
	case c.Action == plan.Forget:
		add("it was removed from the configuration without a decision whether to destroy it")
	default:
		if text := Cause(c); text != "" {
			add(text)
		}
	}
	if c.Overrides() {
		out = append(out, Reason{Text: "prevent_destroy is set, and -allow-destroy overrides it"})
	}
	if c.FirstFor != "" && c.Action == plan.CreateDelete {
		out = append(out, Reason{Text: "created before the old one is destroyed, because of " + c.FirstFor})
	}
	return out
}

func (r *reasons) replacement(c *plan.Change) []Reason {
	var out []Reason
	switch c.Why {
	case plan.ReplaceTainted:
		out = append(out, Reason{Kind: c.Why, Text: "the object is tainted"})
	case plan.ReplaceByRequest:
		out = append(out, Reason{Kind: c.Why, Text: "requested with -replace"})
	case plan.ReplaceByTriggers:
		reason := Reason{Kind: c.Why, Text: "an object in replace_triggered_by changes"}
		if d, ok := r.declaration(c); ok {
			reason.Chains = r.from("replace_triggered_by", program.TriggerNames(r.prog, d))
		}
		out = append(out, reason)
	}
	for _, path := range c.Replace {
		path = r.visible(c, path)
		name := mark.PathString(path)
		if name == "" || slices.ContainsFunc(out, func(have Reason) bool { return have.Attribute == name }) {
			continue
		}
		reason := Reason{Kind: plan.ReplaceCannotUpdate, Text: name + " forces the replacement", Attribute: name}
		if d, ok := r.declaration(c); ok {
			key := chainKey{d, name}
			chains, known := r.chains[key]
			if !known {
				chains = r.from(name, program.AttributeNames(r.prog, d, path))
				r.chains[key] = chains
			}
			reason.Chains = chains
		}
		out = append(out, reason)
	}
	switch {
	case len(out) > 0:
	case c.Entry != nil && c.Entry.Provider.Key != c.Provider.Key:
		out = append(out, Reason{Kind: c.Why, Text: c.Provider.String() + " does not find the object of " + c.Entry.Provider.String()})
	default:
		out = append(out, Reason{Kind: c.Why, Text: "the provider does not say which attribute forces the replacement"})
	}
	if c.Action == plan.ForgetCreate {
		out = append(out, Reason{Text: "the existing object is forgotten, not destroyed: destroy = false is set in the configuration"})
	}
	return out
}

func (r *reasons) declaration(c *plan.Change) (program.Decl, bool) {
	if r.prog == nil {
		return program.NoDecl, false
	}
	d, ok := r.prog.Resource(c.Object.Resource())
	if !ok {
		return program.NoDecl, false
	}
	return d.ID, true
}

// visible returns the beginning of a path, without the steps into a sensitive value: the key of a map is a part of the
// value.
func (r *reasons) visible(c *plan.Change, path cty.Path) cty.Path {
	before, after := r.x.Values(c)
	f := &r.x.Form(c.Provider.Provider, c.Object.Instance).Form
	b, a := diff.SensitivePaths(before), diff.SensitivePaths(after)
	for i, step := range path {
		name, ok := diff.StepName(step)
		b, a = b.At(name), a.At(name)
		if _, index := step.(cty.IndexStep); index && f.Part(name) == nil {
			f = f.Element()
		} else {
			f = f.Part(name)
		}
		if !ok || b.Has() || a.Has() || f.IsSensitive() {
			return path[:i+1]
		}
	}
	return path
}

// from returns at most maxChains chains of references that begin with an attribute. Chains that end in a resource that
// changes are first.
func (r *reasons) from(attribute string, names []program.Name) [][]string {
	w := chainWalk{reasons: r}
	w.follow([]string{attribute}, names)
	slices.SortStableFunc(w.found, func(a, b foundChain) int { return -cmp.Compare(rank(a), rank(b)) })
	var out [][]string
	for _, f := range w.found[:min(len(w.found), maxChains)] {
		out = append(out, f.names)
	}
	return out
}

// foundChain is a chain, and whether it ends in a resource that changes.
type foundChain struct {
	names   []string
	changes bool
}

func rank(f foundChain) int {
	if f.changes {
		return 1
	}
	return 0
}

// chainWalk follows names to their sources, depth first.
type chainWalk struct {
	*reasons
	found []foundChain
	steps int
}

func (w *chainWalk) follow(chain []string, names []program.Name) {
	for _, n := range names {
		if w.steps++; w.steps > maxSteps {
			return
		}
		d := w.prog.Decls()[n.To]
		next := slices.Clone(chain)
		if n.Via != "" {
			next = append(next, n.Via)
		}
		name := n.Text
		switch {
		case d.Kind == program.Output:
			name = d.Module.String() + "." + d.Name
		case d.Kind == program.Resource && !d.Module.IsRoot():
			name = d.Module.String() + "." + n.Text
		case d.Kind != program.Resource:
			name = d.String()
		}
		next = append(next, name)
		var further []program.Name
		if d.Kind != program.Resource && len(next) < maxNames {
			further = w.valueNames(n.To)
		}
		if len(further) == 0 {
			w.found = append(w.found, foundChain{next, d.Kind == program.Resource && w.changes[d.Resource]})
			continue
		}
		w.follow(next, further)
	}
}

func (w *chainWalk) valueNames(d program.Decl) []program.Name {
	names, known := w.sources[d]
	if !known {
		names = program.ValueNames(w.prog, d)
		w.sources[d] = names
	}
	return names
}
