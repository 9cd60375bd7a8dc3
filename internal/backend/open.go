package backend

import (
	"context"
	"fmt"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// Open opens the store in use, with what flags say about files.
func (d *Directory) Open(ctx context.Context, f Files) (*Opened, bool) {
	current, known, ok := d.inUse(ctx)
	if !ok {
		return nil, false
	}
	st, ok := d.open(ctx, current)
	if !ok {
		return nil, false
	}
	o := &Opened{Store: st, Type: current.driver.Name, settings: current}
	if named, ok := store.As[store.Namer](st); ok && !known && named.Only() != "" {
		d.uninitialized(fmt.Sprintf("Initial configuration of the requested backend %q", current.driver.Name), fmt.Sprintf("The workspace is %q there, and init makes it the selected one here.", named.Only()))
		return nil, false
	}
	if d.Planned != nil && f.In == "" && d.forgotten() && !d.stayed(ctx, current, st, d.Env.Selected()) {
		return nil, false
	}
	if !known && f.In == "" {
		d.using(current, st)
		if !d.settled(ctx, current, st) {
			return nil, false
		}
		if f.Out == "" {
			o.Written = func() { d.adopt(current, true) }
		}
	}
	if local, ok := store.As[*store.Local](st); ok && f != (Files{}) {
		if o.Store, ok = d.sealed(local.Override(f.In, f.Out, f.Backup)); !ok {
			return nil, false
		}
	}
	return o, true
}

// using tells the user which backend is used although init has not set it up.
func (d *Directory) using(s settings, st store.Store) {
	if s.driver.Name == store.LocalDriver.Name || d.Using == nil {
		return
	}
	place := ""
	if p, ok := store.As[store.Placed](st); ok {
		place = ": " + p.Place(d.Env.Selected())
	}
	d.Using(fmt.Sprintf("The backend %q is used without init%s", s.driver.Name, place))
}

// OpenFile opens a state file that belongs to no workspace here. What goes there is as encrypted as the states of the directory.
func (d *Directory) OpenFile(path, backup string) (store.Store, bool) {
	return d.sealed(store.NewLocal(store.LocalOptions{Dir: d.Env.Dir, FS: d.Env.FS, Path: path, Backup: backup}))
}

// CheckDeclared reports whether the backend block can be understood, without a look at what is there.
func (d *Directory) CheckDeclared() bool {
	_, ok := d.declared()
	return ok
}

// OpenDeclared opens the store that the backend block says, without a look at what was used before.
func (d *Directory) OpenDeclared(ctx context.Context) (store.Store, bool) {
	s, ok := d.declared()
	if !ok {
		return nil, false
	}
	return d.open(ctx, s)
}

// inUse are the settings that commands work with, and whether init, or a plan, has settled them.
func (d *Directory) inUse(ctx context.Context) (s settings, known, ok bool) {
	if d.Planned != nil {
		s, ok = d.ofPlan(ctx)
		return s, true, ok
	}
	return d.current()
}

// forgotten reports whether nothing is remembered of a backend.
func (d *Directory) forgotten() bool {
	_, ok := d.rememberedQuietly()
	return !ok
}

// current are the settings that commands work with: what init remembered, as long as the block is
// still the one that it saw. known is false for a block that nothing remembers.
func (d *Directory) current() (current settings, known, ok bool) {
	declared, ok := d.declared()
	if !ok {
		return settings{}, false, false
	}
	was, ok := d.remembered()
	block := d.block()
	if !ok || was == nil {
		return declared, block == nil, ok && d.mayBegin(block)
	}
	current, ok = d.settingsOf(was)
	if !ok {
		return settings{}, false, false
	}
	current = current.with(declared)
	reason := d.changed(was, declared, current)
	if reason == "" {
		return current, true, true
	}
	d.uninitialized(reason, d.moved(current, declared))
	return settings{}, false, false
}

// mayBegin reports whether a backend may be used that init has not set up. The block alone names the place of backend
// "local". Of another backend it may be half of the settings only: the rest is given to init.
func (d *Directory) mayBegin(block *config.Backend) bool {
	if block == nil || block.Type == store.LocalDriver.Name || d.WithoutInit {
		return true
	}
	d.notSetUp(block.Type)
	return false
}

// Ready reports whether init has set up the backend, as far as that is known without evaluating the block. Commands ask
// before they install or start anything.
func (d *Directory) Ready() bool {
	block := d.block()
	was, ok := d.remembered()
	return ok && (was != nil || d.mayBegin(block))
}

// changed is why init has to settle what becomes of a backend that it remembers; "" where the block is the one that it saw.
func (d *Directory) changed(was *initialized, declared, current settings) string {
	switch block := d.block(); {
	case block == nil:
		return fmt.Sprintf("Unsetting the previously set backend %q", was.Type)
	case block.Type != was.Type:
		return fmt.Sprintf("Backend type changed from %q to %q", was.Type, block.Type)
	case !was.saw(declared, current):
		return "Backend configuration block has changed"
	}
	return ""
}

// OpenBoth opens, while init has yet to settle that, the former store and the one that is to be used, as far as the block says
// it: a lock in either stands in the way of moving states. There are none where nothing is to be settled.
func (d *Directory) OpenBoth(ctx context.Context) ([]store.Store, bool) {
	declared, ok1 := d.declared()
	was, ok2 := d.remembered()
	if !ok1 || !ok2 || was == nil {
		return nil, ok1 && ok2
	}
	current, ok := d.settingsOf(was)
	if current = current.with(declared); !ok || d.changed(was, declared, current) == "" {
		return nil, ok
	}
	former, err := d.bare(ctx, current)
	if err != nil {
		d.Env.Bag.Add(formerly(current, err))
		return nil, false
	}
	both := []store.Store{former}
	if next, err := d.bare(ctx, declared); err == nil { // else init is told more of it
		both = append(both, next)
	}
	return both, true
}
