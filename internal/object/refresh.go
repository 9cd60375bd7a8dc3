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

// Upgrade brings a stored object, and its identity, to the provider's current schemas, without looking at the real object.
// The entry that it returns is the same pointer unless the identity was upgraded.
func (t *Tools) Upgrade(ctx context.Context, entry *state.Entry) (*state.Entry, Known, bool) {
	if entry.Schema > t.Type.Version {
		t.newer(entry.Schema, "schema", t.Type.Version)
		return entry, Known{}, false
	}
	stored := inForm(t, entry)
	attrs := entry.Attrs
	if !stored && entry.Schema == t.Type.Version && attrs != nil {
		attrs = t.Type.Strip(attrs) // a provider has upgrades for older schemas, not for attributes that are gone
	}
	resp, ds := t.Provider.Upgrade(ctx, provider.UpgradeRequest{
		Type: t.Type.Name, Version: entry.Schema, JSON: attrs, Flatmap: entry.Flatmap,
	})
	if !t.Report(ds) {
		return entry, Known{}, false
	}
	wire, ok := msgpackOf(t, resp.State, "Invalid resource state upgrade")
	if !ok {
		return entry, Known{}, false
	}
	if isNull(wire) {
		t.breach("Invalid resource state upgrade", "%s upgraded the stored object of %s to nothing. This is a bug in the provider, to be reported there.", t.who(), t.Object)
		return entry, Known{}, false
	}
	wire, ok = withoutWriteOnly(t, wire, "Invalid resource state upgrade", "while upgrading the stored object")
	ok = harmless(t, wire, entry, "Invalid resource state upgrade") && ok
	lookAgain(t, func() { harmless(t, wire, entry, "Invalid resource state upgrade") })
	if !ok {
		return entry, Known{}, false
	}
	if wire, ok = withBlocks(t, wire, "Invalid resource state upgrade"); !ok {
		return entry, Known{}, false
	}
	entry, ok = upgradeIdentity(ctx, t, entry)
	return entry, Known{Wire: wire, Upgraded: wire, inForm: stored}, ok
}

// newer reports that a newer release of the provider has written a part of the state.
func (t *Tools) newer(stored int64, what string, known int64) {
	t.breach("Resource instance managed by newer provider version",
		"The current state of %s was written with version %d of its %s, and the selected version of %s only knows versions up to %d. Select a newer version of the provider to work with this resource.",
		t.Object, stored, what, t.who(), known)
}

// upgradeIdentity brings the identity of an entry to the provider's current schema.
func upgradeIdentity(ctx context.Context, t *Tools, entry *state.Entry) (*state.Entry, bool) {
	const title = "Invalid resource identity upgrade"
	if entry.Identity == nil || t.Type.Identity == nil || entry.IdentitySchema == t.Type.Identity.Version {
		return entry, true
	}
	if entry.IdentitySchema > t.Type.Identity.Version {
		t.newer(entry.IdentitySchema, "identity schema", t.Type.Identity.Version)
		return entry, false
	}
	answer, ds := t.Provider.UpgradeIdentity(ctx, t.Type.Name, entry.IdentitySchema, entry.Identity)
	if !t.Report(ds) {
		return entry, false
	}
	identity, ok := decodeIdentity(t, answer)
	if !ok {
		return entry, false
	}
	if identity == cty.NilVal || identity.IsNull() || !identity.IsWhollyKnown() {
		t.breach(title, "%s did not upgrade the stored identity of %s from version %d of its schema to version %d: the answer is null or not known. This is a bug in the provider, to be reported there.",
			t.who(), t.Object, entry.IdentitySchema, t.Type.Identity.Version)
		return entry, false
	}
	r := &rights{was: entry}
	if identity, ok = keepableIdentity(t, identity, r, title); !ok {
		return entry, false
	}
	next := *entry
	if !fillIdentity(t, &next, identity) {
		return entry, false
	}
	lookAgain(t, func() { keepableIdentity(t, identity, r, title) })
	return &next, true
}

// withBlocks returns an answer with no blocks where the provider answered null for blocks.
func withBlocks(t *Tools, wire []byte, title string) ([]byte, bool) {
	if isNull(wire) || !t.Type.HasNullBlocks(wire) {
		return wire, true
	}
	v, ok := decode(t, wire, title)
	if !ok {
		return nil, false
	}
	return encode(t, t.Type.FillBlocks(v))
}

// withoutWriteOnly makes sure that an answer holds no value of a write-only attribute. A value
// that is there is nulled and reported; what was answered is otherwise used.
func withoutWriteOnly(t *Tools, wire []byte, title, when string) ([]byte, bool) {
	if !t.Type.HasWriteOnly() || isNull(wire) || noWriteOnlyIn(t, wire) {
		return wire, true
	}
	v, ok := decode(t, wire, title)
	if !ok {
		return nil, false
	}
	nulled, ok := nullWriteOnly(t, v, title, when)
	if ok {
		return wire, true
	}
	wire, _ = encode(t, nulled)
	return wire, false
}

// noWriteOnlyIn reports whether an answer can be seen to say nothing about write-only attributes.
func noWriteOnlyIn(t *Tools, wire []byte) bool {
	if t.Walk.Closed.Has(shortcut.Wire) {
		return false
	}
	names, all := t.Type.writeOnlyNames()
	return all && nullIn(wire, names)
}

// nullWriteOnly nulls what the provider may not return, and reports each such attribute.
func nullWriteOnly(t *Tools, v cty.Value, title, when string) (cty.Value, bool) {
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
	idKey, id := wireID(t, k.Wire)
	t.tell(event.Started{Object: t.Object, Op: event.Refresh, IDKey: idKey, ID: id, Refreshing: true, At: began})
	var resp provider.ReadResponse
	var ds provider.Diags
	called := t.token(ctx, func() {
		resp, ds = t.Provider.Read(ctx, provider.ReadRequest{
			Type: t.Type.Name, State: send(k.Wire), Private: entry.Private,
			Identity: storedIdentity(t, entry), Meta: t.Type.Meta, Allow: t.allow(),
		})
	})
	if !called {
		return entry, k, false
	}
	if !t.Report(ds) || t.deferred(resp.Deferred) {
		t.tell(event.Failed{Object: t.Object, Op: event.Refresh, Took: time.Since(began)})
		return entry, k, false
	}
	out, k, ok := checkRefreshed(t, entry, k, resp)
	if out == nil { // nothing has that id any more
		idKey, id = "", ""
	}
	t.tell(event.Done{Object: t.Object, Op: event.Refresh, IDKey: idKey, ID: id, Refreshing: true, Took: time.Since(began)})
	return out, k, ok
}

// Renewed gives an entry that is not read in the form of the current schema, which what comes later goes by: it may have
// been stored in that of another release of the provider.
func (t *Tools) Renewed(entry *state.Entry, k Known) (*state.Entry, Known, bool) {
	return checkRefreshed(t, entry, k, provider.ReadResponse{State: send(k.Wire), Private: entry.Private})
}

// inForm reports whether the current schema describes what an entry stores.
func inForm(t *Tools, entry *state.Entry) bool {
	return entry.Schema == t.Type.Version && entry.Attrs != nil && t.Type.Describes(entry.Attrs)
}

// checkRefreshed makes the new entry of what was read.
func checkRefreshed(t *Tools, entry *state.Entry, k Known, resp provider.ReadResponse) (*state.Entry, Known, bool) {
	wire, ok := msgpackOf(t, resp.State, "Provider produced invalid object")
	if !ok {
		return entry, k, false
	}
	if isNull(wire) {
		return nil, Known{Upgraded: k.Upgraded}, true
	}
	if !sameWire(t, wire, k.Wire) {
		if wire, ok = withBlocks(t, wire, "Provider produced invalid object"); !ok {
			return entry, k, false
		}
	}
	identity, ok := decodeIdentity(t, resp.Identity)
	if !ok {
		return entry, k, false
	}
	sameIdentity := sameIdentity(t, entry, identity)
	private := resp.Private
	if sameWire(t, wire, k.Wire) && bytes.Equal(private, entry.Private) && sameIdentity && k.inForm {
		return entry, k, true
	}
	v, ok := decode(t, wire, "Provider produced invalid object")
	if !ok {
		return entry, k, false
	}
	good := whollyKnown(t, v, "Provider produced invalid object", "while refreshing")
	v, clean := nullWriteOnly(t, v, "Provider produced invalid object", "while refreshing")
	if !good {
		return entry, k, false
	}
	next := *entry
	next.Private = private
	r := &rights{was: entry}
	if _, _, kept := guardEntry(t, &next, v, identity, r, "Provider produced invalid object"); !kept {
		return entry, k, false
	}
	reviewEntry(t, &next, r, "Provider produced invalid object")
	if wire, ok = encode(t, v); !ok { // sets in the order in which they are stored, without write-only values
		return entry, k, false
	}
	if ok := fillEntry(t, &next, v, identity); !ok {
		return entry, k, false
	}
	k.Wire, k.inForm = wire, true
	return &next, k, clean
}

// whollyKnown refuses unknown values where only facts may be.
func whollyKnown(t *Tools, v cty.Value, title, when string) bool {
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

// fillEntry writes a value into an entry, with the sensitive paths that the schema adds to those that
// were there.
func fillEntry(t *Tools, e *state.Entry, v cty.Value, identity cty.Value) bool {
	attrs, err := t.Type.EncodeJSON(v)
	if err != nil {
		malformed(t, "Provider produced invalid object", err)
		return false
	}
	e.Attrs, e.Flatmap, e.Schema = attrs, nil, t.Type.Version
	e.Sensitive = sensitivePaths(t, v, e.Sensitive)
	return fillIdentity(t, e, identity)
}

// sensitivePaths is what is sensitive in v by the schema, and by what was configured before.
func sensitivePaths(t *Tools, v cty.Value, configured []cty.Path) []cty.Path {
	var there []mark.At
	for _, p := range configured {
		if _, err := p.Apply(v); err == nil {
			there = append(there, mark.At{Path: p, Tag: mark.Sensitive})
		}
	}
	return mark.Value{Marks: withSchemaMarks(t, there, v)}.PathsOf(mark.Sensitive)
}

func fillIdentity(t *Tools, e *state.Entry, identity cty.Value) bool {
	if identity == cty.NilVal || identity.IsNull() {
		return true
	}
	b, err := ctyjson.Marshal(identity, identity.Type())
	if err != nil {
		malformed(t, "Provider produced invalid identity", err)
		return false
	}
	e.Identity, e.IdentitySchema = b, t.Type.Identity.Version
	return true
}

// sameIdentity reports whether the stored identity says what was answered.
func sameIdentity(t *Tools, e *state.Entry, answered cty.Value) bool {
	if answered == cty.NilVal {
		return true
	}
	stored := identityOf(t, e)
	return stored != cty.NilVal && stored.RawEquals(answered)
}

// Value gives a known object with the marks that its entry and its schema know of.
func (t *Tools) Value(e *state.Entry, k Known) (mark.Value, bool) {
	v, ok := decode(t, k.Wire, "Invalid stored object")
	if !ok {
		return mark.Value{}, false
	}
	return mark.Value{Raw: v, Marks: mark.SensitiveAt(sensitivePaths(t, v, e.Sensitive))}, true
}

// wireID finds what identifies an object to a reader: its attribute "id", else "name", if it is a
// plain string that is not sensitive.
func wireID(t *Tools, wire []byte) (string, string) {
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
	resp, ds := moveState(ctx, t, provider.MoveRequest{
		SourceProvider: entry.Provider.Provider, SourceType: from.Type, SourceVersion: entry.Schema,
		SourceJSON: entry.Attrs, SourcePrivate: entry.Private,
		SourceIdentity: entry.Identity, SourceIdentityVersion: entry.IdentitySchema,
		Type: t.Type.Name,
	})
	if !t.Report(ds) {
		return nil, Known{}, false
	}
	wire, ok := msgpackOf(t, resp.State, "Provider returned invalid value")
	if ok {
		wire, ok = withBlocks(t, wire, "Provider returned invalid value")
	}
	if ok && isNull(wire) {
		t.breach("Unable to Move Resource State", "%s turned the object of %s into nothing while moving it to %s. This is a bug in the provider, to be reported there.", t.who(), from, t.Object)
		ok = false
	}
	if !ok {
		return nil, Known{}, false
	}
	v, ok := decode(t, wire, "Provider returned invalid value")
	if !ok || !whollyKnown(t, v, "Provider returned invalid value", "while moving") {
		return nil, Known{}, false
	}
	v, clean := nullWriteOnly(t, v, "Provider returned invalid value", "while moving the object from another type")
	if !clean {
		if wire, ok = encode(t, v); !ok {
			return nil, Known{}, false
		}
	}
	identity, ok := decodeIdentity(t, resp.Identity)
	if !ok {
		return nil, Known{}, false
	}
	next := *entry
	next.Private, next.Identity, next.IdentitySchema = resp.Private, nil, 0
	next.Sensitive = nil
	r := &rights{was: entry}
	if _, _, kept := guardEntry(t, &next, v, identity, r, "Provider returned invalid value"); !kept {
		return nil, Known{}, false
	}
	reviewEntry(t, &next, r, "Provider returned invalid value")
	if !fillEntry(t, &next, v, identity) {
		return nil, Known{}, false
	}
	return &next, Known{Wire: wire, Upgraded: wire, inForm: true}, clean
}

// moveState asks the provider. Many providers compare where an object comes from with the one address that
// they know: what is refused under the name of one registry is asked for under that of the other.
func moveState(ctx context.Context, t *Tools, r provider.MoveRequest) (provider.MoveResponse, provider.Diags) {
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
