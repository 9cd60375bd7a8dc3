package backend

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/store"
)

// Opened is a store in use.
type Opened struct {
	store.Store
	Type string // the name of its driver
	// Written records the place of the state. It must be called after the first write. It is nil if nothing must be
	// recorded.
	Written func()

	settings settings
}

// Place returns a digest of the place of a workspace's state. It returns "" if the store cannot identify the place.
func (o *Opened) Place(workspace string) string { return placeDigest(o.Store, workspace) }

// ForPlan returns the settings of the store in the form for saved plans, without secrets.
func (o *Opened) ForPlan() json.RawMessage { return o.settings.forPlan() }

// Open opens the store in use. f has the files that flags name. After an error, Open reports it and returns false.
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
	if _, recorded := d.record.settings(); d.plan != nil && f.In == "" && !recorded && !d.placement.current(ctx, current, st, d.plan.directory()) {
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
	files := st.Capabilities().Files
	switch {
	case files != nil && f.named():
		o.Store, ok = d.opener.encrypted(files.Override(f.In, f.Out, f.Backup))
	case files == nil:
		ok = d.applicable(f, o.Type)
	}
	return o, ok
}

// applicable adds an error and returns false if flags name state files although the backend stores states elsewhere.
// Without the error, the command would change the state of the workspace instead of the named file.
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

// using tells the user that a backend is used that init has not set up.
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

// OpenFile opens a state file that belongs to no workspace of the directory. It is encrypted like the states of the
// directory. If the settings of the encryption are invalid, OpenFile reports an error and returns false.
func (d *Directory) OpenFile(path, backup string) (store.Store, bool) {
	return d.opener.encrypted(store.NewLocal(store.LocalOptions{Dir: d.Env.Dir, FS: d.Env.FS, Path: path, Backup: backup}))
}

// CheckDeclared reports whether the backend block is valid, and adds the errors in it. It opens no store.
func (d *Directory) CheckDeclared() bool {
	_, ok := d.declared.settings()
	return ok
}

// OpenDeclared opens the store of the backend block, and ignores the record of init. It reports an error and returns
// false if that fails.
func (d *Directory) OpenDeclared(ctx context.Context) (store.Store, bool) {
	s, ok := d.declared.settings()
	if !ok {
		return nil, false
	}
	return d.opener.open(ctx, s)
}

// inUse returns the settings that commands use. known is true if init has recorded them, or if they come from a saved
// plan. ok is false if an error was reported.
func (d *Directory) inUse(ctx context.Context) (s settings, known, ok bool) {
	if d.plan != nil {
		s, ok = d.plan.settings(ctx)
		return s, true, ok
	}
	return d.current()
}

// current returns the settings that commands use: the settings that init has recorded, as long as the block has not
// changed. known is false if there is a block without a record. ok is false if an error was reported.
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

// mayBegin reports whether a backend may be used that init has not set up. If not, it adds an error. A block alone
// names the place of backend "local". For other backends, the block may have only a part of the settings, and init gets
// the rest. For a state store, init installs the provider.
func (d *Directory) mayBegin(block *config.Backend) bool {
	if block == nil || !block.Store && (block.Type == store.LocalDriver.Name || d.o.WithoutInit) {
		return true
	}
	d.Env.Bag.Add(notSetUp(block))
	return false
}

// Ready reports whether init has set up the backend, or whether the backend needs no init. If not, it adds an error. It
// does not evaluate the block, so Open may still find a change. Commands call Ready before they install or start
// anything.
func (d *Directory) Ready() bool {
	block := d.declared.block()
	was, ok := d.record.read(d.Env.Bag)
	return ok && (was != nil || d.mayBegin(block))
}

// changed returns the reason why init must decide about a remembered backend. It returns "" if the block has not
// changed.
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

// OpenBoth opens the former and the new store while init must still choose between them. The lock of either store
// prevents init from moving states. If the block does not name the new store completely, OpenBoth opens only the former
// store. If no choice is needed, it returns nil and true. It returns false if an error was reported.
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
	if next, err := d.opener.clients.open(ctx, declared); err == nil { // otherwise the block is incomplete
		both = append(both, next)
	}
	return both, true
}
