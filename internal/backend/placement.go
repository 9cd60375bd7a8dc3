package backend

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// A backend that needs no init is used from the first command on. The first command that finds or writes a state there
// records the place, as init would, so that later commands notice a change of the backend. If that command finds no
// state, it also checks the files that the directory uses without a backend block. If the state is in those files, a
// plan with an empty state would create everything again.

// placement checks, for commands other than init, that the state is in the place that the command is about to use.
type placement struct {
	env      *workspace.Env
	declared *declaration
	record   *record
	opener   *opener
}

// newPlacement returns the placement of a directory.
func newPlacement(o *opener, r *record) *placement {
	return &placement{env: o.env, declared: o.declared, record: r, opener: o}
}

// usable reports whether commands may use a place that is not recorded. If not, it adds an error. If the place has a
// state, usable records the place. An empty state does not count if the directory has another, former state.
func (p *placement) usable(ctx context.Context, current settings, st store.Store) bool {
	name := p.env.Selected()
	has, holds, err := workspace.HasState(ctx, p.env, st, name)
	if err != nil {
		return true // the command reports the error, and a later command finds out whether the place has a state
	}
	if holds {
		return p.complete(ctx, current, st)
	}
	if p.declared.block() != nil && current.same(implied()) { // the block declares the default place, and -backend-config may have named another place
		p.env.Bag.Add(notSetUp(p.declared.block()))
		return false
	}
	old, ok := p.opener.open(ctx, implied())
	if !ok || sameFiles(old, st) {
		return ok
	}
	left, err := filled(ctx, p.env, old)
	if err != nil {
		p.env.Bag.Add(formerly(implied(), err))
	}
	if len(left) == 0 {
		if has && err == nil {
			p.adopt(current, false)
		}
		return err == nil
	}
	from := name
	if !slices.Contains(left, name) {
		here, err := filled(ctx, p.env, st)
		if err != nil {
			p.env.Bag.Add(problem(err, "Failed to load state", "Error refreshing state: %s."))
			return false
		}
		if len(here) > 0 {
			return true // the place has other workspaces, so only this workspace is new
		}
		from = left[0]
	}
	what := "no state"
	if has {
		what = "an empty state"
	}
	places := fmt.Sprintf("The configured backend, %s, has %s, but the previous backend, %s, has a state. With an empty state, all objects would be created again.", p.opener.place(current, st, name), what, p.opener.place(implied(), old, from))
	p.env.Bag.Add(uninitialized(fmt.Sprintf("Initial configuration of the requested backend %q", current.driver.Name), places))
	return false
}

// complete records a place that has the state of the selected workspace. If a migration was interrupted, the files of
// the directory may have the state of another workspace that the place lacks, or a newer state: then a later command
// would create objects again. In this case, complete adds an error and returns false.
func (p *placement) complete(ctx context.Context, current settings, st store.Store) bool {
	old, ok := p.opener.open(ctx, implied())
	if !ok {
		return false
	}
	var names []string
	if !sameFiles(old, st) {
		names, _ = filled(ctx, p.env, old) // files that cannot be read are not in use
	}
	only := len(names) > 0 && store.Single(ctx, st)
	for _, name := range names {
		if lacks := behind(ctx, old, st, name); lacks != "" && (name == store.Default || !only) {
			places := fmt.Sprintf("The configured backend, %s, has %s, but the previous backend, %s, has a state.", p.opener.place(current, st, name), lacks, p.opener.place(implied(), old, name))
			p.env.Bag.Add(uninitialized(fmt.Sprintf("Initial configuration of the requested backend %q", current.driver.Name), places))
			return false
		}
	}
	p.adopt(current, false)
	return true
}

// behind returns a phrase about the state of a workspace in st, if it is missing or older than the state in old.
// Otherwise it returns "".
func behind(ctx context.Context, old, st store.Store, name string) string {
	if sameFile(old, st, name) {
		return ""
	}
	was, _ := peek(ctx, old, name)
	switch is, ok := peek(ctx, st, name); {
	case !ok:
		return "no state"
	case was != nil && was.Lineage == is.Lineage && was.Serial > is.Serial:
		return fmt.Sprintf("an older state, of serial %d instead of %d", is.Serial, was.Serial)
	}
	return ""
}

// current reports whether the place of a saved plan still has the state in use. The working directory has no record.
// directory is its present root module, or nil without a configuration.
//
// The present state may be in another place. If init moves the state from a backend to the files of a directory without
// a block, it leaves a copy in the backend and records nothing. If a plan is applied in another directory, that
// directory may have a later configuration.
func (p *placement) current(ctx context.Context, planned settings, st store.Store, directory *config.Module) bool {
	name := p.env.Selected()
	others := []settings{implied()}
	if directory != nil {
		if s, ok := p.declared.of(directory); ok {
			others = append(others, s)
		}
	}
	for _, s := range others {
		if s.kind() == planned.kind() && s.driver.Name != store.LocalDriver.Name {
			continue // the other settings may lead to the same place in another way
		}
		other, err := p.opener.clients.open(ctx, s)
		if err != nil || sameFiles(other, st) {
			continue // a block that lacks settings is not in use yet
		}
		if other, ok := p.opener.encrypted(other); !ok || !p.leads(ctx, planned, st, s, other, name) {
			return false
		}
	}
	return true
}

// leads reports whether the place of a saved plan has the state in use, although another store may have a state, too.
// It adds an error and returns false if the state in the other store has the same lineage and is not older, if only the
// other store has a state with content, or if a state cannot be read.
func (p *placement) leads(ctx context.Context, planned settings, st store.Store, s settings, other store.Store, name string) bool {
	here, ok := workspace.Read(ctx, p.env, other, name)
	if !ok || here == nil || here.Len()+len(here.Outputs) == 0 && here.Lineage == "" {
		return ok
	}
	existing, ok := workspace.Read(ctx, p.env, st, name)
	switch {
	case !ok:
	case existing == nil && here.Len()+len(here.Outputs) > 0:
		p.env.Bag.Add(overtaken(fmt.Sprintf("The plan's backend, %s, has no state, but %s has a state. With an empty state, all objects would be created again.", p.opener.place(planned, st, name), p.opener.place(s, other, name))))
		ok = false
	case existing != nil && here.Lineage == existing.Lineage && here.Serial >= existing.Serial:
		p.env.Bag.Add(overtaken(p.moved(planned, s)))
		ok = false
	}
	return ok
}

// adopt records the place that a command uses. written is true if the command has written the state there. If the
// record cannot be written although the state was, adopt warns that later changes of the place will not be noticed.
func (p *placement) adopt(s settings, written bool) {
	var bag diag.Bag
	if !p.record.write(s, s, false, &bag) && written {
		p.env.Bag.Add(diag.Warningf("Backend not remembered", "The state was written, but Lethe could not record its backend, so it will not notice later changes of the backend block. Make the directory %s writable, and run \"lethe init\".", p.opener.display(p.env.Data)))
	}
}

// filled returns the workspaces of a store that have a state or a journal of a killed run. It returns nil if all these
// states are empty and there is no journal. It also checks the selected workspace, because some stores do not list a
// workspace whose first run was killed.
func filled(ctx context.Context, env *workspace.Env, st store.Store) ([]string, error) {
	all, err := st.List(ctx)
	if name := env.Selected(); err == nil && !slices.Contains(all, name) && store.CheckName(name) == nil && !store.Single(ctx, st) {
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
			if something, err = workspace.Unfinished(ctx, env, st, name); err != nil {
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

// holdsAnything reports whether a stored state has objects or outputs. It returns true for an unreadable state.
func holdsAnything(data []byte) bool {
	s, ok := state.Read(data, &diag.Bag{})
	return !ok || s.Len() > 0 || len(s.Outputs) > 0
}

// sameFiles reports whether two stores keep all their states in the same local files.
func sameFiles(a, b store.Store) bool { return sameFile(a, b, store.Default) && sameFile(a, b, "w") }

// sameFile reports whether two stores keep the state of a workspace in the same local file. Two directories may share
// the files of all workspaces except the default workspace. Paths with symbolic links may be two names of one file.
func sameFile(a, b store.Store, workspace string) bool {
	x, y := a.Capabilities().Files, b.Capabilities().Files
	return x != nil && y != nil && disk.Real(disk.OS, x.File(workspace)) == disk.Real(disk.OS, y.File(workspace))
}

// moved returns sentences about the former and the new place of the state. If one of the stores cannot be opened, it
// returns a general sentence, and init will report the error.
func (p *placement) moved(was, next settings) string {
	from, err1 := p.opener.clients.open(context.Background(), was)
	to, err2 := p.opener.clients.open(context.Background(), next)
	if err1 != nil || err2 != nil {
		return "Changes to backend configurations require reinitialization."
	}
	name := p.env.Selected()
	a, b := p.opener.place(was, from, name), p.opener.place(next, to, name)
	if names := was.differ(next); a == b && len(names) > 0 {
		return fmt.Sprintf("The state is in %s. These settings of its location or access have changed: %s.", a, strings.Join(names, ", "))
	}
	return fmt.Sprintf("The state is in %s, but the configuration now names %s.", a, b)
}
