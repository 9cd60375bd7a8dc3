package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// A backend that needs no init is used from the first command on. So that a change of it is noticed all
// the same, the first command that finds a state there, or writes one, remembers the place as init
// would; and where there is none, it looks into the place that the directory has without a backend
// block. To plan in an empty place while the state lies in another would create everything again.

// settled reports whether work may begin in a place that nothing remembers.
func (p *project) settled(ctx context.Context, current settings, st store.Store) bool {
	name := p.workspace()
	if p.begun(ctx, st, name) {
		p.adopt(current, false)
		return true
	}
	old, ok := p.openWith(ctx, p.implied())
	if !ok || sameFiles(old, st) {
		return ok
	}
	left, ok := p.filled(ctx, old)
	if !ok || len(left) == 0 {
		return ok
	}
	if !slices.Contains(left, name) {
		here, ok := p.filled(ctx, st)
		if !ok || len(here) > 0 {
			return ok // it is this workspace that is new, and not the place
		}
		name = left[0]
	}
	p.uninitialized(fmt.Sprintf("Initial configuration of the requested backend %q", current.driver.Name),
		fmt.Sprintf("There is no state in %s, where it is to be kept, and there is one in %s, where this directory kept it before: all that it has would be created again.", p.placeOf(current, st, p.workspace()), p.placeOf(p.implied(), old, name)))
	return false
}

// begun reports whether a workspace has a state, an empty one too, or the journal of one. What cannot be
// read is for the command to report that reads it.
func (p *project) begun(ctx context.Context, st store.Store, name string) bool {
	data, _, err := st.Get(ctx, name)
	if err != nil || len(data) > 0 {
		return true
	}
	ws := &workspaceState{project: p, store: st, name: name}
	r, err := journal.Recover(p.files(), ws.journalFile(), &state.Snapshot{})
	return err != nil || r != nil
}

// adopt remembers a place that is in use. Where the state was written there, a user hears that a change
// of the place will go unnoticed.
func (p *project) adopt(s settings, written bool) {
	var bag diag.Bag
	if !p.rememberBackend(s, s, &bag) && written {
		p.bag.Add(diag.Warningf("Backend not remembered", "The state was written, but which backend has it could not be: a later change of the backend block will go unnoticed. Run \"lethe init\" when the directory %s can be written.", p.display(p.data)))
	}
}

// placeOf names the place of a workspace's state.
func (p *project) placeOf(s settings, st store.Store, workspace string) string {
	if f, ok := st.(store.Filer); ok {
		return p.display(f.File(workspace))
	}
	return fmt.Sprintf("the backend %q", s.driver.Name)
}

// holdsAnything reports whether a state has objects or outputs. One that cannot be read may have some.
func holdsAnything(data []byte) bool {
	if len(data) == 0 {
		return false
	}
	s, ok := state.Read(data, &diag.Bag{})
	return !ok || s.Len() > 0 || len(s.Outputs) > 0
}
