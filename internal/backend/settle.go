package backend

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// A backend that needs no init is used from the first command on. So that a change of it is noticed all
// the same, the first command that finds a state there, or writes one, remembers the place as init
// would; and where there is none, it looks into the place that the directory has without a backend
// block. To plan in an empty place while the state lies in another would create everything again.

// settled reports whether work may begin in a place that nothing remembers.
func (d *Directory) settled(ctx context.Context, current settings, st store.Store) bool {
	name := d.Env.Selected()
	if workspace.Begun(ctx, d.Env, st, name) {
		d.adopt(current, false)
		return true
	}
	if d.block() != nil && current.same(implied()) { // the block names no place: -backend-config may have named one
		d.notSetUp(current.driver.Name)
		return false
	}
	old, ok := d.open(ctx, implied())
	if !ok || sameFiles(old, st) {
		return ok
	}
	left, err := d.filled(ctx, old)
	if err != nil {
		d.Env.Bag.Add(formerly(implied(), err))
	}
	if len(left) == 0 {
		return err == nil
	}
	from := name
	if !slices.Contains(left, name) {
		here, err := d.filled(ctx, st)
		if err != nil {
			d.Env.Bag.Add(problem(err, "Failed to load state", "Error refreshing state: %s."))
			return false
		}
		if len(here) > 0 {
			return true // it is this workspace that is new, and not the place
		}
		from = left[0]
	}
	places := fmt.Sprintf("There is no state in %s, where it is to be kept, and there is one in %s, where this directory kept it before: all that it has would be created again.", d.place(current, st, name), d.place(implied(), old, from))
	d.uninitialized(fmt.Sprintf("Initial configuration of the requested backend %q", current.driver.Name), places)
	return false
}

// stayed reports whether the state that a saved plan was made from is in use where it was then, in a directory that remembers
// no place. Init that takes it out of a backend, into the files of a directory without one, leaves it there, and remembers
// nothing of it; and where a plan is applied in another directory, that may have the configuration of a later day.
func (d *Directory) stayed(ctx context.Context, planned settings, st store.Store, name string) bool {
	others := []settings{implied()}
	if now := d.Present(); now != nil {
		if s, ok := d.said(now); ok {
			others = append(others, s)
		}
	}
	for _, s := range others {
		if s.driver.Name == planned.driver.Name && s.driver.Name != store.LocalDriver.Name {
			continue // it may be the same place, which is reached otherwise
		}
		other, err := d.bare(ctx, s)
		if err != nil || sameFiles(other, st) {
			continue // a block that needs more than it says is in use nowhere yet
		}
		if other, ok := d.sealed(other); !ok || !d.leads(ctx, planned, st, s, other, name) {
			return false
		}
	}
	return true
}

// leads reports whether the place of a saved plan has its state, and another place not as much of it.
func (d *Directory) leads(ctx context.Context, planned settings, st store.Store, s settings, other store.Store, name string) bool {
	here, ok := workspace.Read(ctx, d.Env, other, name)
	if !ok || here == nil || here.Len()+len(here.Outputs) == 0 && here.Lineage == "" {
		return ok
	}
	there, ok := workspace.Read(ctx, d.Env, st, name)
	switch {
	case !ok:
	case there == nil && here.Len()+len(here.Outputs) > 0:
		d.overtaken(fmt.Sprintf("There is no state in %s, which the plan is for, and there is one in %s: all that it has would be created again.", d.place(planned, st, name), d.place(s, other, name)))
		ok = false
	case there != nil && here.Lineage == there.Lineage && here.Serial >= there.Serial:
		d.overtaken(d.moved(planned, s))
		ok = false
	}
	return ok
}

// adopt remembers a place that is in use. Where the state was written there and the place could not be
// remembered, a user is warned that a change of it will go unnoticed.
func (d *Directory) adopt(s settings, written bool) {
	var bag diag.Bag
	if !d.remember(s, s, &bag) && written {
		d.Env.Bag.Add(diag.Warningf("Backend not remembered", "The state was written, but Lethe could not note which backend has it: a later change of the backend block will go unnoticed. Make the directory %s writable, and run \"lethe init\".", d.Display(d.Env.Data)))
	}
}

// filled lists the workspaces of a store that have a state, or what a killed run recorded of one, if any of these holds
// something. Not every store lists the selected workspace when its first run was killed.
func (d *Directory) filled(ctx context.Context, st store.Store) ([]string, error) {
	all, err := st.List(ctx)
	if name := d.Env.Selected(); err == nil && !slices.Contains(all, name) && store.CheckName(name) == nil && !store.Single(ctx, st) {
		all = append(all, name)
	}
	var names []string
	holds := false
	for _, name := range all {
		data, _, err := st.Get(ctx, name)
		if err != nil {
			return nil, err
		}
		something := len(data) > 0 && holdsAnything(data)
		if !something {
			if something, err = workspace.Unfinished(ctx, d.Env, st, name); err != nil {
				return nil, err
			}
		}
		if len(data) > 0 || something {
			names = append(names, name)
		}
		holds = holds || something
	}
	if !holds {
		names = nil
	}
	return names, err
}

// holdsAnything reports whether a state has objects or outputs. One that cannot be read may have some.
func holdsAnything(data []byte) bool {
	s, ok := state.Read(data, &diag.Bag{})
	return !ok || s.Len() > 0 || len(s.Outputs) > 0
}

// sameFiles reports whether two stores keep their states in the same files.
func sameFiles(a, b store.Store) bool { return sameFile(a, b, store.Default) && sameFile(a, b, "w") }

// sameFile is sameFiles for one workspace: those of two directories may share the files of all but the default one.
func sameFile(a, b store.Store, workspace string) bool {
	x, ok1 := store.As[store.Filer](a)
	y, ok2 := store.As[store.Filer](b)
	return ok1 && ok2 && x.File(workspace) == y.File(workspace)
}

// moved says from where to where the state has to go. What is wrong with either place is for init to say.
func (d *Directory) moved(was, next settings) string {
	from, err1 := d.bare(context.Background(), was)
	to, err2 := d.bare(context.Background(), next)
	if err1 != nil || err2 != nil {
		return "Changes to backend configurations require reinitialization."
	}
	name := d.Env.Selected()
	a, b := d.place(was, from, name), d.place(next, to, name)
	if names := was.differ(next); a == b && len(names) > 0 {
		return fmt.Sprintf("The state was kept in %s, and these settings, which say where it is or how it is reached, have changed: %s.", a, strings.Join(names, ", "))
	}
	return fmt.Sprintf("The state was kept in %s, and is to be kept in %s.", a, b)
}

// differ names the settings of one backend that have other values.
func (s settings) differ(other settings) (names []string) {
	if s.driver.Name != other.driver.Name {
		return nil
	}
	for name := range s.driver.Schema.Type().AttributeTypes() {
		if !s.config.GetAttr(name).RawEquals(other.config.GetAttr(name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
