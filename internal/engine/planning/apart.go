package planning

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/schema/published"
	"github.com/zclconf/go-cty/cty"
)

// generated identifies a value of a generator: an ephemeral resource that returns a new value at each opening. If all
// is true, it is the value of all instances in one module instance, and otherwise the value of the instance with the
// key.
type generated struct {
	decl program.Decl
	in   addr.ModuleInstance
	key  addr.Key
	all  bool
}

// sharers lists the objects that receive the same value of a generator in write-only arguments. The objects in sent
// receive a new value in this plan, and the objects in kept keep the value of an earlier apply.
type sharers struct{ sent, kept []string }

// warnApart warns, in a plan of mode Normal, of generators whose value some objects receive in this plan, while others
// keep the value of an earlier opening. Two objects that should have the same password then have different passwords,
// for example after the creation of one object has failed.
func warnApart(r *run.Run, p *plan.Plan) {
	if !r.Receivers.Any || p.Mode != plan.Normal {
		return
	}
	groups := map[generated]*sharers{}
	for _, c := range p.Changes {
		d, ok := r.Program.Resource(c.Object.Resource())
		if !ok || c.Object.IsDeposed() || len(c.Sent) == 0 && !c.Unchanged || isCounter(c) {
			continue
		}
		for _, g := range generatorsOf(r, d, c.Object.Instance) {
			if groups[g] == nil {
				groups[g] = &sharers{}
			}
			switch s := groups[g]; {
			case c.Action == plan.NoOp, c.Action == plan.Update && keepsVersions(c, r.Program.Schema(d.ID)):
				s.kept = append(s.kept, c.Object.String())
			case c.Action.Ups():
				s.sent = append(s.sent, c.Object.String())
			}
		}
	}
	for _, d := range r.Program.Decls() {
		for g, s := range groups {
			if g.decl == d.ID && len(s.sent) > 0 && len(s.kept) > 0 {
				r.Bag.Add(apart(d.Resource.In(g.in).Instance(g.key), s).At(d.Range))
			}
		}
	}
}

// apart returns the warning about the value of a generator that the objects in s receive.
func apart(of addr.Instance, s *sharers) diag.Diagnostic {
	list := func(names []string) string {
		slices.Sort(names)
		return "\n  " + strings.Join(names, "\n  ")
	}
	return diag.Warningf("Different values of one generator", "%s", fmt.Sprintf("%s returns a new value at each opening. In this plan, these objects receive a new value:%s\n\nThese objects keep the value of an earlier apply, which Lethe does not store:%s\n\nIf all of them need the same value, increase the version arguments of the objects that keep theirs. If not, use one ephemeral resource for each.", of, list(s.sent), list(s.kept)))
}

// isCounter reports whether a change is about a lethe_secret_version, which stores no value.
func isCounter(c *plan.Change) bool { return c.Object.Type == "lethe_secret_version" }

// generatorsOf returns the values of generators (ephemeral resources that return a new value at each opening) that the
// instance i of the resource d receives.
func generatorsOf(r *run.Run, d *program.Declaration, i addr.Instance) (out []generated) {
	for _, w := range r.Receivers.Received(d.ID) {
		e := r.Program.Decls()[w.Of]
		config, ok := r.Program.ProviderConfig(r.Program.Decls()[r.Program.ProviderOf(w.Of)].Provider)
		if !ok || !published.IsNewAtEachOpening(config.Provider.Provider, e.Resource.Type) {
			continue
		}
		in := i.Module.Around(e.Module)
		if w.Instances == nil {
			out = append(out, generated{w.Of, in, addr.NoKey, true})
		}
		for _, key := range w.Keys(i.Key) {
			out = append(out, generated{w.Of, in, key, false})
		}
	}
	return out
}

// keepsVersions reports whether the version arguments beside the write-only arguments at the top level do not change,
// so that the provider does not write their values. It returns false in three cases: the change sets no write-only
// argument, it sets a write-only argument in a block, or it sets a write-only argument without a version argument.
func keepsVersions(c *plan.Change, s *schema.Schema) bool {
	any := false
	for _, path := range c.Sent {
		step, ok := path[0].(cty.GetAttrStep)
		if !ok || len(path) > 1 {
			return false
		}
		v := schema.VersionOf(s.Attrs, step.Name)
		if v == nil || !c.Before.Raw.GetAttr(v.Name).RawEquals(c.After.Raw.GetAttr(v.Name)) {
			return false
		}
		any = true
	}
	return any
}
