package declared

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provision"
	"github.com/lethe-iac/lethe/internal/state"
)

// Provisioners are the provisioners of one object that run at its creation or at its destruction.
type Provisioners struct {
	List       []*config.Provisioner
	Connection *config.Connection   // the connection block of the resource
	Decl       *program.Declaration // nil: the provisioners are in a removed block
	In         addr.ModuleInstance  // module instance in which the provisioners are evaluated
}

// ProvisionersOf returns the provisioners that a change runs: at the destruction of the object if destroy is true, and
// at its creation otherwise. It returns no provisioners if the change does not create or destroy a managed object, or
// if destroy is true and the object is tainted and not complete. e is the state entry of the object to destroy; at a
// creation it is nil.
func ProvisionersOf(prog *program.Program, removed *Removals, c *plan.Change, e *state.Entry, destroy bool) Provisioners {
	runs := c.Action == plan.Create || c.Action.Replaces()
	if destroy {
		// As in Terraform, no destroy-time provisioner runs for a tainted object: its creation may have ended too early
		// for these provisioners to have something to clean up. A complete object is tainted only because its
		// replacement was left to a later command.
		runs = (c.Action == plan.Delete || c.Action == plan.DeleteCreate || c.Action == plan.CreateDelete) && e != nil && (!e.Tainted || e.Complete)
	}
	if !runs || c.Object.Mode != addr.Managed {
		return Provisioners{}
	}
	if d, ok := prog.Resource(c.Object.Resource()); ok {
		return Provisioners{during(d.Res.Provisioners, destroy), d.Res.Connection, d, c.Object.Module}
	}
	if b, ok := removed.Of(c.Object.Instance); ok && destroy {
		return Provisioners{during(b.Block.Provisioners, true), b.Block.Connection, nil, c.Object.Module.Around(b.In)}
	}
	return Provisioners{}
}

// Deposes reports whether the change c destroys an object that is deposed at that time: because the replacement creates
// the new object first, or because the object was deposed before.
func Deposes(c *plan.Change) bool { return c.Action == plan.CreateDelete || c.Object.IsDeposed() }

func during(all []*config.Provisioner, destroy bool) []*config.Provisioner {
	var out []*config.Provisioner
	for _, p := range all {
		if p.Destroy == destroy {
			out = append(out, p)
		}
	}
	return out
}

// Connections returns the connection blocks that apply to a provisioner, the more general block first. It returns nil
// for local-exec, which needs no connection.
func (h *Provisioners) Connections(p *config.Provisioner) []*config.Connection {
	var out []*config.Connection
	if p.Type == provision.LocalExec {
		return nil
	}
	if h.Connection != nil {
		out = append(out, h.Connection)
	}
	if p.Connection != nil {
		out = append(out, p.Connection)
	}
	return out
}

// Parts returns the blocks that must be evaluated to run a provisioner: the provisioner and its connections.
func (h *Provisioners) Parts(p *config.Provisioner) []any {
	out := []any{p}
	for _, c := range h.Connections(p) {
		out = append(out, c)
	}
	return out
}
