package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/remotestore"
	"github.com/lethe-iac/lethe/internal/workspace"
	"github.com/zclconf/go-cty/cty"
)

// Init decides which store is used from now on, moves the states of the former store if the user wants that, and
// records the decision. If the backend is new or has new settings, configured is its type; otherwise it is "". After an
// error, which it reports, Init returns false.
func (d *Directory) Init(ctx context.Context, req InitRequest) (configured string, ok bool) {
	declared, ok := d.declared.settings()
	if !ok {
		return "", false
	}
	next, ok := d.declared.overridden(declared, req.Overrides)
	if !ok {
		return "", false
	}
	bag := d.Env.Bag
	if req.Reconfigure {
		bag = &diag.Bag{} // errors about the record are dropped, because it will be replaced
	}
	before, ok := d.record.read(bag)
	if !ok && !req.Reconfigure {
		return "", false
	}
	if before != nil && before.Type == remotestore.Cloud.Name && next.driver.Name == before.Type {
		req.Reconfigure = true // another workspace is selected; as in Terraform, states then stay in the former store
	}
	block := d.declared.block()
	was := implied()
	if before != nil && !req.Reconfigure {
		if was, ok = before.settings(d.declared.stores, d.Env.Bag); !ok {
			return "", false
		}
		was = was.with(declared)
		if len(req.Overrides) == 0 && block != nil && was.kind() == next.kind() && before.saw(declared, was) {
			next = was // keep the settings of the last -backend-config
		}
	}
	next = d.opener.asked(ctx, next, req.Setting)
	m := migration{env: d.Env, opener: d.opener, req: req, was: was, next: next}
	defer m.end()
	moves := !req.Reconfigure && !was.same(next)
	if moves && !m.migrate(ctx, before != nil) {
		return "", false
	}
	st, ok := d.opener.open(ctx, next)
	if !ok {
		return "", false // so that invalid settings are not recorded
	}
	first, anew := before == nil, len(req.Overrides) > 0 || req.Reconfigure
	remember := func() bool { return d.record.write(declared, next, anew, d.Env.Bag) && m.selectMoved() }
	if !first && !remember() {
		return "", false
	}
	names, ok := d.opener.try(ctx, next)
	if !ok || first && !remember() || !reselect(ctx, d.Env, st, names, req.Choose) {
		return "", false // do not record a new store that does not work
	}
	if !m.putAside() {
		return "", false
	}
	d.warnClear(next)
	if req.Reconfigure {
		d.warnJournals(st)
	}
	if moves && block == nil && before != nil {
		req.Unset(before.Type)
	}
	if block != nil && (req.Reconfigure || before == nil || !was.same(next)) {
		configured = block.Type
	}
	return configured, true
}

// asked asks the user for missing required settings with the function ask, and returns s with the answers. It stops
// when the store can be opened, when opening fails for another reason, or when the user gives no answer. If ask is nil,
// asked returns s. ask has the parameters and results of InitRequest.Setting.
func (o *opener) asked(ctx context.Context, s settings, ask func(name, note string, secret bool) (string, bool)) settings {
	for {
		_, err := o.clients.open(ctx, s)
		var bad *store.SettingError
		if !errors.As(err, &bad) || !bad.Missing || len(bad.Path) != 1 || ask == nil {
			return s // the caller opens the store, too, and reports the error
		}
		of := s.driver.Schema.Attribute(bad.Path)
		if of == nil || of.Type != cty.String {
			return s
		}
		text, ok := ask(of.Name, of.Description, of.Sensitive)
		if !ok || text == "" {
			return s
		}
		attrs := s.config.AsValueMap()
		attrs[of.Name] = cty.StringVal(text)
		s.config = cty.ObjectVal(attrs)
	}
}

// try lists the workspaces of the store with the settings s, so that init finds wrong settings. If the only workspace
// of the store has a name, try creates that workspace. If the store cannot be used, it reports an error and returns
// false.
func (o *opener) try(ctx context.Context, s settings) (workspaces []string, ok bool) {
	st, ok := o.open(ctx, s)
	if !ok {
		return nil, false
	}
	names, err := st.List(ctx)
	if named := st.Capabilities().Named; named != nil && err == nil {
		err = named.Prepare(ctx)
	}
	if err != nil {
		o.env.Bag.Add(o.unusable(s, err))
		return nil, false
	}
	return names, true
}

// reselect selects another workspace, if the store has neither the selected nor the default workspace, or can only have
// the default workspace. If the store has one workspace, reselect selects it. If it has several, ask returns the choice
// of the user, or "". reselect reports an error and returns false if no workspace was chosen or the selection cannot be
// saved.
func reselect(ctx context.Context, env *workspace.Env, st store.Store, names []string, ask func(selected string, names []string) string) bool {
	selected, chosen := env.Selected(), ""
	switch {
	case slices.Contains(names, selected):
		return true
	case slices.Contains(names, store.Default):
		return !store.Single(ctx, st) || choose(env, store.Default)
	case env.Getenv(workspace.Variable) != "":
	case len(names) == 1:
		chosen = names[0]
	case len(names) > 1:
		chosen = ask(selected, names)
	}
	if chosen != "" {
		return choose(env, chosen)
	}
	existing := "It has no workspaces yet. Create one: lethe workspace new NAME"
	if len(names) > 0 {
		existing = "Select one of these with \"lethe workspace select\" or TF_WORKSPACE: " + strings.Join(names, ", ")
	}
	env.Bag.Add(diag.Errorf(fmt.Sprintf("Workspace %q doesn't exist.", selected), "The selected workspace does not exist in the backend. %s.", existing))
	return false
}

// warnClear warns that the provider of a state store will receive states that are not encrypted.
func (d *Directory) warnClear(s settings) {
	if e, ok := d.encryption.get(); s.provider.IsZero() || !ok || e.State.Encrypts() {
		return
	}
	d.Env.Bag.Add(d.declared.at(diag.Warningf("Encryption not in use", "The provider %s receives the state in clear, with all secrets in it, because no encryption block encrypts states. Add an encryption block with a method for \"state\", unless you trust the provider and its service with these secrets.", s.provider.ForDisplay()), s.driver.Schema))
}

// warnJournals warns of journals in the working directory that belong to states in other stores than st. Those states
// may lack changes, and no command that uses st replays these journals.
func (d *Directory) warnJournals(st store.Store) {
	if left := workspace.OtherJournals(d.Env, st); len(left) > 0 {
		d.Env.Bag.Add(diag.Warningf("Journal of another state", "The directory has journals of interrupted runs that used another backend: %s. The states there may lack changes of these runs. To recover the changes, set up that backend again with \"lethe init -reconfigure\", and run \"lethe apply -refresh-only\".", strings.Join(left, ", ")))
	}
}
