package state

import (
	"cmp"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

// What the state commands do, as functions from a snapshot to a snapshot. None of them needs a
// schema or a configuration.

// Select gives the objects that a target points at, in order.
func (s *Snapshot) Select(t addr.Target) []addr.Object {
	var out []addr.Object
	for o := range s.Objects() {
		if t.Contains(o.Instance) {
			out = append(out, o)
		}
	}
	return out
}

// Listed is the order in which Terraform and OpenTofu list objects: those of the root first and deeper modules
// later, data sources first, and then as Object.Compare has it.
func Listed(a, b addr.Object) int {
	return cmp.Or(cmp.Compare(a.Module.Depth(), b.Module.Depth()), a.Module.Compare(b.Module), cmp.Compare(b.Mode, a.Mode), a.Compare(b))
}

// Remove forgets what the targets point at and says what that was. It is an error if that is
// nothing.
func (s *Snapshot) Remove(targets []addr.Target, bag *diag.Bag) (*Snapshot, []addr.Object, bool) {
	var gone []addr.Object
	seen := map[addr.Object]bool{}
	for _, t := range targets {
		for _, o := range s.Select(t) {
			if !seen[o] {
				seen[o] = true
				gone = append(gone, o)
			}
		}
	}
	if len(gone) == 0 {
		near := ""
		for _, t := range targets {
			near = cmp.Or(near, s.Near(t))
		}
		bag.Add(diag.Errorf("Invalid target address", "No matching objects found. To view the available instances, use \"lethe state list\". Please modify the address to reference a specific instance.%s", near))
		return nil, nil, false
	}
	e := s.Edit()
	for _, o := range gone {
		e.Put(o, nil)
	}
	return e.Done(), gone, true
}

// Taint marks an object to be replaced.
func (s *Snapshot) Taint(i addr.Instance, bag *diag.Bag) (*Snapshot, bool) {
	if i.Mode != addr.Managed {
		bag.Add(diag.Errorf("Invalid address", "Resource instance %s cannot be tainted: only managed resources can be replaced.", i))
		return nil, false
	}
	return s.setTaint(i, true, bag)
}

// Untaint takes the mark away again.
func (s *Snapshot) Untaint(i addr.Instance, bag *diag.Bag) (*Snapshot, bool) {
	if i.Mode != addr.Managed {
		bag.Add(diag.Errorf("Invalid address", "Resource instance %s cannot be untainted: only managed resources are ever tainted.", i))
		return nil, false
	}
	if e := s.Get(i.Current()); e != nil && !e.Tainted {
		bag.Add(diag.Errorf("Resource instance is not tainted", "Resource instance %s is not currently tainted, and so it cannot be untainted.", i))
		return nil, false
	}
	return s.setTaint(i, false, bag)
}

func (s *Snapshot) setTaint(i addr.Instance, tainted bool, bag *diag.Bag) (*Snapshot, bool) {
	old := s.Get(i.Current())
	if old == nil {
		bag.Add(s.missing(i))
		return nil, false
	}
	entry := *old
	entry.Tainted = tainted
	e := s.Edit()
	e.Put(i.Current(), &entry)
	return e.Done(), true
}

// missing says that an instance has no current object, and why that may be.
func (s *Snapshot) missing(i addr.Instance) diag.Diagnostic {
	const title = "No such resource instance"
	for slot := range s.Resource(i.Abs()).each {
		if slot.key == i.Key { // then it is deposed
			return diag.Errorf(title, "Resource instance %s is currently part-way through a create_before_destroy replacement action. Run \"apply\" to complete its replacement before tainting it.", i)
		}
	}
	return diag.Errorf(title, "There is no resource instance in the state with the address %s. If the resource configuration has just been added, you must run \"lethe apply\" once to create the corresponding instance(s) before they can be tainted.%s", i, s.NearInstance(i))
}

// ReplaceProvider gives every resource of provider from to provider to, and says which those
// were. Where from names a registry host under which nothing is stored, it means the same
// provider under the other host.
func (s *Snapshot) ReplaceProvider(from, to addr.Provider) (*Snapshot, []addr.AbsResource) {
	var exact, alias []addr.AbsResource
	for _, r := range s.Resources() {
		switch p := r.Provider.Provider; {
		case p == from:
			exact = append(exact, r.Addr)
		case p.Namespace == from.Namespace && p.Canon() == from.Canon():
			alias = append(alias, r.Addr)
		}
	}
	if exact == nil {
		exact = alias
	}
	e := s.Edit()
	for _, a := range exact {
		for o, old := range s.Resource(a).Objects() {
			entry := *old
			entry.Provider.Provider = to
			e.Put(o, &entry)
		}
	}
	return e.Done(), exact
}
