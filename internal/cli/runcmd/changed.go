package runcmd

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/engine/changed"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// narrowed is a plan of what changed alone.
type narrowed struct {
	p     *project.Project
	f     *planFlags
	reach *changed.Reach // nil: the plan is of everything
}

// selecting finds out which part of the state a plan is made from: where it is of what changed, or of targets; nil: of
// all of it.
func (n *narrowed) selecting() workspace.Selecting {
	var part func(context.Context, store.Parted, string) ([]string, store.Version, error)
	switch targets, ok := n.f.onlyTargets(); {
	case n.f.wantsChanged():
		part = n.changed
	case ok:
		part = func(ctx context.Context, p store.Parted, name string) ([]string, store.Version, error) {
			r, err := p.Review(ctx, name, nil)
			if err != nil {
				return nil, "", err
			}
			return changed.Needs(n.p.Program, r, targets), r.Version, nil
		}
	default:
		return nil
	}
	return func(ctx context.Context, p store.Parted) ([]string, store.Version, error) {
		return part(ctx, p, project.Workspaces(n.p.Call).Selected())
	}
}

// changed finds out what changed.
func (n *narrowed) changed(ctx context.Context, p store.Parted, name string) ([]string, store.Version, error) {
	stamps := stampsOf(n.p)
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

// stampsOf finds out what the configuration says of each resource.
func stampsOf(p *project.Project) *changed.Stamps {
	return p.Engine.Stamps(p.Program, p.LangOptions(), func(a addr.Provider) (string, bool) {
		lock, _ := p.Lock.Get(a)
		return lock.Version, !p.Developed(a)
	})
}

// began says what a plan of what changed is about, and refuses it where states have no parts.
func (n *narrowed) began(ws *workspace.State) bool {
	if f := n.f; f.changed != nil && *f.changed && !ws.Stamped() {
		n.p.Bag.Add(diag.Errorf("Failed to use the backend", "A plan of what changed (-changed) needs a state that is kept in rows: backend \"pg\" with layout = \"rows\"."))
		return false
	}
	if ws.Part() == nil {
		n.reach = nil
	}
	if r := n.reach; r != nil {
		n.p.UI.Line("Planning for what changed: " + diag.Counted(r.Changed, "resource", "resources") + ", and what refers to them.")
	}
	return true
}

// narrow makes a request one for a part of the state.
func (n *narrowed) narrow(req *engine.Request, ws *workspace.State) {
	req.Part = ws.Part()
	if n.reach != nil {
		req.Targets, req.Changed = n.reach.Targets, true
	}
}

// settle says for what nothing is left to do after a plan was carried out, which left a state behind.
func settle(p *project.Project, ws *workspace.State, pl *plan.Plan, after *state.Snapshot) {
	if ws.Stamped() {
		ws.Stamp(stampsOf(p).Settled(pl, after.Checks))
	}
}
