package backend

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// Open opens the store in use, with what flags say about files.
func (d *Directory) Open(ctx context.Context, f Files) (*Opened, bool) {
	current, known, ok := d.current()
	if !ok {
		return nil, false
	}
	st, ok := d.open(ctx, current)
	if !ok {
		return nil, false
	}
	o := &Opened{Store: st, Type: current.driver.Name}
	if named, ok := store.As[store.Namer](st); ok && !known && named.Only() != "" {
		d.uninitialized(fmt.Sprintf("Initial configuration of the requested backend %q", current.driver.Name), fmt.Sprintf("The workspace is %q there, and init makes it the selected one here.", named.Only()))
		return nil, false
	}
	if !known && f.In == "" {
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

// OpenDeclared opens the store that the backend block says, without a look at what was used before.
func (d *Directory) OpenDeclared(ctx context.Context) (store.Store, bool) {
	s, ok := d.declared()
	if !ok {
		return nil, false
	}
	return d.open(ctx, s)
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
		return declared, block == nil, ok
	}
	current, ok = d.settingsOf(was)
	if !ok {
		return settings{}, false, false
	}
	current = current.with(declared)
	reason := ""
	switch {
	case block == nil:
		reason = fmt.Sprintf("Unsetting the previously set backend %q", was.Type)
	case block.Type != was.Type:
		reason = fmt.Sprintf("Backend type changed from %q to %q", was.Type, block.Type)
	case !was.saw(declared, current):
		reason = "Backend configuration block has changed"
	default:
		return current, true, true
	}
	if d.Planned {
		d.Env.Bag.Add(diag.Errorf("Backend configuration changed", "%s\n\nThe plan is for the former place. Make a new plan, or put the backend block back as it was when the plan was made, run \"lethe init -reconfigure\", and apply the plan then.", d.moved(declared, current)))
		return settings{}, false, false
	}
	d.uninitialized(reason, d.moved(current, declared))
	return settings{}, false, false
}

// moved says from where to where the state has to go.
func (d *Directory) moved(was, next settings) string {
	from, ok1 := d.open(context.Background(), was)
	to, ok2 := d.open(context.Background(), next)
	if !ok1 || !ok2 {
		return "Changes to backend configurations require reinitialization."
	}
	name := d.Env.Selected()
	a, b := d.place(was, from, name), d.place(next, to, name)
	if names := was.differ(next); a == b && len(names) > 0 {
		return fmt.Sprintf("The state was kept in %s, and other settings of it say now where it is, or how it is reached: %s.", a, strings.Join(names, ", "))
	}
	return fmt.Sprintf("The state was kept in %s, and is to be kept in %s.", a, b)
}

// differ names the settings of one backend that have other values.
func (s settings) differ(other settings) (names []string) {
	if s.driver.Name != other.driver.Name {
		return nil
	}
	for name := range s.driver.Schema.Type().AttributeTypes() {
		if !s.config.GetAttr(name).RawEquals(other.config.GetAttr(name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
