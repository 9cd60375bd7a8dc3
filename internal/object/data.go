package object

import (
	"context"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// ReadData reads a data source. The provider gets no prior object: the same configuration is a new
// question every time.
func (t *Tools) ReadData(ctx context.Context, config mark.Value, s Stored, refreshing bool) (mark.Value, *state.Entry, bool) {
	wire, ok := encode(t, config.Raw)
	if !ok {
		return mark.Value{}, nil, false
	}
	began := time.Now()
	t.tell(event.Started{Object: t.Object, Op: event.ReadData, Refreshing: refreshing, At: began})
	var resp provider.DataResponse
	var ds provider.Diags
	called := t.token(ctx, func() {
		resp, ds = t.Provider.ReadData(ctx, provider.DataRequest{Type: t.Type.Name, Object: t.Object.String(), Config: send(wire), Meta: t.Type.Meta, Allow: t.allow()})
	})
	if !called {
		return mark.Value{}, nil, false
	}
	v, entry, ok := recordRead(t, config, resp, ds, s)
	if !ok {
		t.tell(event.Failed{Object: t.Object, Op: event.ReadData, Took: time.Since(began), Eased: t.Bag.Eased()})
		return mark.Value{}, nil, false
	}
	idKey, id := shownID(t, v.Raw)
	t.tell(event.Done{Object: t.Object, Op: event.ReadData, IDKey: idKey, ID: id, Refreshing: refreshing, Took: time.Since(began)})
	return v, entry, true
}

func recordRead(t *Tools, config mark.Value, resp provider.DataResponse, ds provider.Diags, s Stored) (mark.Value, *state.Entry, bool) {
	if !t.Report(ds) || t.deferred(resp.Deferred) {
		return mark.Value{}, nil, false
	}
	wire, ok := msgpackOf(t, resp.State, "Provider produced invalid object")
	if !ok {
		return mark.Value{}, nil, false
	}
	v, ok := decode(t, wire, "Provider produced invalid object")
	if !ok {
		return mark.Value{}, nil, false
	}
	if v.IsNull() {
		t.breach("Provider produced null object", "%s answered for %s with no object at all. This is a bug in the provider, to be reported there.", t.who(), t.Object)
		return mark.Value{}, nil, false
	}
	if !whollyKnown(t, v, "Provider produced invalid object", "in a data source") {
		return mark.Value{}, nil, false
	}
	r := &rights{config: config.Raw, was: s.Was}
	v, clean := keepable(t, v, r, "Provider produced invalid object")
	value := markResult(t, v, config)
	entry := &state.Entry{Provider: s.Provider, Recorded: s.Recorded, Sensitive: value.PathsOf(mark.Sensitive)}
	if !fillEntry(t, entry, v, cty.NilVal) {
		return mark.Value{}, nil, false
	}
	reviewEntry(t, entry, r, "Provider produced invalid object")
	return value, entry, clean
}

// StoredData gives the stored result of a data source if it answers the question that the
// configuration asks now, with the entry that has what the configuration now says is sensitive in it.
func (t *Tools) StoredData(config mark.Value, e *state.Entry) (mark.Value, *state.Entry, bool) {
	if e == nil || e.Schema != t.Type.Version || e.Attrs == nil {
		return mark.Value{}, nil, false
	}
	v, err := t.Type.DecodeJSON(e.Attrs)
	if err != nil || !t.Type.ConfigEqual(v, config.Raw) {
		return mark.Value{}, nil, false
	}
	t.tell(event.Stored{Object: t.Object})
	value, next := markResult(t, v, config), *e
	if next.Sensitive = value.PathsOf(mark.Sensitive); mark.SamePaths(next.Sensitive, e.Sensitive) {
		return value, e, true
	}
	return value, &next, true
}

// Validate has the provider check a configuration, unknown values and all.
func (t *Tools) Validate(ctx context.Context, config mark.Value) bool {
	if guardWriteOnly(t, config); t.Type.Mode == addr.Ephemeral {
		t.Walk.Given(config, t.Type.Schema, t.Object.Instance.String())
	}
	wire, ok := encode(t, config.Raw)
	if !ok {
		return false
	}
	return t.Report(t.Provider.Validate(ctx, t.Type.Mode, t.Type.Name, send(wire)))
}

// Import finds existing objects by id or identity. The first one of the type is what was asked
// for.
func (t *Tools) Import(ctx context.Context, id string, identity cty.Value, s Stored) (*state.Entry, Known, bool) {
	began := time.Now()
	t.tell(event.Started{Object: t.Object, Op: event.Import, ID: id, At: began})
	var resp provider.ImportResponse
	var ds provider.Diags
	called := t.token(ctx, func() {
		resp, ds = t.Provider.Import(ctx, provider.ImportRequest{Type: t.Type.Name, ID: id, Identity: identityWire(t, identity), Allow: t.allow()})
	})
	if !called || !t.Report(ds) || t.deferred(resp.Deferred) || !oneObject(t, resp, id, s) {
		t.tell(event.Failed{Object: t.Object, Op: event.Import, Took: time.Since(began)})
		return nil, Known{}, false
	}
	entry, k, ok := recordImported(t, resp, s)
	if ok {
		k.Wire, ok = withBlocks(t, k.Wire, "Provider returned invalid value")
		k.Upgraded = k.Wire
	}
	if ok {
		t.tell(event.Done{Object: t.Object, Op: event.Import, ID: id, Took: time.Since(began)})
	}
	return entry, k, ok
}

// oneObject reports whether an import found no more objects than there is a place for.
func oneObject(t *Tools, resp provider.ImportResponse, id string, s Stored) bool {
	n := len(resp.Objects)
	switch {
	case n < 2:
	case s.Several:
		t.add(diag.Warningf("Only one object was imported", "%s found %d objects for the import id %q. The first of type %s was imported as %s. The others are in no state: declare and import them one by one.",
			t.who(), n, id, t.Type.Name, t.Object))
	default:
		t.breach("Multiple import states not supported", "%s found %d objects for the import id %q of %s. An import block takes one object. Use an id that stands for one object.",
			t.who(), n, id, t.Object)
		return false
	}
	return true
}

// Existing is an object as it is, imported and read, to write configuration for.
func (t *Tools) Existing(ctx context.Context, id string, identity cty.Value, s Stored) (cty.Value, bool) {
	entry, known, ok := t.Import(ctx, id, identity, s)
	if !ok {
		return cty.NilVal, false
	}
	if entry, known, ok = t.Read(ctx, entry, known); !ok {
		return cty.NilVal, false
	}
	if entry == nil {
		t.add(NotThere(t.Object.Instance))
		return cty.NilVal, false
	}
	v, ok := t.Value(entry, known)
	return v.Raw, ok
}

// Objections are the attributes that the provider does not accept in a configuration.
func (t *Tools) Objections(ctx context.Context, config cty.Value) []cty.Path {
	wire, ok := encode(t, config)
	if !ok {
		return nil
	}
	var out []cty.Path
	for _, d := range t.Provider.Validate(ctx, t.Type.Mode, t.Type.Name, send(wire)) {
		if d.Severity == diag.Error && len(d.Path) > 0 {
			out = append(out, d.Path)
		}
	}
	return out
}

// NotThere is the error if a provider has no object to import.
func NotThere(to addr.Instance) diag.Diagnostic {
	return diag.Errorf("Cannot import non-existent remote object", "While attempting to import an existing object to %q, the provider detected that no object exists with the given id. Only pre-existing objects can be imported; check that the id is correct and that it is associated with the provider's configured region or endpoint, or use `lethe apply` to create a new remote object for this resource.", to.String()).About(to)
}

func recordImported(t *Tools, resp provider.ImportResponse, s Stored) (*state.Entry, Known, bool) {
	var found *provider.Imported
	for i := range resp.Objects {
		if resp.Objects[i].Type == t.Type.Name && found == nil {
			found = &resp.Objects[i]
		}
	}
	if len(resp.Objects) == 0 {
		t.add(NotThere(t.Object.Instance))
		return nil, Known{}, false
	}
	if found == nil {
		t.breach("Provider returned invalid value", "%s imported no object of type %s for %s. This is a bug in the provider, to be reported there.", t.who(), t.Type.Name, t.Object)
		return nil, Known{}, false
	}
	const title = "Import returned a non-null value for a write-only attribute"
	wire, ok := msgpackOf(t, found.State, "Provider returned invalid value")
	if !ok {
		return nil, Known{}, false
	}
	wire, clean := withoutWriteOnly(t, wire, title, "while importing")
	if !clean && wire == nil {
		return nil, Known{}, false
	}
	if wire == nil || isNull(wire) {
		t.add(NotThere(t.Object.Instance))
		return nil, Known{}, false
	}
	v, ok := decode(t, wire, "Provider returned invalid value")
	if !ok {
		return nil, Known{}, false
	}
	identity, ok := decodeIdentity(t, found.Identity)
	if !ok {
		return nil, Known{}, false
	}
	entry := &state.Entry{Provider: s.Provider, Private: found.Private}
	r := &rights{}
	if _, _, kept := guardEntry(t, entry, v, identity, r, "Provider returned invalid value"); !kept {
		return nil, Known{}, false
	}
	reviewEntry(t, entry, r, "Provider returned invalid value")
	if !v.IsWhollyKnown() {
		v, _ = settle(t, v, false)
		if wire, ok = encode(t, v); !ok {
			return nil, Known{}, false
		}
	}
	if !fillEntry(t, entry, v, identity) {
		return nil, Known{}, false
	}
	return entry, Known{Wire: wire, Upgraded: wire}, clean
}
