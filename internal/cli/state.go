package cli

import (
	"cmp"
	"context"

	"github.com/lethe-iac/lethe/internal/backend"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// stores is the working directory as far as its states are concerned.
func (p *project) stores() *backend.Directory {
	return &backend.Directory{
		Env: p.workspaces(), Limits: p.limits.config, Sources: p.sources, Root: p.rootModule, Display: p.display,
		Static: func(root *config.Module) *lang.StaticFrame { return lang.Static(root, p.vars, p.staticOptions()) },
	}
}

// workspaces is what the states of the working directory touch.
func (c *call) workspaces() *workspace.Env {
	return &workspace.Env{FS: c.files(), Now: c.Now, Getenv: c.Getenv, Dir: c.Dir, Data: c.dataDir(), Version: Version, Bag: &c.bag}
}

// rootModule is the root module, read now by commands that need no configuration but its backend block;
// nil without one.
func (p *project) rootModule() *config.Module {
	if p.tree == nil {
		if root, _ := config.Load(p.dir, p.loadOptions(), &diag.Sources{}, &diag.Bag{}); root != nil {
			p.rootOnly(root)
		}
	}
	if p.tree == nil || p.tree.Root == nil {
		return nil
	}
	return p.tree.Root.Module
}

// rootOnly takes the root module alone for a configuration: enough to find the backend.
func (p *project) rootOnly(root *config.Module) {
	p.tree = &config.Tree{Root: &config.Node{Module: root}, Sources: p.sources}
}

// openStore opens the store in use, with what flags say about files.
func (p *project) openStore(ctx context.Context) (*backend.Opened, bool) {
	backup := p.opts.backup
	if backup != store.NoBackup {
		backup = p.path(backup)
	}
	return p.stores().Open(ctx, backend.Files{In: p.path(p.opts.state), Out: p.path(p.opts.stateOut), Backup: backup})
}

// lockRequest says how the flags want states to be locked.
func (p *project) lockRequest(operation string) workspace.Request {
	return workspace.Request{
		Operation: operation, Lock: p.opts.lock, Timeout: p.opts.lockTimeout, Looks: operation == "OperationTypePlan",
		Waiting: func() { p.ui.line("Acquiring state lock. This may take a few moments...") },
	}
}

// lockState locks a workspace, "" for the selected one, and reads its state.
func (p *project) lockState(ctx context.Context, name, operation string) (*workspace.State, bool) {
	env := p.workspaces()
	if name = cmp.Or(name, env.Selected()); !env.CheckName(name) {
		return nil, false
	}
	st, ok := p.openStore(ctx)
	if !ok {
		return nil, false
	}
	req := p.lockRequest(operation)
	req.Store, req.Name, req.Written = st.Store, name, st.Written
	ws, ok := workspace.Lock(ctx, env, req)
	if ok {
		p.storeType, p.engine.Leases = st.Type, ws
	}
	return ws, ok
}

// readState reads the state of the selected workspace without a lock; nil where there is none.
func (p *project) readState(ctx context.Context) (*state.Snapshot, bool) {
	env := p.workspaces()
	name := env.Selected()
	if !env.CheckName(name) {
		return nil, false
	}
	st, ok := p.openStore(ctx)
	if !ok {
		return nil, false
	}
	return workspace.Read(ctx, env, st.Store, name)
}
