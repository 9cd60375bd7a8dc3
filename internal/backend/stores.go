package backend

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/crypt"
	"github.com/lethe-iac/lethe/internal/workspace"
	"github.com/zclconf/go-cty/cty"
)

// open opens a store.
func (d *Directory) open(ctx context.Context, s settings) (store.Store, bool) {
	st, ok := d.unsealed(ctx, s)
	if !ok {
		return nil, false
	}
	return d.sealed(st)
}

// former opens a store that states are moved out of. Those in one that cannot keep encrypted states are of before there was
// encryption: then the configuration must take such states.
func (d *Directory) former(ctx context.Context, s settings) (store.Store, bool) {
	st, err := d.bare(ctx, s)
	if err != nil {
		for _, err := range store.Mistakes(err) {
			d.Env.Bag.Add(formerly(s, err))
		}
		return nil, false
	}
	e, ok := d.Encryption()
	if !ok {
		return nil, false
	}
	if _, plain := store.As[store.Plain](st); !plain || !e.State.Encrypts() {
		return d.sealed(st)
	}
	if _, _, err := e.State.Open(ctx, []byte("{}")); err != nil {
		d.Env.Bag.Add(problem(err, "Failed to load state", "The state in the previous backend cannot be read: %s."))
		return nil, false
	}
	return st, true
}

// bare opens a store without regard to encryption.
func (d *Directory) bare(ctx context.Context, s settings) (store.Store, error) {
	return s.driver.Open(ctx, d.storeSettings(s.driver.Schema, s.config, backendSettings(s.driver)))
}

// unsealed is bare, and reports why a store cannot be opened.
func (d *Directory) unsealed(ctx context.Context, s settings) (store.Store, bool) {
	st, err := d.bare(ctx, s)
	if err != nil {
		for _, problem := range notOpened(err, "in the block of the backend, or with `lethe init -backend-config`") {
			d.Env.Bag.Add(d.inBlock(problem, s.driver.Schema))
		}
		return nil, false
	}
	return st, true
}

// notOpened is why a store cannot be opened. to says where its settings can be set.
func notOpened(err error, to string) (problems []diag.Diagnostic) {
	for _, err := range store.Mistakes(err) {
		var bad *store.SettingError
		switch {
		case !errors.As(err, &bad):
			problems = append(problems, diag.Errorf("Failed to open the state store", "%s.", store.Sentence(err)))
		case bad.Missing:
			problems = append(problems, diag.Errorf("Missing required argument", "%s. Set it %s.", store.Sentence(err), to).In(bad.Path))
		default:
			problems = append(problems, diag.Errorf(badBackend, "%s.", store.Sentence(err)).In(bad.Path))
		}
	}
	return problems
}

// inBlock is a problem with the backend at its block, or where in it the setting is that the problem is about.
func (d *Directory) inBlock(problem diag.Diagnostic, sch *schema.Block) diag.Diagnostic {
	b := d.block()
	if b == nil {
		return problem
	}
	at := b.Range
	if len(problem.Path) > 0 && !secret(sch, problem.Path) {
		at = d.Static(d.Root()).Where(b.Body, sch, at, problem.Path)
	}
	problem.Path = nil
	return problem.At(at)
}

// backendSettings is where the settings of a store stand, for Secret.
func backendSettings(driver store.Driver) string {
	return fmt.Sprintf("the settings of backend %q", driver.Name)
}

// Check says what is wrong with the type of a backend and its settings, for terraform_remote_state; the settings are null
// where they are not known yet.
func (d *Directory) Check(backend string, config cty.Value) provider.Diags {
	_, _, ds := remote(backend, config)
	return ds
}

// remote finds the driver of a backend that another configuration has, with its settings.
func remote(backend string, config cty.Value) (store.Driver, cty.Value, provider.Diags) {
	driver, ok := Drivers.Find(backend)
	if !ok {
		d := noDriver(backend)
		d.Summary = badBackend
		return driver, config, provider.Diags{d.In(cty.GetAttrPath("backend"))}
	}
	if config.IsNull() {
		return driver, config, nil
	}
	config, err := driver.Schema.Coerce(config)
	if err != nil {
		return driver, config, provider.Diags{diag.Errorf(badBackend, "The given configuration is not valid for backend %q: %s.", backend, err).In(cty.GetAttrPath("config"))}
	}
	return driver, config, nil
}

// Outputs reads the outputs of the state that another configuration keeps, for
// terraform_remote_state, whose address is at (see Encryption.Remote): config are the settings of a backend of that type,
// null for none.
func (d *Directory) Outputs(ctx context.Context, at, backend, workspace string, config cty.Value) (map[string]cty.Value, provider.Diags) {
	if config.IsNull() {
		config = cty.EmptyObjectVal
	}
	driver, config, ds := remote(backend, config)
	if ds.HasErrors() {
		return nil, ds
	}
	st, err := d.bare(ctx, settings{driver: driver, config: config})
	if err != nil {
		problems := notOpened(err, "in \"config\"")
		for i := range problems {
			problems[i].Path = append(cty.GetAttrPath("config"), problems[i].Path...)
		}
		return nil, problems
	}
	if e, ok := d.Encryption(); ok && e.Remote(at) != nil {
		st = crypt.Around(st, e.Remote(at))
	}
	data, _, err := st.Get(ctx, workspace)
	if err != nil {
		return nil, provider.Diags{problem(err, "Failed to load state", "Error loading the remote state: %s.")}
	}
	if crypt.Sealed(data) {
		names := remoteNames(at)
		return nil, provider.Diags{diag.Errorf("State file is encrypted", "The state that this data source reads is encrypted, and the encryption block of this configuration does not say how to decrypt it. Add a block \"remote_state_data_sources\" with one of these, and the key provider and method that it was written with. The name of the key provider is in the state: if the key provider has another name here, set its argument \"encrypted_metadata_alias\" to the name there, such as \"key_provider.pbkdf2.main\".\n\n  default {\n    method = method.aes_gcm.main\n  }\n\n  remote_state_data_source %q {\n    method = method.aes_gcm.main\n  }", names[len(names)-1])}
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
		d.Env.Bag.Add(d.inBlock(problem, nil))
		return nil, false
	}
	return crypt.Around(st, e.State), true
}

// problem is why a store does not give a state.
func problem(err error, title, format string) diag.Diagnostic {
	return workspace.Problem(err, diag.Errorf(title, format, fmt.Sprint(err)))
}

// formerly is why the states in a former backend cannot be read.
func formerly(s settings, err error) diag.Diagnostic {
	why := fmt.Sprintf("The previous backend %q cannot be used: %s.", s.driver.Name, err)
	if len(s.lost) > 0 {
		why += fmt.Sprintf("\n\nThese of its settings came from ephemeral variables, and are not remembered: %s. Set the environment variables that the backend reads instead.", strings.Join(s.lost, ", "))
	}
	why += "\n\nTo leave the states where they are, run: lethe init -reconfigure"
	return workspace.Problem(err, diag.Errorf("Failed to read the previous backend", "%s", why))
}
