package object

import (
	"bytes"
	"context"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Upgrade brings a stored object to the provider's current schema, without looking at the real
// thing.
func (t *Tools) Upgrade(ctx context.Context, entry *state.Entry) (Known, bool) {
	if entry.Schema > t.Type.Version {
		t.breach("Resource instance managed by newer provider version",
			"The current state of %s was written with version %d of its schema, and the selected version of %s only knows versions up to %d. Select a newer version of the provider to work with this resource.",
			t.Object, entry.Schema, t.who(), t.Type.Version)
		return Known{}, false
	}
	resp, ds := t.Provider.Upgrade(ctx, provider.UpgradeRequest{
		Type: t.Type.Name, Version: entry.Schema, JSON: entry.Attrs, Flatmap: entry.Flatmap,
	})
	if !t.Report(ds) {
		return Known{}, false
	}
	wire, ok := t.wire(resp.State, "Invalid resource state upgrade")
	if !ok {
		return Known{}, false
	}
	if isNull(wire) {
		t.breach("Invalid resource state upgrade", "%s upgraded the stored object of %s to nothing. This is a bug in the provider, to be reported there.", t.who(), t.Object)
		return Known{}, false
	}
	wire, ok = t.withoutWriteOnly(wire, "Invalid resource state upgrade", "while upgrading the stored object")
	ok = t.harmless(wire, entry, "Invalid resource state upgrade") && ok
	t.again(func() { t.harmless(wire, entry, "Invalid resource state upgrade") })
	return Known{Wire: wire, Upgraded: wire}, ok
}

// withoutWriteOnly makes sure that an answer holds no value of a write-only attribute. A value
// that is there is nulled and reported; what was answered is otherwise used.
func (t *Tools) withoutWriteOnly(wire []byte, title, when string) ([]byte, bool) {
	if !t.Type.HasWriteOnly() || isNull(wire) || t.silent(wire) {
		return wire, true
	}
	v, ok := t.decode(wire, title)
	if !ok {
		return nil, false
	}
	nulled, ok := t.nullWriteOnly(v, title, when)
	if ok {
		return wire, true
	}
	wire, _ = t.encode(nulled)
	return wire, false
}

// silent reports whether an answer can be seen to say nothing about write-only attributes.
func (t *Tools) silent(wire []byte) bool {
	if t.Walk.Closed.Has(shortcut.Wire) {
		return false
	}
	names, all := t.Type.writeOnlyNames()
	return all && nullIn(wire, names)
}

// nullWriteOnly nulls what the provider may not return, and reports each such attribute.
func (t *Tools) nullWriteOnly(v cty.Value, title, when string) (cty.Value, bool) {
	if !t.Type.HasWriteOnly() || v.IsNull() {
		return v, true
	}
	paths := t.Type.WriteOnly(v)
	for _, p := range paths {
		t.breach(title, "%s returned a value for the write-only attribute \"%s.%s\" %s.\n\nWrite-only attributes are never stored: the value was dropped. This is a bug in the provider, to be reported there.",
			t.who(), t.Object, mark.PathString(p), when)
	}
	if len(paths) == 0 {
		return v, true
	}
	return t.Type.NullWriteOnly(v), false
}

// Read looks at the real thing. The entry it gives back is the same pointer where nothing
// changed, and nil where the object is gone.
func (t *Tools) Read(ctx context.Context, entry *state.Entry, k Known) (*state.Entry, Known, bool) {
	began := time.Now()
	idKey, id := t.id(k.Wire)
	t.tell(event.Started{Object: t.Object, Op: event.Refresh, IDKey: idKey, ID: id, Refreshing: true, At: began})
	var resp provider.ReadResponse
	var ds provider.Diags
	called := t.token(ctx, func() {
		resp, ds = t.Provider.Read(ctx, provider.ReadRequest{
			Type: t.Type.Name, State: send(k.Wire), Private: entry.Private,
			Identity: t.storedIdentity(entry), Meta: t.Type.Meta, Allow: t.allow(),
		})
	})
	if !called {
		return entry, k, false
	}
	if !t.Report(ds) || t.deferred(resp.Deferred) {
		t.tell(event.Failed{Object: t.Object, Op: event.Refresh, Took: time.Since(began)})
		return entry, k, false
	}
	out, k, ok := t.refreshed(entry, k, resp)
	t.tell(event.Done{Object: t.Object, Op: event.Refresh, IDKey: idKey, ID: id, Refreshing: true, Took: time.Since(began)})
	return out, k, ok
}

// refreshed makes the new entry of what was read.
func (t *Tools) refreshed(entry *state.Entry, k Known, resp provider.ReadResponse) (*state.Entry, Known, bool) {
	wire, ok := t.wire(resp.State, "Provider produced invalid object")
	if !ok {
		return entry, k, false
	}
	if isNull(wire) {
		return nil, Known{Upgraded: k.Upgraded}, true
	}
	identity, ok := t.identity(resp.Identity)
	if !ok {
		return entry, k, false
	}
	sameIdentity := t.sameIdentity(entry, identity)
	private := resp.Private
	if t.same(wire, k.Wire) && bytes.Equal(private, entry.Private) && sameIdentity && entry.Schema == t.Type.Version {
		return entry, k, true
	}
	v, ok := t.decode(wire, "Provider produced invalid object")
	if !ok {
		return entry, k, false
	}
	good := t.known(v, "Provider produced invalid object", "while refreshing")
	v, clean := t.nullWriteOnly(v, "Provider produced invalid object", "while refreshing")
	if !good {
		return entry, k, false
	}
	next := *entry
	next.Private = private
	r := &rights{was: entry}
	if _, _, kept := t.guarded(&next, v, identity, r, "Provider produced invalid object"); !kept {
		return entry, k, false
	}
	t.review(&next, r, "Provider produced invalid object")
	if !clean {
		if wire, ok = t.encode(v); !ok {
			return entry, k, false
		}
	}
	if ok := t.fill(&next, v, identity); !ok {
		return entry, k, false
	}
	k.Wire = wire
	return &next, k, clean
}

// known refuses unknown values where only facts may be.
func (t *Tools) known(v cty.Value, title, when string) bool {
	if ctyvalue.WhollyKnown(v) {
		return true
	}
	cty.Walk(v, func(p cty.Path, v cty.Value) (bool, error) {
		if !v.IsKnown() {
			t.breach(title, "%s left \"%s.%s\" unknown %s, where every value must be known. This is a bug in the provider, to be reported there.",
				t.who(), t.Object, mark.PathString(p), when)
		}
		return true, nil
	})
	return false
}

// fill writes a value into an entry, with the sensitive paths that the schema adds to those that
// were there.
func (t *Tools) fill(e *state.Entry, v cty.Value, identity cty.Value) bool {
	attrs, err := t.Type.EncodeJSON(v)
	if err != nil {
		t.malformed("Provider produced invalid object", err)
		return false
	}
	e.Attrs, e.Flatmap, e.Schema = attrs, nil, t.Type.Version
	e.Sensitive = t.sensitive(v, e.Sensitive)
	return t.fillIdentity(e, identity)
}

// sensitive is what is sensitive in v by the schema, and by what was configured before.
func (t *Tools) sensitive(v cty.Value, configured []cty.Path) []cty.Path {
	var there []mark.At
	for _, p := range configured {
		if _, err := p.Apply(v); err == nil {
			there = append(there, mark.At{Path: p, Tag: mark.Sensitive})
		}
	}
	return mark.Value{Marks: t.withSchema(there, v)}.PathsOf(mark.Sensitive)
}

func (t *Tools) fillIdentity(e *state.Entry, identity cty.Value) bool {
	if identity == cty.NilVal || identity.IsNull() {
		return true
	}
	b, err := ctyjson.Marshal(identity, identity.Type())
	if err != nil {
		t.malformed("Provider produced invalid identity", err)
		return false
	}
	e.Identity, e.IdentitySchema = b, t.Type.Identity.Version
	return true
}

// storedIdentity is an entry's identity as it travels.
func (t *Tools) storedIdentity(e *state.Entry) provider.Dynamic {
	return t.identityWire(t.identityOf(e))
}

// identityOf is an entry's identity; NilVal if it has none that the type can hold.
func (t *Tools) identityOf(e *state.Entry) cty.Value {
	if e == nil || e.Identity == nil || t.Type.Identity == nil {
		return cty.NilVal
	}
	v, err := ctyjson.Unmarshal(e.Identity, identityType(t.Type.Identity))
	if err != nil {
		return cty.NilVal
	}
	return v
}

// sameIdentity reports whether the stored identity says what was answered.
func (t *Tools) sameIdentity(e *state.Entry, answered cty.Value) bool {
	if answered == cty.NilVal {
		return true
	}
	stored := t.identityOf(e)
	return stored != cty.NilVal && stored.RawEquals(answered)
}

// Value gives a known object with the marks that its entry and its schema know of.
func (t *Tools) Value(e *state.Entry, k Known) (mark.Value, bool) {
	v, ok := t.decode(k.Wire, "Invalid stored object")
	if !ok {
		return mark.Value{}, false
	}
	return mark.Value{Raw: v, Marks: mark.Paths(t.sensitive(v, e.Sensitive), mark.Sensitive)}, true
}

// id finds what identifies an object to a reader: its attribute "id", else "name", if it is a
// plain string that is not sensitive.
func (t *Tools) id(wire []byte) (string, string) {
	for _, name := range []string{"id", "name"} {
		a := t.Type.Attr(name)
		if a == nil || a.Type != cty.String || a.Sensitive || a.WriteOnly {
			continue
		}
		if s, ok := peekString(wire, name); ok && s != "" {
			return name, s
		}
	}
	return "", ""
}

// Object kinds refresh by these steps; import and move begin elsewhere and end in Read.

// Move turns an object of another type, as stored, into one of this type.
func (t *Tools) Move(ctx context.Context, entry *state.Entry, from addr.Instance) (*state.Entry, Known, bool) {
	resp, ds := t.move(ctx, provider.MoveRequest{
		SourceProvider: entry.Provider.Provider, SourceType: from.Type, SourceVersion: entry.Schema,
		SourceJSON: entry.Attrs, SourcePrivate: entry.Private,
		SourceIdentity: entry.Identity, SourceIdentityVersion: entry.IdentitySchema,
		Type: t.Type.Name,
	})
	if !t.Report(ds) {
		return nil, Known{}, false
	}
	wire, ok := t.wire(resp.State, "Provider returned invalid value")
	if ok && isNull(wire) {
		t.breach("Unable to Move Resource State", "%s turned the object of %s into nothing while moving it to %s. This is a bug in the provider, to be reported there.", t.who(), from, t.Object)
		ok = false
	}
	if !ok {
		return nil, Known{}, false
	}
	v, ok := t.decode(wire, "Provider returned invalid value")
	if !ok || !t.known(v, "Provider returned invalid value", "while moving") {
		return nil, Known{}, false
	}
	v, clean := t.nullWriteOnly(v, "Provider returned invalid value", "while moving the object from another type")
	if !clean {
		if wire, ok = t.encode(v); !ok {
			return nil, Known{}, false
		}
	}
	identity, ok := t.identity(resp.Identity)
	if !ok {
		return nil, Known{}, false
	}
	next := *entry
	next.Private, next.Identity, next.IdentitySchema = resp.Private, nil, 0
	next.Sensitive = nil
	r := &rights{was: entry}
	if _, _, kept := t.guarded(&next, v, identity, r, "Provider returned invalid value"); !kept {
		return nil, Known{}, false
	}
	t.review(&next, r, "Provider returned invalid value")
	if !t.fill(&next, v, identity) {
		return nil, Known{}, false
	}
	return &next, Known{Wire: wire, Upgraded: wire}, clean
}

// move asks the provider. Many providers compare where an object comes from with the one address that
// they know: what is refused under the name of one registry is asked for under that of the other.
func (t *Tools) move(ctx context.Context, r provider.MoveRequest) (provider.MoveResponse, provider.Diags) {
	resp, ds := t.Provider.Move(ctx, r)
	other, ok := r.SourceProvider.Counterpart()
	if !ok || !ds.HasErrors() {
		return resp, ds
	}
	r.SourceProvider = other
	if again, more := t.Provider.Move(ctx, r); !more.HasErrors() {
		return again, more
	}
	return resp, ds
}
