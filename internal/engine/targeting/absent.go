package targeting

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// What is named and is not there is likely misspelt, and what it was to be about is not done: of a resource that can be
// said before anything is decided, of an instance only afterwards.

const unmatched = "Address matches nothing"

// quiet reports whether nothing is said of what is named.
func (r *Request) quiet() bool { return r.Quiet || r.Changed }

// known are the resources that are declared or in the state.
func (r *Request) known() []addr.Resource {
	var out []addr.Resource
	for _, d := range r.Program.Decls() {
		if d.Kind == program.Resource {
			out = append(out, d.Resource)
		}
	}
	return slices.AppendSeq(out, maps.Keys(r.Stored))
}

// named is something that an option names.
type named struct {
	flag   string
	target addr.Target
	is     func(addr.Instance) bool // it is one of them
	keyed  bool                     // there may be none of them although there is the resource or module
}

// named lists what is named, where something is to be said of it.
func (r *Request) named() (out []named) {
	if r.quiet() {
		return nil
	}
	for _, t := range r.Targets {
		out = append(out, named{"target", t, t.Contains, t.Keyed()})
	}
	for _, t := range r.Excludes {
		out = append(out, named{"exclude", t, t.Contains, t.Keyed()})
	}
	for _, i := range r.Replace {
		if t, err := addr.ParseTarget(i.String()); err == nil {
			out = append(out, named{"replace", t, func(x addr.Instance) bool { return x == i }, true})
		}
	}
	return out
}

// warnUnmatched warns of addresses that no resource has.
func (r *Request) warnUnmatched(bag *diag.Bag) {
	all := r.named()
	if len(all) == 0 {
		return
	}
	known := r.known()
	for _, n := range all {
		if slices.ContainsFunc(known, n.target.Covers) {
			continue
		}
		var names []string
		for _, k := range known {
			names = append(names, k.String(), k.Module.String())
		}
		bag.Add(diag.Warningf(unmatched, "The -%s option says %s, and there is no such resource, neither in the configuration nor in the state.%s", n.flag, n.target, diag.DidYouMean(n.target.String(), names)))
	}
}

// WarnAbsent warns of instances that are not there although what they would be instances of is, once everything is
// decided. root is nil where only what is stored counts.
func (r *Request) WarnAbsent(root *frame.Frame, bag *diag.Bag) {
	all := slices.DeleteFunc(r.named(), func(n named) bool { return !n.keyed })
	if len(all) == 0 {
		return
	}
	known := r.known()
	for _, n := range all {
		if !slices.ContainsFunc(known, n.target.Covers) {
			continue
		}
		there, sure := r.instances(n.target, root)
		if !sure || slices.ContainsFunc(there, n.is) {
			continue
		}
		where, has := ", neither in the configuration nor in the state", "There is none at all"
		if root == nil {
			where = " in the state"
		}
		if len(there) > 0 {
			has = "What there is: " + diag.Some(texts(there))
		}
		bag.Add(diag.Warningf(unmatched, "The -%s option says %s, and there is no such instance%s. %s.", n.flag, n.target, where, has))
	}
}

// instances are those of the resource or module that a target is about, and whether they are all known. Those of a
// module are written without a type.
func (r *Request) instances(t addr.Target, root *frame.Frame) (there []addr.Instance, sure bool) {
	if root != nil {
		frames, status := root.Instances(t.Module(), frame.After)
		if status != frame.Known {
			return nil, false
		}
		d, declared := r.Program.Resource(t.Resource())
		for _, f := range frames {
			switch {
			case t.Mode == 0:
				there = append(there, addr.Instance{Module: f.Addr()})
			case declared:
				keys := f.Expanded(d.ID, frame.After)
				if keys.Status != frame.Known || keys.Hidden {
					return nil, false
				}
				for _, k := range keys.List {
					there = append(there, d.Resource.In(f.Addr()).Instance(k))
				}
			}
		}
	}
	for res, list := range r.Stored {
		if !t.Covers(res) {
			continue
		}
		for _, s := range list {
			if t.Mode == 0 {
				m := s.Addr.Module
				for m.Depth() > t.Module().Depth() {
					m = m.Parent()
				}
				there = append(there, addr.Instance{Module: m})
				continue
			}
			for o := range s.Objects() {
				there = append(there, o.Instance)
			}
		}
	}
	return there, true
}

// texts are addresses in order, each once.
func texts(list []addr.Instance) []string {
	slices.SortFunc(list, addr.Instance.Compare)
	var out []string
	for _, i := range slices.Compact(list) {
		if i.Mode == 0 {
			out = append(out, i.Module.String())
		} else {
			out = append(out, i.String())
		}
	}
	return out
}
