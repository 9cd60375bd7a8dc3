package backend

import (
	"context"
	"fmt"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/crypt"
	"github.com/zclconf/go-cty/cty"
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
	return fmt.Sprintf("The state was kept in %s, and is to be kept in %s.", d.place(was, from, name), d.place(next, to, name))
}

func (d *Directory) uninitialized(reason, places string) {
	d.Env.Bag.Add(diag.Errorf("Backend initialization required: please run \"lethe init\"",
		"Reason: %s\n\n%s\n\nTo move the state, run: lethe init -migrate-state\nTo use the backend as it is configured now, and leave the state where it is, run: lethe init -reconfigure\n\nNo changes to your existing configuration or state have been made.", reason, places))
}

// open opens a store.
func (d *Directory) open(ctx context.Context, s settings) (store.Store, bool) {
	st, err := s.driver.Open(ctx, d.storeSettings(s.driver.Schema, s.config, backendSettings(s.driver)))
	if err != nil {
		problem := diag.Errorf("Failed to open the state store", "%s.", err)
		if b := d.block(); b != nil {
			problem = problem.At(b.Range)
		}
		d.Env.Bag.Add(problem)
		return nil, false
	}
	return d.sealed(st)
}

// backendSettings is where the settings of a store stand, for Secret.
func backendSettings(driver store.Driver) string {
	return fmt.Sprintf("the settings of backend %q", driver.Name)
}

func (d *Directory) storeSettings(sch *schema.Block, config cty.Value, where string) store.Settings {
	s := store.Settings{Config: config, Schema: sch, Dir: d.Env.Dir, FS: d.Env.FS, Getenv: d.Env.Getenv, Agent: d.Agent, Hosts: d.Hosts}
	if d.Secret != nil {
		s.Learn = func(text string) { d.Secret(text, where) }
	}
	return s
}

// Outputs reads the outputs of the state that another configuration keeps, for
// terraform_remote_state, whose address is at (see Encryption.Remote): config are the settings of a backend of that type,
// null for none.
func (d *Directory) Outputs(ctx context.Context, at, backend, workspace string, config cty.Value) (map[string]cty.Value, provider.Diags) {
	driver, ok := Drivers.Find(backend)
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
	st, err := driver.Open(ctx, d.storeSettings(driver.Schema, config, backendSettings(driver)))
	if err != nil {
		return nil, provider.Diags{diag.Errorf("Failed to open the state store", "%s.", err)}
	}
	if e, ok := d.Encryption(); ok && e.Remote(at) != nil {
		st = crypt.Around(st, e.Remote(at))
	}
	data, _, err := st.Get(ctx, workspace)
	if err != nil {
		return nil, provider.Diags{problem(err, "Failed to load state", "%s.")}
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
