package runcmd

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/engine/changed"
	"github.com/lethe-iac/lethe/internal/engine/targeting"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// narrowed restricts a plan to changed resources or to targets, so that only a part of the state must be read.
type narrowed struct {
	s     *session.Session
	f     *planFlags
	reach *changed.Reach // the changed resources and their targets, set by the method changed; nil: no restriction to changed resources
}

// selecting returns a function that selects the part of the state for a plan. It returns nil if the plan needs the
// whole state.
func (n *narrowed) selecting() workspace.Selecting {
	var part func(context.Context, store.PartStore, string) ([]string, store.Version, error)
	switch targets, ok := n.f.onlyTargets(); {
	case n.f.wantsChanged():
		part = n.changed
	case ok:
		part = func(ctx context.Context, p store.PartStore, name string) ([]string, store.Version, error) {
			r, err := p.Review(ctx, name, nil)
			if err != nil {
				return nil, "", err
			}
			return changed.Needs(n.s.Program, r, targets), r.Version, nil
		}
	default:
		return nil
	}
	return func(ctx context.Context, p store.PartStore) ([]string, store.Version, error) {
		return part(ctx, p, workdir.Workspaces(n.s.Dir.Call).Selected())
	}
}

// changed returns the addresses of the resources to read from p for a plan of the changed resources, and the version of
// the state. It sets n.reach. The addresses are nil if the plan needs the whole state.
func (n *narrowed) changed(ctx context.Context, p store.PartStore, name string) ([]string, store.Version, error) {
	stamps := stampsOf(n.s)
	r, err := p.Review(ctx, name, stamps.Known)
	if err != nil {
		return nil, "", err
	}
	var more []addr.Resource
	for _, text := range n.f.replace {
		if i, err := addr.ParseInstance(text); err == nil {
			more = append(more, i.Resource())
		}
	}
	n.reach, err = stamps.Reach(r, more)
	if err != nil || n.reach.Whole {
		return nil, "", err
	}
	return append([]string{}, n.reach.Part...), r.Version, nil
}

// stampsOf returns the stamps of the configuration: digests of the sources of each resource, which show which resources
// have changed since the last apply.
func stampsOf(s *session.Session) *changed.Stamps {
	return s.Engine.Stamps(s.Program, s.FrameOptions(), func(a addr.Provider) (string, bool) {
		lock, _ := s.Dir.Lock.Get(a)
		return lock.Version, !s.Plugins.Developed(a)
	})
}

// began is called with the locked state ws. It prints the scope of a plan of the changed resources. If the whole state
// was read, it removes the restriction to changed resources. It reports an error and returns false if -changed is set,
// but the backend does not store the state in rows.
func (n *narrowed) began(ws *workspace.State) bool {
	if f := n.f; f.changed != nil && *f.changed && !ws.Stamped() {
		n.s.Dir.Call.Bag.Add(diag.Errorf("Failed to use the backend", "The option -changed needs the backend \"pg\" with layout = \"rows\"."))
		return false
	}
	if ws.Part() == nil {
		n.reach = nil
	}
	if r := n.reach; r != nil {
		n.s.Dir.Call.UI.Line("Planning changed resources only: " + diag.Counted(r.Changed, "resource", "resources") + ", and resources that refer to them.")
	}
	return true
}

// narrow restricts the plan request req to the part of the state that ws has read, and to the changed resources.
func (n *narrowed) narrow(req *engine.Request, ws *workspace.State) {
	req.Part = ws.Part()
	if n.reach != nil {
		req.Targets, req.Origin = n.reach.Targets, targeting.Changes
	}
}

// settle records the stamps (digests of the sources) of the resources that need no further changes after an apply. It
// does nothing if the store keeps no stamps.
func settle(s *session.Session, ws *workspace.State, pl *plan.Plan, after *state.Snapshot) {
	if ws.Stamped() {
		ws.Stamp(stampsOf(s).Settled(pl, after.Checks))
	}
}
