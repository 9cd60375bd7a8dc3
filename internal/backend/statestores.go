package backend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config/storeblock"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/pluginstore"
	"github.com/zclconf/go-cty/cty"
)

// providerBlock is the name of the block with the settings of the provider. In the schema of a driver the block has no
// label.
const providerBlock = storeblock.Provider

// stateStore is a type of state stores that a provider has.
type stateStore struct {
	store.Driver
	provider addr.Provider
	version  string        // the version that the lock file selects; "" if the user has chosen the program, as with a development override
	own      *schema.Block // the schema of the store's own settings, without the settings of the provider
	settings *schema.Block // the schema of the provider's settings
}

// stateStores makes drivers for the state stores of providers, and opens such stores.
type stateStores struct {
	plugins Plugins
	stop    context.Context
	bag     *diag.Bag // receives the warnings of providers
	known   []*stateStore
	opened  []openedStore
}

// openedStore is an open state store, with the settings with which it was opened. Each has its own provider process.
type openedStore struct {
	of     *stateStore
	config cty.Value
	store.Store
}

func newStateStores(o Options) *stateStores {
	s := &stateStores{plugins: o.Plugins, stop: o.Clients.Stop, bag: o.Env.Bag}
	if s.stop == nil {
		s.stop = context.Background()
	}
	return s
}

// find returns the type typ of state stores of a provider. At its first call for a type, it starts the provider. It
// returns an error if the provider cannot be started or has no such type.
func (s *stateStores) find(a addr.Provider, typ string) (*stateStore, error) {
	for _, k := range s.known {
		if k.provider.Canon() == a.Canon() && k.Name == typ {
			return k, nil
		}
	}
	if a.IsBuiltin() {
		return nil, fmt.Errorf("the provider %s is built in and has no state stores", a)
	}
	version, err := s.plugins.Selected(a)
	if err != nil {
		return nil, err
	}
	schemas, ds := s.plugins.Pool().Schemas(s.stop, a)
	if ds.HasErrors() {
		return nil, settingErrors(ds, nil)
	}
	own, err := schemas.Usable(addr.StateStore, typ)
	if err == nil {
		err = schemas.UsableConfig()
	}
	switch names := schemas.Types(addr.StateStore); {
	case err != nil:
		return nil, err
	case own == nil && len(names) == 0:
		return nil, fmt.Errorf("the provider %s has no state stores", a)
	case own == nil:
		return nil, fmt.Errorf("the provider %s has no state store %q.%s It has: %s", a, typ, diag.DidYouMean(typ, names), strings.Join(names, ", "))
	case own.Block.Attr(providerBlock) != nil || own.Block.Nested(providerBlock) != nil:
		return nil, fmt.Errorf("the schema of the state store %q has the name \"provider\", which the block for the provider's settings has. This is a bug in the provider %s", typ, a)
	}
	k := &stateStore{provider: a, version: version, own: own.Block, settings: schemas.Config.Block}
	blocks := append(slices.Clip(own.Block.Blocks), &schema.Nested{Name: providerBlock, Block: unrequired(k.settings), Nesting: schema.Single})
	slices.SortFunc(blocks, func(a, b *schema.Nested) int { return strings.Compare(a.Name, b.Name) })
	k.Driver = store.Driver{Name: typ, Schema: &schema.Block{Attrs: unrequired(own.Block).Attrs, Blocks: blocks}}
	k.Open = func(ctx context.Context, set store.Settings) (store.Store, error) { return s.open(ctx, k, set) }
	s.known = append(s.known, k)
	return k, nil
}

// unrequired returns a copy of a schema in which no attribute is required, because -backend-config may set attributes.
// Opening the store checks that required attributes are set.
func unrequired(b *schema.Block) *schema.Block {
	out := &schema.Block{Blocks: b.Blocks}
	for _, a := range b.Attrs {
		given := *a
		if given.Required {
			given.Required, given.Optional = false, true
		}
		out.Attrs = append(out.Attrs, &given)
	}
	return out
}

// open configures a provider and opens its state store k. If a store with equal settings is open already, it returns
// that store. It returns an error if a required setting is missing or the provider refuses a setting.
func (s *stateStores) open(ctx context.Context, k *stateStore, set store.Settings) (store.Store, error) {
	for _, o := range s.opened {
		if o.of == k && o.config.RawEquals(set.Config) {
			return o.Store, nil
		}
	}
	own := set.Config.AsValueMap()
	of := own[providerBlock]
	delete(own, providerBlock)
	if of.IsNull() {
		of = k.settings.Empty()
	}
	for name, v := range own {
		if a := k.own.Attr(name); a != nil && a.Required && v.IsNull() {
			return nil, set.Missing(name)
		}
	}
	for _, a := range k.settings.Attrs {
		if a.Required && of.GetAttr(a.Name).IsNull() {
			return nil, set.In(providerBlock).Missing(a.Name)
		}
	}
	k.Schema.EachSensitive(set.Config, func(_ cty.Path, v cty.Value) {
		if v.Type() == cty.String {
			set.Secret(v.AsString())
		}
	})
	config, err1 := k.own.Encode(cty.ObjectVal(own))
	settings, err2 := k.settings.Encode(of)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	p, err := s.plugins.Pool().Session(ctx, k.provider)
	if err != nil {
		return nil, provider.Fault(k.provider, err)
	}
	calls, ok := wire.StateStores(p)
	if !ok {
		return nil, fmt.Errorf("the provider %s has no state stores", k.provider)
	}
	prepared, ds := p.ValidateConfig(ctx, provider.Dynamic{Msgpack: settings})
	if !ds.HasErrors() {
		ds = append(ds, p.Configure(ctx, prepared, provider.Allow{})...)
	}
	if ds.HasErrors() {
		return nil, settingErrors(ds, cty.GetAttrPath(providerBlock))
	}
	more := p.Validate(ctx, addr.StateStore, k.Name, provider.Dynamic{Msgpack: config})
	if more.HasErrors() {
		return nil, settingErrors(more, nil)
	}
	for _, d := range append(ds, more...) {
		d.Path = nil
		s.bag.Add(d)
	}
	place, err := json.Marshal(public(k.Schema, set.Config))
	if err != nil {
		return nil, err
	}
	st, err := pluginstore.Open(ctx, pluginstore.Options{
		Provider: calls, Type: k.Name, Config: config, Warn: func(d diag.Diagnostic) { s.bag.Add(d) }, Stop: set.Stop,
		Place: fmt.Sprintf("the state store %s of %s, %s", k.Name, k.provider.Canon(), store.Digest(place)[:16]),
	})
	if err != nil {
		return nil, err
	}
	s.opened = append(s.opened, openedStore{k, set.Config, st})
	return st, nil
}

// public returns the settings that are not sensitive, in a form for JSON.
func public(sch *schema.Block, config cty.Value) any {
	v, err := cty.Transform(config, func(path cty.Path, v cty.Value) (cty.Value, error) {
		if secret(sch, path) {
			return cty.NullVal(v.Type()), nil
		}
		return v, nil
	})
	if err != nil {
		panic(err) // cannot fail, because the function returns no error
	}
	return dropNulls(decoded(settings{driver: store.Driver{Schema: sch}}.encode(v.AsValueMap())))
}

// settingErrors returns the errors of a provider about its settings as one error. path leads to these settings. The
// diagnostics of the provider stay unchanged in it, so that users see the provider's titles.
func settingErrors(ds provider.Diags, path cty.Path) error {
	var errs []error
	for _, d := range ds {
		if d.Severity != diag.Error {
			continue
		}
		err := errors.New(strings.TrimSuffix(strings.TrimSuffix(d.Summary+": "+d.Detail, ": "), "."))
		if d.Foreign {
			err = d.In(nil)
		}
		if len(d.Path) > 0 || len(path) > 0 {
			err = &store.SettingError{Path: append(slices.Clip(path), d.Path...), Err: err}
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
