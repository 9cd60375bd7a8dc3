package project

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/lethe-iac/lethe/internal/backend"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// States is the working directory as far as its states are concerned.
func (p *Project) States() *backend.Directory { return p.states() }

func (p *Project) newStates() *backend.Directory {
	return &backend.Directory{
		Env: Workspaces(p.Call), Limits: p.Limits, Sources: p.Call.Sources, Root: p.root, Display: p.Display, Agent: agent(p.Call), Hosts: p.hosts,
		Tell: func(text string) { p.UI.Line(text) }, Stop: p.Call.Stops.Abandon,
		WithoutInit: p.unasked, Using: func(text string) { fmt.Fprintln(p.Call.Stderr, p.Call.Secrets.Scrub(text)) },
		Secret: func(text, where string) {
			p.Call.Secrets.Add(text, secret.Origin{Addr: where, Kind: secret.Setting})
		},
		Static: func(root *config.Module) *frame.StaticFrame {
			if p.Vars.Given == nil && (root.Stored() == nil || root.Encryption != nil || p.Call.Getenv(config.EncryptionVariable) != "" || frame.Refers(root.Stored().Body)) {
				p.Vars.Collect()
			}
			return frame.Static(root, p.Vars.Given, p.StaticOptions())
		},
	}
}

// Workspaces is what the states of the working directory touch.
func Workspaces(c *base.Call) *workspace.Env {
	return &workspace.Env{FS: c.FS(), Now: c.Now, Getenv: c.Getenv, Dir: c.Dir, Data: dataDir(c.Env), Version: base.Version, Bag: &c.Bag, Log: c.Log}
}

// root is the root module, read now by commands that need no configuration but its backend block;
// nil without one.
func (p *Project) root() *config.Module {
	if p.Tree == nil {
		var bag diag.Bag
		if root, ok := config.Load(p.Dir, p.LoadOptions(), p.Call.Sources, &bag); root != nil {
			p.rootOnly(root)
			if !ok && (root.Unreadable() || root.Stored() == nil) {
				p.unsure = &bag
			}
		}
	}
	if p.Tree == nil || p.Tree.Root == nil {
		return nil
	}
	return p.Tree.Root.Module
}

// rootOnly takes the root module alone for a configuration: enough to find the backend.
func (p *Project) rootOnly(root *config.Module) {
	p.Tree = &config.Tree{Root: &config.Node{Module: root}, Sources: p.Call.Sources}
}

// BackendReady reports whether init has set up the backend of the configuration that was loaded.
func (p *Project) BackendReady() bool { return p.unsure != nil || p.Tree == nil || p.States().Ready() }

// OpenStore opens the store in use, with what flags say about files.
func (p *Project) OpenStore(ctx context.Context) (*backend.Opened, bool) {
	if p.root(); p.unsure != nil {
		p.Bag.Take(p.unsure)
		return nil, false
	}
	backup := p.Options.Backup
	if backup != store.NoBackup {
		backup = p.Call.Path(backup)
	}
	return p.States().Open(ctx, backend.Files{In: p.Call.Path(p.Options.State), Out: p.Call.Path(p.Options.StateOut), Backup: backup})
}

// OpenStores opens the store in use; the former and the next one where init has yet to settle which that is.
func (p *Project) OpenStores(ctx context.Context) ([]store.Store, bool) {
	if p.root(); p.unsure == nil {
		if both, ok := p.States().OpenBoth(ctx); !ok || len(both) > 0 {
			return both, ok
		}
	}
	st, ok := p.OpenStore(ctx)
	if !ok {
		return nil, false
	}
	return []store.Store{st.Store}, true
}

// LockRequest says how the flags want states to be locked.
func (p *Project) LockRequest(operation string) workspace.Request {
	interim := &workspace.Interim{Every: p.interval}
	if begin := p.Call.Stops.Begin; begin != nil {
		interim.At = begin.Done()
	}
	return workspace.Request{
		Interim:   interim,
		Operation: operation, Lock: p.Options.Lock, Timeout: p.Options.LockTimeout, Looks: operation == "OperationTypePlan", Unread: p.Replaces, Replaces: p.Overwrites, Settles: p.Settles,
		Shares:    operation == "OperationTypePlan" || operation == "OperationTypeApply",
		Refreshes: operation == "OperationTypeApply" || operation == "OperationTypeRefresh",
		Waiting: func() {
			p.UI.Tell(event.Note{Kind: "state_lock_acquire", Text: "Acquiring state lock. This may take a few moments..."})
		},
		Releasing: func() {
			p.UI.Tell(event.Note{Kind: "state_lock_release", Text: "Releasing state lock. This may take a few moments..."})
		},
	}
}

// LockState locks a workspace, "" for the selected one, until the command ends, and reads its state.
func (p *Project) LockState(ctx context.Context, name, operation string) (*workspace.State, bool) {
	return p.LockPart(ctx, name, operation, nil)
}

// LockPart is LockState for a command that needs a part of the state, where it can have that.
func (p *Project) LockPart(ctx context.Context, name, operation string, part workspace.Selecting) (*workspace.State, bool) {
	env := Workspaces(p.Call)
	if name = cmp.Or(name, env.Selected()); !env.CheckName(name) {
		return nil, false
	}
	st, ok := p.OpenStore(ctx)
	if !ok {
		return nil, false
	}
	if g, ok := store.As[store.Governed](st.Store); ok && !p.permitted(ctx, g, name, operation) {
		return nil, false
	}
	req := p.LockRequest(operation)
	req.Store, req.Name, req.Written, req.Part = st.Store, name, st.Written, part
	if keeps := p.Call.Keeps.Load(); keeps != nil {
		req.Keeper = keeps
	}
	ws, ok := workspace.Lock(ctx, env, req)
	if ok {
		p.Call.AtEnd(ws.Unlock)
		p.Backend, p.Place, p.BackendSettings, p.Engine.Leases = st.Type, st.Place(name), st.ForPlan(), ws
	}
	return ws, ok
}

// permitted reports whether the service that has the state lets a command do what it is about to do.
func (p *Project) permitted(ctx context.Context, g store.Governed, name, operation string) bool {
	version := base.Version
	if f := p.Call.Flags.Lookup("ignore-remote-version"); f != nil && f.Value.String() == "true" {
		version = ""
	}
	runs := strings.HasPrefix(operation, "OperationType") || operation == "import"
	err := g.Permit(ctx, name, runs, version)
	if err != nil {
		p.Bag.Add(diag.Errorf("Failed to use the backend", "%s.", err))
	}
	return err == nil
}

// dataDir is where the program keeps what belongs to the working directory.
func dataDir(e *base.Env) string {
	return paths.Text(e.Dir, cmp.Or(e.Getenv("TF_DATA_DIR"), ".terraform"))
}

// LangOptions are the frame options that all commands share.
func (p *Project) LangOptions() frame.Options {
	return frame.Options{
		Variables: p.Vars.Given, Workspace: Workspaces(p.Call).Selected(), Applying: p.Applying,
		RootDir: p.Root, Cwd: cmp.Or(p.Call.Called, p.Dir), BaseDir: p.Dir, Named: p.Call.Named,
		Limits: p.Limits, Closed: p.closed,
	}
}

// StaticOptions are those of what is evaluated before there is a program.
func (p *Project) StaticOptions() frame.Options {
	o := p.LangOptions()
	o.Applying = false
	if p.MayAsk() {
		o.Run = asker{v: p.Vars}
	}
	return o
}
