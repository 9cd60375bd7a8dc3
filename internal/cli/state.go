package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/zclconf/go-cty/cty"
)

// workspaceState is the state of one workspace, locked for a command.
type workspaceState struct {
	*project
	store    store.Store
	name     string
	backend  string
	snapshot *state.Snapshot // as read, journal included; never nil
	version  store.Version
	release  func(context.Context) error
	unknown  []journal.Unknown // calls of a lost run whose outcome nobody knows

	starting sync.Mutex        // held while the journal is begun
	journal  *journal.Writer   // from the first lease on, or the first change
	left     *journal.Recovery // a journal that is there and stays: this run only looks
	aside    bool              // another run may have its journal there: nothing is written to it
	keep     bool              // the journal has what the state has not
}

// drivers are the kinds of store that the program knows.
var drivers = store.Drivers{store.LocalDriver, store.MemoryDriver}

// openStore opens the store in use (backend.go), with what flags say about files.
func (p *project) openStore(ctx context.Context) (store.Store, bool) {
	current, known, ok := p.currentSettings()
	if !ok {
		return nil, false
	}
	p.storeType = current.driver.Name
	st, ok := p.openWith(ctx, current)
	if !ok {
		return nil, false
	}
	if !known && p.opts.state == "" {
		if !p.settled(ctx, current, st) {
			return nil, false
		}
		if p.opts.stateOut == "" {
			p.unremembered = &current
		}
	}
	if local, ok := st.(*store.Local); ok && p.opts.state+p.opts.stateOut+p.opts.backup != "" {
		return local.Override(p.path(p.opts.state), p.path(p.opts.stateOut), p.backupPath()), true
	}
	return st, true
}

func (p *project) backupPath() string {
	if p.opts.backup == store.NoBackup {
		return p.opts.backup
	}
	return p.path(p.opts.backup)
}

// backend is the backend block of the root module; nil without one, and for commands that need no
// configuration.
func (p *project) backend() *config.Backend {
	if p.tree == nil {
		if root, _ := config.Load(p.dir, p.loadOptions(), &diag.Sources{}, &diag.Bag{}); root != nil {
			p.rootOnly(root)
		}
	}
	if p.tree == nil || p.tree.Root == nil || p.tree.Root.Module == nil {
		return nil
	}
	return p.tree.Root.Module.Backend
}

// rootOnly takes the root module alone for a configuration: enough to find the backend.
func (p *project) rootOnly(root *config.Module) {
	p.tree = &config.Tree{Root: &config.Node{Module: root}, Sources: p.sources}
}

// workspaceState locks the selected workspace and reads its state.
func (p *project) workspaceState(ctx context.Context, operation string) (*workspaceState, bool) {
	if !p.nameFits() {
		return nil, false
	}
	return p.lockWorkspace(ctx, p.workspace(), operation)
}

// nameFits refuses the name of a workspace from the environment that none can have.
func (c *call) nameFits() bool {
	name := c.workspace()
	fits := validWorkspace(name)
	if !fits {
		c.bag.Add(invalidWorkspace(name))
	}
	return fits
}

func (p *project) lockWorkspace(ctx context.Context, name, operation string) (*workspaceState, bool) {
	st, ok := p.openStore(ctx)
	if !ok {
		return nil, false
	}
	return p.lockStored(ctx, st, name, operation)
}

// lockStored locks a workspace of a store and reads its state.
func (p *project) lockStored(ctx context.Context, st store.Store, name, operation string) (*workspaceState, bool) {
	ws := &workspaceState{project: p, store: st, name: name, backend: p.storeType}
	var ok bool
	if p.opts.lock && !ws.take(ctx, operation) {
		return nil, false
	}
	if ws.snapshot, ws.version, ok = p.read(ctx, st, name); !ok {
		ws.unlock()
		return nil, false
	}
	write := operation != "OperationTypePlan"
	ws.aside = !write && !p.opts.lock
	if !ws.recover(ctx, write) {
		ws.unlock()
		return nil, false
	}
	if p.engine != nil {
		p.engine.Leases = ws
	}
	return ws, true
}

// take locks the state, waiting as long as -lock-timeout allows.
func (ws *workspaceState) take(ctx context.Context, operation string) bool {
	waiting := func(*store.LockError) { ws.ui.line("Acquiring state lock. This may take a few moments...") }
	release, err := store.Acquire(ctx, ws.store, ws.name, store.NewLockInfo(operation, Version), ws.opts.lockTimeout, waiting)
	if err != nil {
		ws.bag.Add(store.LockDiagnostic(err, "Lethe"))
		return false
	}
	ws.release = release
	return true
}

// unlock ends the journal, if there is one, and gives the lock back. It may be called more than once.
func (ws *workspaceState) unlock() {
	ws.end()
	if ws.release == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := ws.release(ctx); err != nil {
		ws.bag.Add(diag.Errorf("Error releasing the state lock", "Error message: %s\n\nLethe acquires a lock when accessing your state to prevent others\nrunning Lethe to potentially modify the state at the same time. An\nerror occurred while releasing this lock. This could mean that the lock\ndid or did not release properly; you may have to release it with the\n\"force-unlock\" command.", err))
	}
	ws.release = nil
}

// readState reads the state of the selected workspace without a lock; nil where there is none. What
// a run has recorded beside it, one that was killed or one that goes on, belongs to it.
func (p *project) readState(ctx context.Context) (*state.Snapshot, bool) {
	if !p.nameFits() {
		return nil, false
	}
	st, ok := p.openStore(ctx)
	if !ok {
		return nil, false
	}
	ws := &workspaceState{project: p, store: st, name: p.workspace()}
	s, v, ok := p.read(ctx, st, ws.name)
	if !ok {
		return nil, false
	}
	if r, err := journal.Recover(p.files(), ws.journalFile(), s); err == nil && r != nil {
		return r.Snapshot, true
	}
	if v == "" {
		return nil, true
	}
	return s, true
}

func (p *project) read(ctx context.Context, st store.Store, name string) (*state.Snapshot, store.Version, bool) {
	data, version, err := st.Get(ctx, name)
	if err != nil {
		p.bag.Add(diag.Errorf("Failed to load state", "Error refreshing state: %s", err))
		return nil, "", false
	}
	if version == "" {
		return &state.Snapshot{}, "", true
	}
	s, ok := state.Read(data, &p.bag)
	return s, version, ok
}

// missing reports whether there is no state, and no journal of one.
func (ws *workspaceState) missing() bool { return ws.version == "" && ws.snapshot.Len() == 0 }

// saveApplied writes what came of an apply: if it differs from what was read, and if there was no
// state at all, so that there is one from then on.
func (ws *workspaceState) saveApplied(next *state.Snapshot) bool {
	if ws.version == "" && (next == nil || next.Lineage == "") {
		e := (&state.Snapshot{}).Edit()
		if next != nil {
			e = next.Edit()
		}
		e.Head().Lineage = state.NewLineage()
		next = e.Done()
	}
	return ws.save(next)
}

// save writes a snapshot if it differs from what was read.
func (ws *workspaceState) save(next *state.Snapshot) bool {
	next, changed := state.Next(ws.snapshot, next, Version)
	if !changed {
		ws.keep = false
	}
	return !changed || ws.put(next)
}

// put writes a snapshot as it is. If the store refuses, the state goes to a file that only the
// user can read, never to the screen.
func (ws *workspaceState) put(next *state.Snapshot) bool {
	data, err := next.Bytes()
	recorded := ws.keep && ws.journal.Err() == nil
	if err == nil && ws.journal != nil {
		// That the state is about to be written helps whoever comes after a kill between that and
		// the removal of the journal. A journal that takes no more, which was said, is no reason
		// not to write.
		_ = ws.journal.End(state.DigestOf(data))
	}
	if err == nil {
		ws.version, err = ws.store.Put(context.Background(), ws.name, data, ws.version)
	}
	if err == nil {
		ws.snapshot, ws.keep = next, false
		if s := ws.unremembered; s != nil {
			ws.unremembered = nil
			ws.adopt(*s, true)
		}
		return true
	}
	ws.bag.Add(diag.Errorf("Failed to save state", "Error saving state: %s\n\n%s", err, ws.whereabouts(next, data, recorded)))
	return false
}

// whereabouts says where a state is that could not be written: in another file, or in the journal
// of a run that recorded everything, or nowhere but on the screen.
func (ws *workspaceState) whereabouts(next *state.Snapshot, data []byte, recorded bool) string {
	path, err := store.EmergencyDump(ws.files(), data, store.EmergencyDirs(ws.dir, ws.Getenv)...)
	switch {
	case err == nil:
		return fmt.Sprintf("The updated state was written to %s. Put it in place with: lethe state push %s", path, path)
	case recorded:
		return "The journal beside the state still has everything that was done: the next command takes it in."
	case !ws.keep:
		return "The state is as it was."
	}
	var b strings.Builder
	b.WriteString("No other directory took it, and the journal has not all of it. These objects differ from the state that is stored; write them down, and import those that are missing:")
	for o, e := range next.Objects() {
		if ws.snapshot.Get(o) != e {
			fmt.Fprintf(&b, "\n  %s [id=%s]", o, idOf(e))
		}
	}
	for o := range ws.snapshot.Objects() {
		if next.Get(o) == nil {
			fmt.Fprintf(&b, "\n  %s (is gone)", o)
		}
	}
	return b.String()
}

// journalFile is where the progress of an apply is written.
func (ws *workspaceState) journalFile() string {
	if f, ok := ws.store.(store.Filer); ok {
		return journal.Path(f.File(ws.name))
	}
	return journal.Path(filepath.Join(ws.data, ws.name))
}

// begin starts the journal, unless it has begun: with the first lease, or with an apply. Where there
// is one that this run does not take in, it goes on in that.
func (ws *workspaceState) begin() error {
	ws.starting.Lock()
	defer ws.starting.Unlock()
	if ws.journal != nil {
		return nil
	}
	o := journal.Options{FS: ws.files(), Now: ws.Now, Carry: ws.unknown}
	run := ws.name + "-" + ws.Now().UTC().Format("20060102T150405Z")
	var err error
	if ws.left != nil {
		ws.journal, err = ws.left.Continue(ws.journalFile(), run, o)
	} else {
		ws.journal, err = journal.Create(ws.journalFile(), journal.About(ws.snapshot, state.NewLineage(), run, Version), o)
	}
	return err
}

// record starts the journal of an apply: from now on it has what the state has not.
func (ws *workspaceState) record() bool {
	if err := ws.begin(); err != nil {
		ws.bag.Add(diag.Errorf("Failed to begin the journal", "The journal of this run could not be created: %s.", err))
		return false
	}
	ws.keep = true
	return true
}

// Opening implements journal.Leases.
func (ws *workspaceState) Opening(o addr.Object, p addr.Provider) (journal.Op, error) {
	if ws.aside {
		return 0, nil
	}
	if err := ws.begin(); err != nil {
		return 0, err
	}
	return ws.journal.Opening(o, p)
}

// Over implements journal.Leases.
func (ws *workspaceState) Over(op journal.Op) {
	ws.starting.Lock()
	defer ws.starting.Unlock()
	if ws.journal != nil {
		ws.journal.Over(op)
	}
}

// end closes the journal. It is dropped, unless it has something that the state has not: changes,
// calls that nobody answered, leases that are open, or what an earlier run left. The next command is
// told of them.
func (ws *workspaceState) end() {
	if ws.journal == nil {
		return
	}
	keep := ws.keep || ws.journal.Unsettled()
	if keep && !ws.keep && ws.left == nil {
		_ = ws.journal.End(ws.snapshot.Digest()) // the changes in it are in the state
	}
	ws.starting.Lock()
	defer ws.starting.Unlock()
	err := ws.journal.Close()
	if !keep && ws.left == nil {
		err = errors.Join(err, journal.Remove(ws.files(), ws.journalFile()))
	}
	if err != nil {
		ws.bag.Add(diag.Warningf("Journal not removed", "%s.", err))
	}
	ws.journal = nil
}

// recover takes in what a run that was killed had done, and names what nobody knows the outcome
// of. Only commands that change things write it down.
func (ws *workspaceState) recover(ctx context.Context, write bool) bool {
	path := ws.journalFile()
	r, err := journal.Recover(ws.files(), path, ws.snapshot)
	var mismatch *journal.MismatchError
	switch {
	case errors.As(err, &mismatch):
		aside, err := journal.Aside(ws.files(), path)
		if err != nil {
			aside = path
		}
		ws.bag.Add(diag.Warningf("Journal of another state", "Beside the state there was a journal of an earlier run that does not belong to it: %s. It was kept as %s.", mismatch.Reason, aside))
		ws.toldLeases(mismatch.Leases)
		return true
	case err != nil:
		ws.bag.Add(diag.Errorf("Failed to read the journal", "%s.", err))
		return false
	case r == nil:
		return true
	}
	if ws.busy(ctx) {
		if write {
			ws.bag.Add(diag.Errorf("Another run goes on", "The run %s is changing this state at this moment and keeps its journal beside it. Two runs cannot, not even with -lock=false. Wait until it is over.", r.Header.Run))
			return false
		}
		ws.bag.Add(diag.Warningf("Another run goes on", "With -lock=false this is done on a state that another run is changing, the run %s. What it did so far is taken into account, what it still does is not.", r.Header.Run))
		ws.snapshot = r.Snapshot
		return true
	}
	ws.told(r)
	if !write {
		ws.snapshot, ws.left = r.Snapshot, r
		return true
	}
	return ws.takeIn(r, path)
}

// busy reports whether another run holds the lock: its journal tells nothing of an end then.
func (ws *workspaceState) busy(ctx context.Context) bool {
	if ws.release != nil {
		return false
	}
	release, err := ws.store.Lock(ctx, ws.name, store.NewLockInfo("OperationTypePlan", Version))
	if err == nil {
		err = release(ctx)
	}
	var held *store.LockError
	return errors.As(err, &held)
}

// told says what a journal tells.
func (ws *workspaceState) told(r *journal.Recovery) {
	if r.Changes > 0 && !r.Written {
		ws.bag.Add(diag.Warningf("Recovered an interrupted run", "The run %s ended before it wrote the state. By its journal, %s taken in.", r.Header.Run, counted(r.Changes, "change was", "changes were")))
	}
	if r.Missing > 0 {
		ws.bag.Add(diag.Warningf("Journal damaged", "In the journal of run %s, %s unreadable. Compare the state with what really exists.", r.Header.Run, counted(r.Missing, "record is", "records are")))
	}
	if len(r.Unknown) > 0 {
		text := ""
		for _, u := range r.Unknown {
			text += "  " + u.String() + "\n"
		}
		ws.bag.Add(diag.Warningf("Outcome unknown", "An earlier run ended without an answer to these calls:\n%s\nCheck whether the objects exist, and import those that do.", text))
	}
	ws.toldLeases(r.Leases)
}

// toldLeases names leases that a run opened and did not live to close.
func (ws *workspaceState) toldLeases(leases []journal.Lease) {
	if len(leases) == 0 {
		return
	}
	text := ""
	for _, l := range leases {
		text += "  " + l.String() + "\n"
	}
	ws.bag.Add(diag.Warningf("Leases left open", "An earlier run ended without closing what it had opened, as far as is known:\n%s\nNothing closes these any more: they end when their time is over, or when you revoke them.", text))
}

// takeIn writes the recovered state and drops the journal.
func (ws *workspaceState) takeIn(r *journal.Recovery, path string) bool {
	next, changed := state.Next(ws.snapshot, r.Snapshot, Version)
	if changed && !r.Written {
		data, err := next.Bytes()
		if err == nil {
			err = r.Conclude(ws.files(), path, state.DigestOf(data))
		}
		if err != nil {
			ws.bag.Add(diag.Errorf("Failed to take in the journal", "%s.", err))
			return false
		}
		if !ws.put(next) {
			return false
		}
	}
	ws.unknown = r.Unknown
	if err := journal.Remove(ws.files(), path); err != nil {
		ws.bag.Add(diag.Errorf("Failed to take in the journal", "%s.", err))
		return false
	}
	return true
}

// remoteState reads the outputs of another state, for terraform_remote_state.
func (p *project) remoteState(ctx context.Context, backend, workspace string, config cty.Value) (map[string]cty.Value, provider.Diags) {
	driver, ok := drivers.Find(backend)
	if !ok {
		return nil, provider.Diags{noDriver(backend).In(cty.GetAttrPath("backend"))}
	}
	if config.IsNull() {
		config = cty.EmptyObjectVal
	}
	config, err := driver.Schema.Coerce(config)
	if err != nil {
		return nil, provider.Diags{diag.Errorf("Invalid backend configuration", "The settings of the store are not what %q takes: %s.", backend, err).In(cty.GetAttrPath("config"))}
	}
	st, err := driver.Open(ctx, store.Settings{Config: config, Dir: p.dir, Getenv: p.Getenv, FS: p.files()})
	if err != nil {
		return nil, provider.Diags{diag.Errorf("Failed to open the state store", "%s.", err)}
	}
	data, _, err := st.Get(ctx, workspace)
	if err != nil {
		return nil, provider.Diags{diag.Errorf("Failed to load state", "%s.", err)}
	}
	if data == nil {
		return nil, provider.Diags{diag.Errorf("Unable to find remote state", "No stored state was found for the given workspace in the given backend.")}
	}
	var bag diag.Bag
	s, ok := state.Read(data, &bag)
	if !ok {
		return nil, provider.Diags(bag.List())
	}
	out := map[string]cty.Value{}
	for name, o := range s.Outputs {
		out[name] = o.Value.Raw
	}
	return out, nil
}
