package backend

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/store"
)

// Opened is an open store that a command uses.
type Opened struct {
	store.Store
	Type string // the name of the kind of store, such as "s3"
	// Written must be called after the first write of a state. It records the place of the state, as init would. Written
	// is nil if nothing must be recorded.
	Written func()
	// Replaced returns the error for a store that the directory does not use any more, because init has recorded another
	// store since Open. It returns false if the store is still in use. Replaced is nil if options name the state file.
	Replaced func() (diag.Diagnostic, bool)

	settings settings
}

// Place returns a digest of the place of a workspace's state, for saved plans. It returns "" if the store cannot
// identify the place.
func (o *Opened) Place(workspace string) string { return placeDigest(o.Store, workspace) }

// ForPlan returns the settings of the store in the form for saved plans (Planned as JSON), without secrets.
func (o *Opened) ForPlan() json.RawMessage { return o.settings.forPlan() }

// Open opens the store that the directory uses. f has the state files that options name. After an error, Open reports
// it and returns false.
func (d *Directory) Open(ctx context.Context, f Files) (*Opened, bool) {
	if f.Alone && f.In != "" {
		st, ok := d.opener.encrypted(store.NewLocal(store.LocalOptions{Dir: d.Env.Dir, FS: d.Env.FS, In: f.In, Out: f.Out, Backup: f.Backup}))
		return &Opened{Store: st, Type: store.LocalDriver.Name, settings: implied()}, ok
	}
	current, known, ok := d.inUse(ctx)
	if !ok {
		return nil, false
	}
	st, ok := d.opener.open(ctx, current)
	if !ok {
		return nil, false
	}
	o := &Opened{Store: st, Type: current.driver.Name, settings: current}
	if named := st.Capabilities().Named; named != nil && !known && named.Only() != "" {
		d.Env.Bag.Add(uninitialized(fmt.Sprintf("Initial configuration of the requested backend %q", current.driver.Name), fmt.Sprintf("The block names the workspace %q, and init selects it.", named.Only())))
		return nil, false
	}
	before, recorded := d.record.settings()
	if d.plan != nil && f.In == "" && !recorded && !d.placement.current(ctx, current, st, d.plan.directory()) {
		return nil, false
	}
	if !known && f.In == "" {
		d.using(current, st)
		if !d.placement.usable(ctx, current, st) {
			return nil, false
		}
		if f.Out == "" {
			o.Written = func() { d.placement.adopt(current, true) }
		}
	}
	if f.In == "" {
		o.Replaced = func() (diag.Diagnostic, bool) { return d.replaced(before, recorded, current) }
	}
	files := st.Capabilities().Files
	switch {
	case files != nil && f.named():
		o.Store, ok = d.opener.encrypted(files.Override(f.In, f.Out, f.Backup))
	case files == nil:
		ok = d.applicable(f, o.Type)
	}
	return o, ok
}

// replaced returns an error if init has recorded another store than current since the settings before were recorded, or
// has removed the record. recorded is false if before was not recorded.
func (d *Directory) replaced(before settings, recorded bool, current settings) (diag.Diagnostic, bool) {
	now, set := d.record.settings()
	if set == recorded && (!set || now.same(before)) || set && now.same(current) {
		return diag.Diagnostic{}, false
	}
	return diag.Errorf("Backend configuration changed", "While this command ran or waited for the lock, \"lethe init\" set up another backend for this directory, and may have moved the state there. This command would use the former state. Nothing was changed. Run the command again."), true
}

// applicable adds an error and returns false if options name state files although the backend stores states elsewhere.
// Otherwise the command would change the state of the workspace instead of the named file.
func (d *Directory) applicable(f Files, backend string) bool {
	switch {
	case f.In != "" || f.Out != "":
		d.Env.Bag.Add(diag.Errorf("State files not applicable", "The flags -state and -state-out name files, but the backend %q stores the state of the workspace elsewhere. Remove these flags to use the state of the workspace. To use the state in a file, run the command in a copy of the directory without the backend block.", backend))
		return false
	case f.Backup != "" && f.Backup != store.NoBackup:
		d.Env.Bag.Add(diag.Warningf("No backup written", "The flag -backup has no effect, because the backend %q stores states elsewhere than in files.", backend))
	}
	return true
}

// using tells the user that init has not set up the backend in use, and names the place of the state.
func (d *Directory) using(s settings, st store.Store) {
	if s.driver.Name == store.LocalDriver.Name || d.o.Using == nil {
		return
	}
	place := ""
	if p := st.Capabilities().Place; p != nil {
		place = ": " + p.Place(d.Env.Selected())
	}
	d.o.Using(fmt.Sprintf("The backend %q is used without init%s", s.driver.Name, place))
}

// OpenFile opens a state file that belongs to no workspace of the directory. The encryption of the directory's states
// applies to the file. If the encryption settings are invalid, OpenFile reports an error and returns false.
func (d *Directory) OpenFile(path, backup string) (store.Store, bool) {
	return d.opener.encrypted(store.NewLocal(store.LocalOptions{Dir: d.Env.Dir, FS: d.Env.FS, Path: path, Backup: backup}))
}

// CheckDeclared reports whether the settings in the backend block are valid, and adds the errors about them. It opens
// no store.
func (d *Directory) CheckDeclared() bool {
	_, ok := d.declared.settings()
	return ok
}

// OpenDeclared opens the store that the backend block describes, and ignores the record of init. If that fails, it
// reports an error and returns false.
func (d *Directory) OpenDeclared(ctx context.Context) (store.Store, bool) {
	s, ok := d.declared.settings()
	if !ok {
		return nil, false
	}
	return d.opener.open(ctx, s)
}

// inUse returns the settings of the store that commands use. known is true if init has recorded the settings, or if
// they come from a saved plan. ok is false if an error was reported.
func (d *Directory) inUse(ctx context.Context) (s settings, known, ok bool) {
	if d.plan != nil {
		s, ok = d.plan.settings(ctx)
		return s, true, ok
	}
	return d.current()
}

// current returns the settings that commands use: the settings that init has recorded, if the block has not changed
// since. known is false if a block exists and no record. ok is false if an error was reported.
func (d *Directory) current() (current settings, known, ok bool) {
	declared, ok := d.declared.settings()
	if !ok {
		return settings{}, false, false
	}
	was, ok := d.record.read(d.Env.Bag)
	block := d.declared.block()
	if !ok || was == nil {
		return declared, block == nil, ok && d.mayBegin(block)
	}
	current, ok = was.settings(d.declared.stores, d.Env.Bag)
	if !ok {
		return settings{}, false, false
	}
	current = current.with(declared)
	if other, changed := current.otherVersion(was.Provider); changed && current.kind() == declared.kind() {
		d.Env.Bag.Add(other)
		return settings{}, false, false
	}
	reason := d.changed(was, declared, current)
	if reason == "" {
		return current, true, true
	}
	d.Env.Bag.Add(uninitialized(reason, d.placement.moved(current, declared)))
	return settings{}, false, false
}

// mayBegin reports whether a backend that init has not set up may be used. If not, it adds an error. The block of the
// backend "local" names the place completely. The blocks of other backends may lack settings, which only init gets, so
// they may be used only if Options.WithoutInit is true. For a state store init must install the provider.
func (d *Directory) mayBegin(block *config.Backend) bool {
	if block == nil || !block.Store && (block.Type == store.LocalDriver.Name || d.o.WithoutInit) {
		return true
	}
	d.Env.Bag.Add(notSetUp(block))
	return false
}

// Ready reports whether init has set up the backend, or whether the backend needs no init. If not, it adds an error.
// Ready does not evaluate the block, so Open may still find that it has changed. Commands call Ready before they
// install or start anything.
func (d *Directory) Ready() bool {
	block := d.declared.block()
	was, ok := d.record.read(d.Env.Bag)
	return ok && (was != nil || d.mayBegin(block))
}

// changed returns the reason why init must be run again although it has recorded a backend. The parameter was is the
// recorded backend. changed returns "" if the block has not changed since then.
func (d *Directory) changed(was *initialized, declared, current settings) string {
	switch block := d.declared.block(); {
	case block == nil:
		return fmt.Sprintf("Unsetting the previously set backend %q", was.Type)
	case block.Type != was.Type || block.Store != (was.Provider != nil):
		return fmt.Sprintf("Backend type changed from %q to %q", was.Type, block.Type)
	case !was.saw(declared, current):
		return "Backend configuration block has changed"
	}
	return ""
}

// OpenBoth opens the recorded store and the store of the block if they differ, because init must still choose between
// them. A lock of either store prevents that init moves states. If the block does not name its store completely,
// OpenBoth opens only the recorded store. If they do not differ, or if nothing is recorded, it returns nil and true. It
// returns false if an error was reported.
func (d *Directory) OpenBoth(ctx context.Context) ([]store.Store, bool) {
	declared, ok1 := d.declared.settings()
	was, ok2 := d.record.read(d.Env.Bag)
	if !ok1 || !ok2 || was == nil {
		return nil, ok1 && ok2
	}
	current, ok := was.settings(d.declared.stores, d.Env.Bag)
	if current = current.with(declared); !ok || d.changed(was, declared, current) == "" {
		return nil, ok
	}
	former, err := d.opener.clients.open(ctx, current)
	if err != nil {
		d.Env.Bag.Add(formerly(current, err))
		return nil, false
	}
	both := []store.Store{former}
	if next, err := d.opener.clients.open(ctx, declared); err == nil { // an error means that the block lacks settings
		both = append(both, next)
	}
	return both, true
}
