package targeting

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// An address that matches nothing is probably misspelt. warnUnmatched checks resources before planning. WarnAbsent
// checks instances after planning, because only then all instances are known.

const unmatched = "Address matches nothing"

// known returns the addresses of the resources that the program declares, and of the resources in the state.
func (r *Request) known() []addr.Resource {
	var out []addr.Resource
	for _, d := range r.Program.Decls() {
		if d.Kind == program.Resource {
			out = append(out, d.Resource)
		}
	}
	return slices.AppendSeq(out, maps.Keys(r.Stored))
}

// named is an address in a command-line option of the user, with the name of the option.
type named struct {
	flag   string
	target addr.Target
	is     func(addr.Instance) bool // reports whether an instance has the address
	keyed  bool                     // the address has a key, so the resource or module may exist without such an instance
}

// named returns the addresses in the options -target, -exclude and -replace, for warnings. It returns nil if the
// targets do not come from the user.
func (r *Request) named() (out []named) {
	if r.Origin != Options {
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

// warnUnmatched warns of addresses that match neither a declared nor a stored resource.
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
		if n.target.Mode == addr.Action {
			bag.Add(diag.Warningf(unmatched, "The -%s option names %s, and selects resources only. A plan contains an action if it contains the change that invokes it. To invoke one action, use -invoke.", n.flag, n.target))
			continue
		}
		var names []string
		for _, k := range known {
			names = append(names, k.String(), k.Module.String())
		}
		bag.Add(diag.Warningf(unmatched, "The -%s option names %s, which is neither in the configuration nor in the state.%s", n.flag, n.target, diag.DidYouMean(n.target.String(), names)))
	}
}

// WarnAbsent warns, after planning, of addresses with keys that match no instance although the resource or module
// exists. If root, the frame with the instance keys, is nil, it considers only instances in the state. It does not warn
// about a target if not all instances of the resource or module are known.
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
		existing, sure := r.instances(n.target, root)
		if !sure || slices.ContainsFunc(existing, n.is) {
			continue
		}
		where, has := ", neither in the configuration nor in the state", "There are no instances"
		if root == nil {
			where = " in the state"
		}
		if len(existing) > 0 {
			has = "The instances are: " + diag.Some(texts(existing))
		}
		bag.Add(diag.Warningf(unmatched, "The -%s option names %s, but there is no such instance%s. %s.", n.flag, n.target, where, has))
	}
}

// instances returns the existing instances of a target's resource or module, with any key. It returns false if
// not all instances are known. An instance of a module has only the field Module.
func (r *Request) instances(t addr.Target, root *frame.Frame) (existing []addr.Instance, sure bool) {
	if root != nil {
		frames, status := root.Instances(t.Module(), frame.After)
		if status != frame.Known {
			return nil, false
		}
		d, declared := r.Program.Resource(t.Resource())
		for _, f := range frames {
			switch {
			case t.Mode == 0:
				existing = append(existing, addr.Instance{Module: f.Addr()})
			case declared:
				keys := f.Expanded(d.ID, frame.After)
				if keys.Status != frame.Known || keys.Hidden {
					return nil, false
				}
				for _, k := range keys.List {
					existing = append(existing, d.Resource.In(f.Addr()).Instance(k))
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
				existing = append(existing, addr.Instance{Module: m})
				continue
			}
			for o := range s.Objects() {
				existing = append(existing, o.Instance)
			}
		}
	}
	return existing, true
}

// texts returns the addresses in list as texts, sorted and without duplicates. It sorts list.
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
