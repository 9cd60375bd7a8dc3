package backend

import (
	"context"
	"fmt"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/crypt"
	"github.com/lethe-iac/lethe/internal/workspace"
	"github.com/zclconf/go-cty/cty"
)

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

// sealed is a store with what the configuration says of the encryption of states.
func (d *Directory) sealed(st store.Store) (store.Store, bool) {
	e, ok := d.Encryption()
	if !ok || e.State == nil {
		return st, ok
	}
	if plain, ok := store.As[store.Plain](st); ok && e.State.Encrypts() {
		problem := diag.Errorf(badEncryption, "The configuration encrypts states, and this backend cannot keep encrypted ones: %s. Let the database encrypt its files, or use another layout or backend.", plain.Plain())
		if b := d.block(); b != nil {
			problem = problem.At(b.Range)
		}
		d.Env.Bag.Add(problem)
		return nil, false
	}
	return crypt.Around(st, e.State), true
}

// problem is why a store does not give a state.
func problem(err error, title, format string) diag.Diagnostic {
	return workspace.Problem(err, diag.Errorf(title, format, fmt.Sprint(err)))
}
