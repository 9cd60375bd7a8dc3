package object

import (
	"context"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object/guard"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
)

// Upgrade asks the provider to convert the object in the entry, and its identity, to the current schemas. It does not
// read the real object. Upgrade returns the converted value, and the entry, which changes only if the identity was
// converted. If the stored schema is newer, or the provider cannot upgrade the object, Upgrade reports an error and
// returns false.
func (t *Tools) Upgrade(ctx context.Context, entry *state.Entry) (*state.Entry, Known, bool) {
	if entry.Schema > t.Type.Version {
		t.newer(entry.Schema, "schema", t.Type.Version)
		return entry, Known{}, false
	}
	stored := inForm(t, entry)
	attrs := entry.Attrs
	if !stored && entry.Schema == t.Type.Version && attrs != nil {
		attrs = t.Type.Strip(attrs) // a provider removes old attributes when it upgrades an older version, but may fail at unknown attributes in its current version
	}
	answer := t.Provider.Upgrade(ctx, provider.UpgradeRequest{
		Type: t.Type.Name, Version: entry.Schema, JSON: attrs, Flatmap: entry.Flatmap,
	})
	a, ok := t.admit(&answer, guard.Terms{Was: entry})
	if !ok {
		return entry, Known{}, false
	}
	entry, ok = upgradeIdentity(ctx, t, entry)
	return entry, Known{Wire: a.Wire, Upgraded: a.Wire, inForm: stored}, ok
}

// newer reports the error that a newer version of the provider has written a part of the state. The parameter what is
// the part: the schema or the identity schema. stored is the version in the state, and known is the version that the
// provider supports.
func (t *Tools) newer(stored int64, what string, known int64) {
	t.breach("Resource instance managed by newer provider version",
		"The state of %s has version %d of its %s, and the selected version of %s supports versions up to %d. Select a newer version of the provider.",
		t.Object, stored, what, t.who(), known)
}

// upgradeIdentity asks the provider to convert the identity in the entry to the current identity schema, if the stored
// version is older. If the provider cannot upgrade the identity, it reports an error and returns false.
func upgradeIdentity(ctx context.Context, t *Tools, entry *state.Entry) (*state.Entry, bool) {
	if entry.Identity == nil || t.Type.Identity == nil || entry.IdentitySchema == t.Type.Identity.Version {
		return entry, true
	}
	if entry.IdentitySchema > t.Type.Identity.Version {
		t.newer(entry.IdentitySchema, "identity schema", t.Type.Identity.Version)
		return entry, false
	}
	answer := t.Provider.UpgradeIdentity(ctx, t.Type.Name, entry.IdentitySchema, entry.Identity)
	a, ok := t.admit(&answer, guard.Terms{Was: entry})
	if !ok {
		return entry, false
	}
	next := *entry
	if !t.subject().FillIdentity(&next, a.Identity) {
		return entry, false
	}
	return &next, true
}

// Read asks the provider to refresh the object in the entry, whose encoded value is k. It returns the refreshed entry
// and value: the same entry if the object is unchanged, and a nil entry if the object no longer exists. It returns
// false after an error, and if the walk (the plan) is cancelled.
func (t *Tools) Read(ctx context.Context, entry *state.Entry, k Known) (*state.Entry, Known, bool) {
	began := time.Now()
	idKey, id := wireID(t, k.Wire, entry)
	t.send(event.Started{Object: t.Object, Op: event.Refresh, IDKey: idKey, ID: id, Refreshing: true, At: began})
	answer, called := t.ask(ctx, event.CallRead, func() guard.Answer {
		return t.Provider.Read(ctx, provider.ReadRequest{
			Type: t.Type.Name, State: guard.Send(k.Wire), Private: entry.Private,
			Identity: storedIdentity(t, entry), Meta: t.Type.Meta,
		})
	})
	if !called {
		return entry, k, false
	}
	a, ok := t.admit(&answer, guard.Terms{Was: entry, Sent: k.Wire, Current: k.inForm})
	if a.Object == guard.Missing {
		t.send(event.Failed{Object: t.Object, Op: event.Refresh, Took: time.Since(began)})
		return entry, k, false
	}
	out, k, ok := refreshed(entry, k, a, ok)
	if out == nil { // the object no longer exists, so the event names no id
		idKey, id = "", ""
	}
	t.send(event.Done{Object: t.Object, Op: event.Refresh, IDKey: idKey, ID: id, Refreshing: true, Took: time.Since(began)})
	return out, k, ok
}

// Renewed replaces Read if the object is not refreshed (-refresh=false). It returns the entry in the form of the
// current schema, which later steps need, and makes no call. Another version of the provider may have stored the entry
// in another form. Renewed reports an error and returns false if the entry does not match the schema.
func (t *Tools) Renewed(entry *state.Entry, k Known) (*state.Entry, Known, bool) {
	answer := guard.Unchecked(k.Wire, entry.Private)
	a, ok := t.admit(&answer, guard.Terms{Was: entry, Sent: k.Wire, Current: k.inForm})
	return refreshed(entry, k, a, ok)
}

// inForm reports whether the stored object has the form of the current schema: the same version, and only attributes of
// the schema.
func inForm(t *Tools, entry *state.Entry) bool {
	return entry.Schema == t.Type.Version && entry.Attrs != nil && t.Type.Describes(entry.Attrs)
}

// refreshed returns the entry and the value after a read. entry and k are the entry and the value before the read, a is
// the checked answer, and ok is the result of the check. The returned entry is nil if the object no longer exists.
// refreshed returns false if ok is false, or if the new entry cannot be encoded.
func refreshed(entry *state.Entry, k Known, a *guard.Admitted, ok bool) (*state.Entry, Known, bool) {
	switch {
	case a.Object == guard.Null:
		return nil, Known{Upgraded: k.Upgraded}, ok
	case a.Object != guard.Present, a.Same:
		return entry, k, ok
	}
	next := *entry
	if !a.Record(&next) {
		return entry, k, false
	}
	k.Wire, k.inForm = a.Wire, true
	return &next, k, ok
}

// Value decodes the value k of an object, and adds the sensitive marks of the entry e and of the schema. It reports an
// error and returns false if the object does not match the schema.
func (t *Tools) Value(e *state.Entry, k Known) (mark.Value, bool) {
	v, ok := decode(t, k.Wire, "Invalid stored object")
	if !ok {
		return mark.Value{}, false
	}
	return mark.Value{Raw: v, Marks: mark.SensitiveAt(t.Type.Sensitive(v, e.Sensitive))}, true
}

// wireID returns the name ("id" or "name") and the value of the attribute that identifies the encoded object wire to
// users. It returns "" if e, the entry of the object, is nil, or if no attribute identifies the object.
func wireID(t *Tools, wire []byte, e *state.Entry) (string, string) {
	if e == nil {
		return "", ""
	}
	for _, name := range t.Type.Identifying(e.Sensitive) {
		if s, ok := peekString(wire, name); ok && s != "" {
			return name, s
		}
	}
	return "", ""
}

// Move asks the provider to convert an object of another resource type to the type t.Type. entry is the object in the
// state, and from is its address. The caller then calls Read to refresh the new entry. If the provider does not support
// the move, or its answer breaks a rule, Move reports an error and returns false.
func (t *Tools) Move(ctx context.Context, entry *state.Entry, from addr.Instance) (*state.Entry, Known, bool) {
	answer := t.Provider.Move(ctx, provider.MoveRequest{
		SourceProvider: entry.Provider.Provider, SourceType: from.Type, SourceVersion: entry.Schema,
		SourceJSON: entry.Attrs, SourcePrivate: entry.Private,
		SourceIdentity: entry.Identity, SourceIdentityVersion: entry.IdentitySchema,
		Type: t.Type.Name,
	})
	a, ok := t.admit(&answer, guard.Terms{Was: entry, From: from})
	if a.Object != guard.Present {
		return nil, Known{}, false
	}
	next := *entry
	next.Identity, next.IdentitySchema = nil, 0 // the sensitive paths of the entry remain, because most moves keep the names of attributes
	if !a.Record(&next) {
		return nil, Known{}, false
	}
	return &next, Known{Wire: a.Wire, Upgraded: a.Wire, inForm: true}, ok
}
