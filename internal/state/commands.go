package state

import (
	"cmp"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

// This file has the state commands as functions from a snapshot to a snapshot. None of them needs a schema or a
// configuration.

// Select returns the objects that match a target, in the order of Objects.
func (s *Snapshot) Select(t addr.Target) []addr.Object {
	var out []addr.Object
	for o := range s.Objects() {
		if t.Contains(o.Instance) {
			out = append(out, o)
		}
	}
	return out
}

// Listed compares two objects in the order in which Terraform and OpenTofu list them: the root module before deeper
// modules, data sources before managed resources, and otherwise as in Object.Compare.
func Listed(a, b addr.Object) int {
	return cmp.Or(cmp.Compare(a.Module.Depth(), b.Module.Depth()), a.Module.Compare(b.Module), cmp.Compare(b.Mode, a.Mode), a.Compare(b))
}

// Remove returns a snapshot without the objects that match one of the targets, and the removed objects. If no object
// matches any target, it adds an error to bag and returns false.
func (s *Snapshot) Remove(targets []addr.Target, bag *diag.Bag) (*Snapshot, []addr.Object, bool) {
	var removed []addr.Object
	seen := map[addr.Object]bool{}
	for _, t := range targets {
		for _, o := range s.Select(t) {
			if !seen[o] {
				seen[o] = true
				removed = append(removed, o)
			}
		}
	}
	if len(removed) == 0 {
		near := ""
		for _, t := range targets {
			near = cmp.Or(near, s.Near(t))
		}
		bag.Add(diag.Errorf("Invalid target address", "No matching objects found. Correct the address. \"lethe state list\" shows all addresses.%s", near))
		return nil, nil, false
	}
	e := s.Edit()
	for _, o := range removed {
		e.Put(o, nil)
	}
	return e.Done(), removed, true
}

// Taint returns a snapshot in which the current object of an instance is tainted, so that the next plan replaces it. If
// that is not possible, it adds an error to bag and returns false.
func (s *Snapshot) Taint(i addr.Instance, bag *diag.Bag) (*Snapshot, bool) {
	if i.Mode != addr.Managed {
		bag.Add(diag.Errorf("Invalid address", "Resource instance %s cannot be tainted: only managed resources can be replaced.", i))
		return nil, false
	}
	return s.setTaint(i, true, bag)
}

// Untaint returns a snapshot in which the current object of an instance is not tainted. If the object is not tainted or
// does not exist, it adds an error to bag and returns false.
func (s *Snapshot) Untaint(i addr.Instance, bag *diag.Bag) (*Snapshot, bool) {
	if i.Mode != addr.Managed {
		bag.Add(diag.Errorf("Invalid address", "Resource instance %s cannot be untainted: only managed resources are ever tainted.", i))
		return nil, false
	}
	if e := s.Get(i.Current()); e != nil && !e.Tainted {
		bag.Add(diag.Errorf("Resource instance is not tainted", "Resource instance %s is not tainted.", i))
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
	entry.Tainted, entry.Complete = tainted, tainted && old.Complete
	e := s.Edit()
	e.Put(i.Current(), &entry)
	return e.Done(), true
}

// missing returns the error for an instance without a current object, with the likely reason.
func (s *Snapshot) missing(i addr.Instance) diag.Diagnostic {
	const title = "No such resource instance"
	for slot := range s.Resource(i.Abs()).each {
		if slot.key == i.Key { // the instance has only deposed objects: replaced objects that are not destroyed yet
			return diag.Errorf(title, "The create_before_destroy replacement of resource instance %s is not complete. Run \"apply\" first.", i)
		}
	}
	return diag.Errorf(title, "There is no resource instance %s in the state. If its configuration is new, run \"lethe apply\" first.%s", i, s.NearInstance(i))
}

// ReplaceProvider returns a snapshot in which every resource of one provider has another provider, and the changed
// resources. The parameter from is the old provider, and to is the new one. If no resource has exactly the old
// provider, ReplaceProvider replaces the same provider under the other registry host: OpenTofu's instead of
// Terraform's, or Terraform's instead of OpenTofu's.
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
