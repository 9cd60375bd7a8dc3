// Package states opens the stores of a working directory, and locks, reads and repairs states. Commands about states
// need no provider, and only the backend block of the configuration.
//
//	plugins.go   storePlugins: the providers of state stores
//	selected.go  Selected: the selected workspace, without a lock
//	states.go    States: the store that the backend settings name, and locked states
package states

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/backend"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/loader"
	"github.com/lethe-iac/lethe/internal/cli/plugins"
	"github.com/lethe-iac/lethe/internal/cli/settings"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/crypt"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// States opens and locks the states of a working directory. It keeps a function for each locked state that unlocks this
// state.
type States struct {
	Backend *backend.Directory // the location of the states

	dir     *workdir.Directory
	loader  *loader.Loader // loads the configuration, which has the backend block
	plugins *storePlugins
	locked  []func() // for each locked state, a function that unlocks it
}

// New returns the states of a working directory. The caller must call Unlock at the end of the command.
func New(l *loader.Loader) *States {
	s := &States{dir: l.Dir, loader: l, plugins: &storePlugins{Installation: plugins.New(l.Dir)}}
	l.Dir.Call.Other = s.other
	l.Dir.Call.AtEnd(s.plugins.close) // called after Unlock, because functions of AtEnd run in the reverse order
	s.Backend = backend.New(s.options())
	return s
}

// Open opens the working directory for a command that only works on states. At the end of the command, the states are
// unlocked. It reports an error and returns false if the directory or a setting is invalid.
func Open(c *base.Call, o *workdir.Options) (*States, bool) {
	d, ok := workdir.Open(c, o)
	if !ok {
		return nil, false
	}
	s := New(loader.New(d))
	c.AtEnd(s.Unlock)
	return s, true
}

// other opens the store of another working directory, to finish a transfer. If the store cannot be opened, it returns
// false, and the bag of the returned Env has the error.
func (s *States) other(ctx context.Context, dir string) (*workspace.Env, store.Store, bool) {
	o, err := s.dir.Call.In(dir)
	if err != nil {
		env := &workspace.Env{Bag: &diag.Bag{}}
		env.Bag.Add(diag.Errorf("Failed to use the backend", "The directory cannot be used: %s.", disk.Reason(err)))
		return env, nil, false
	}
	st, ok := Open(o, &workdir.Options{Lock: true})
	if !ok {
		return workdir.Workspaces(o), nil, false
	}
	opened, ok := st.OpenStore(ctx)
	if !ok {
		return workdir.Workspaces(o), nil, false
	}
	return workdir.Workspaces(o), opened.Store, true
}

// options returns the settings and functions that package backend needs for the working directory.
func (s *States) options() backend.Options {
	d, c, vars := s.dir, s.dir.Call, s.loader.Vars
	return backend.Options{
		Env: workdir.Workspaces(c), Limits: d.Settings.Limits, Sources: c.Sources, Root: s.loader.Root, Display: d.Display,
		WithoutInit: d.Settings.WithoutInit, Using: func(text string) { fmt.Fprintln(c.Stderr, c.Secrets.Scrub(text)) },
		Clients: backend.Clients{
			Agent: settings.Agent(c), Hosts: d.Network.Hosts(), Notify: func(text string) { c.UI.Line(text) }, Stop: c.Stops.Abandon,
			Secret: func(text, where string) {
				c.Secrets.Add(text, secret.Origin{Addr: where, Kind: secret.Setting})
			},
		},
		Plugins: s.plugins,
		Static: func(root *config.Module) *frame.StaticFrame {
			if vars.Given == nil && (root.Stored() == nil || root.Encryption != nil || c.Getenv(config.EncryptionVariable) != "" || frame.Refers(root.Stored().Body)) {
				vars.Collect()
			}
			return frame.Static(root, vars.Given, vars.StaticOptions())
		},
	}
}

// BackendOf returns the backend of a module that is not the root module of the working directory, such as the module of
// a test run. The backend stores its files in the given data directory, and adds its errors to bag.
func (s *States) BackendOf(root *config.Module, data string, bag *diag.Bag) *backend.Directory {
	o := s.options()
	o.Root = func() *config.Module { return root }
	o.Env.Data, o.Env.Bag = data, bag
	return backend.New(o)
}

// Ready reports whether init has set up the backend of the loaded configuration. If not, it adds an error. It returns
// true if no configuration is loaded. It also returns true if errors of the configuration hide its backend, because
// OpenStore reports these errors.
func (s *States) Ready() bool {
	return s.loader.Tree == nil || s.loader.Unsure() != nil || s.Backend.Ready()
}

// OpenStore opens the store that the backend settings name. If flags such as -state name files, the store reads and
// writes these files. It reports an error and returns false if the store cannot be opened, or if errors of the
// configuration hide its backend.
func (s *States) OpenStore(ctx context.Context) (*backend.Opened, bool) {
	if unsure := s.loader.Unsure(); unsure != nil {
		s.dir.Call.Bag.Move(unsure)
		return nil, false
	}
	c, o := s.dir.Call, s.dir.Options
	backup := o.Backup
	if backup != store.NoBackup {
		backup = c.Path(backup)
	}
	return s.Backend.Open(ctx, backend.Files{In: c.Path(o.State), Out: c.Path(o.StateOut), Backup: backup, Alone: !o.Runs})
}

// OpenAll opens the store that the backend settings name. If the backend block has changed, and init has not yet moved
// the state from the former store to the next store, OpenAll opens both; it opens only the former store if the block
// does not name the next store completely. If a store cannot be opened, OpenAll reports an error and returns false.
func (s *States) OpenAll(ctx context.Context) ([]store.Store, bool) {
	if s.loader.Unsure() == nil {
		if both, ok := s.Backend.OpenBoth(ctx); !ok || len(both) > 0 {
			return both, ok
		}
	}
	st, ok := s.OpenStore(ctx)
	if !ok {
		return nil, false
	}
	return []store.Store{st.Store}, true
}

// Request returns the request to lock a state for an operation, with the settings of the flags. The caller sets the
// store and the name of the workspace.
func (s *States) Request(of operation.Operation) workspace.Request {
	interim := &workspace.Interim{Every: s.dir.Settings.Interim}
	if begin := s.dir.Call.Stops.Begin; begin != nil {
		interim.At = begin.Done()
	}
	return workspace.Request{
		Interim:   interim,
		File:      cmp.Or(s.dir.Options.StateOut, s.dir.Options.State),
		Operation: of, Lock: s.dir.Options.Lock, Timeout: s.dir.Options.LockTimeout,
		Waiting: func() {
			s.dir.Call.UI.Send(event.Note{Kind: "state_lock_acquire", Text: "Acquiring state lock. This may take a few moments..."})
		},
		Releasing: func() {
			s.dir.Call.UI.Send(event.Note{Kind: "state_lock_release", Text: "Releasing state lock. This may take a few moments..."})
		},
	}
}

// Locking describes which state to lock, and for which purpose.
type Locking struct {
	Operation operation.Operation
	Workspace string              // "" means the selected workspace
	Part      workspace.Selecting // selects the parts to lock, if the store can lock parts; nil: the whole state
	Shared    bool                // if the operation only reads (its Policy), other commands with Shared may hold the lock at the same time
	Settles   addr.Instance       // the instance whose provider calls with an unknown outcome the command settles
}

// Locked is a locked state with its backend.
type Locked struct {
	State *workspace.State

	// The following fields are stored in saved plans: the type of the backend, the place of the state, and the backend
	// settings without secrets.
	Type     string
	Place    string
	Settings json.RawMessage
}

// Lock locks the state of a workspace and reads it. The lock lasts until Unlock. If the name of the workspace is
// invalid, if the service that stores the state does not permit the operation, or if the state cannot be locked or
// read, Lock reports an error and returns false.
func (s *States) Lock(ctx context.Context, l Locking) (*Locked, bool) {
	env := workdir.Workspaces(s.dir.Call)
	name := cmp.Or(l.Workspace, env.Selected())
	if !env.CheckName(name) {
		return nil, false
	}
	st, ok := s.OpenStore(ctx)
	if !ok {
		return nil, false
	}
	if g := st.Store.Capabilities().Policy; g != nil && !s.permitted(ctx, g, name, l.Operation) {
		return nil, false
	}
	req := s.Request(l.Operation)
	req.Store, req.Name, req.Written, req.Part, req.Resolves, req.Shared = st.Store, name, st.Written, l.Part, l.Settles, l.Shared
	req.Replaced = st.Replaced
	if keeps := s.dir.Call.Keeps.Load(); keeps != nil {
		req.Keeper = keeps
	}
	ws, ok := workspace.Lock(ctx, env, req)
	if !ok {
		return nil, false
	}
	s.locked = append(s.locked, ws.Unlock)
	return &Locked{State: ws, Type: st.Type, Place: st.Place(name), Settings: st.ForPlan()}, true
}

// Unlock releases all locks of Lock and BeginRepair, in reverse order. Further calls have no effect.
func (s *States) Unlock() {
	for n := len(s.locked) - 1; n >= 0; n-- {
		s.locked[n]()
	}
	s.locked = nil
}

// permitted reports whether the service that stores the state permits the operation. If not, it adds an error.
func (s *States) permitted(ctx context.Context, g store.PolicyChecker, name string, of operation.Operation) bool {
	version := base.Version
	if f := s.dir.Call.Flags.Lookup("ignore-remote-version"); f != nil && f.Value.String() == "true" {
		version = ""
	}
	err := g.Permit(ctx, name, of.Policy().Runs, version)
	if err != nil {
		s.dir.Call.Bag.Add(diag.Errorf("Failed to use the backend", "%s.", err))
	}
	return err == nil
}

// OpenState decodes the content of a state file, which may be encrypted, and reports errors to bag. The argument which
// is a sentence that names the file in messages. The boolean is false if OpenState reported an error.
func (s *States) OpenState(ctx context.Context, data []byte, which string, bag *diag.Bag) (*state.Snapshot, bool) {
	var reported diag.Bag
	decoded, ok := s.openState(ctx, data, &reported)
	for _, d := range reported.List() {
		d.Detail += " " + which
		bag.Add(d)
	}
	return decoded, ok
}

func (s *States) openState(ctx context.Context, data []byte, bag *diag.Bag) (*state.Snapshot, bool) {
	if crypt.Sealed(data) {
		e, ok := s.Backend.Encryption()
		if !ok {
			return nil, false
		}
		var err error
		if data, _, err = e.State.Open(ctx, data); err != nil {
			bag.Add(workspace.Problem(err, diag.Errorf("Failed to load state", "%s.", err)))
			return nil, false
		}
	}
	return state.Read(data, bag)
}
