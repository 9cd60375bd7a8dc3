package backend

import (
	"context"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/crypt"
	"github.com/zclconf/go-cty/cty"
)

// Check returns the mistakes in the type and the settings of a backend that terraform_remote_state names. It treats
// unknown settings as null.
func (d *Directory) Check(backend string, config cty.Value) provider.Diags {
	_, _, ds := remote(backend, config)
	return ds
}

// remote returns the kind of store that backend names, the settings config in the form of its schema, and the mistakes
// in both. A null config stays null. If there are mistakes, the other results must not be used.
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

// Outputs returns the root outputs of the state of another configuration, for terraform_remote_state. The parameter at
// is the address of the data source, which selects the encryption. backend and config are the type and the settings of
// the backend; a null config means no settings.
func (d *Directory) Outputs(ctx context.Context, at, backend, workspace string, config cty.Value) (map[string]cty.Value, provider.Diags) {
	if config.IsNull() {
		config = cty.EmptyObjectVal
	}
	driver, config, ds := remote(backend, config)
	if ds.HasErrors() {
		return nil, ds
	}
	st, err := d.opener.clients.open(ctx, settings{driver: driver, config: config})
	if err != nil {
		problems := notOpened(err, "in \"config\"")
		for i := range problems {
			problems[i].Path = append(cty.GetAttrPath("config"), problems[i].Path...)
		}
		return nil, problems
	}
	if e, ok := d.encryption.get(); ok && e.Remote(at) != nil {
		st = crypt.Around(st, e.Remote(at))
	}
	data, _, err := st.Get(ctx, workspace)
	if err != nil {
		return nil, provider.Diags{problem(err, "Failed to load state", "Error loading the remote state: %s.")}
	}
	if crypt.Sealed(data) {
		names := remoteNames(at)
		return nil, provider.Diags{diag.Errorf("State file is encrypted", "The state that this data source reads is encrypted, and the encryption block has no method to decrypt it. Declare the key provider and the method that encrypted it, and name the method in a block \"remote_state_data_sources\" with one of the blocks below. If the key provider had another name there, set its argument \"encrypted_metadata_alias\" to that name, such as \"key_provider.pbkdf2.main\".\n\n  default {\n    method = method.aes_gcm.main\n  }\n\n  remote_state_data_source %q {\n    method = method.aes_gcm.main\n  }", names[len(names)-1])}
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
