package guard

import (
	"errors"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Subject is the object that an answer is about, with its provider, its type and the receiver of errors.
type Subject struct {
	Object   addr.Object
	Provider Provider
	Type     *Type
	To       Reporter
}

// Reporter receives the errors about an answer, and the provider's own diagnostics.
type Reporter interface {
	Add(diag.Diagnostic)
}

// breach reports that the provider broke the protocol.
func (s Subject) breach(summary, format string, a ...any) {
	s.To.Add(diag.Errorf(summary, format, a...))
}

// reportAll passes the provider's diagnostics on. It returns false if one of the diagnostics is an error.
func (s Subject) reportAll(ds provider.Diags) bool {
	for _, d := range ds {
		s.To.Add(d)
	}
	return !ds.HasErrors()
}

// Who returns the name of the provider for messages.
func (s Subject) Who() string { return `provider["` + s.Provider.Addr().String() + `"]` }

// AttributeText formats an attribute path for messages, such as aws_instance.web.tags["a"]. If the path leads into a
// value with a mark in marks (sensitive or ephemeral), AttributeText omits the steps inside this value, because a key
// may be secret.
func (s Subject) AttributeText(p cty.Path, marks []mark.At) string {
	for _, m := range marks {
		if p.HasPrefix(m.Path) {
			p = m.Path
		}
	}
	return s.Object.String() + mark.PathBelow(p)
}

// BreachText describes a breach of the protocol. If the attribute, or a value above or below it, has a mark in marks
// (sensitive or ephemeral), the text contains no values and keys.
func BreachText(b schema.Breach, marks []mark.At) string {
	for _, m := range marks {
		if b.Path.HasPrefix(m.Path) || m.Path.HasPrefix(b.Path) {
			return b.Safe
		}
	}
	return b.Text
}

// Encode encodes a value of the type as MessagePack. If encoding fails, it reports an error and returns false.
func (s Subject) Encode(v cty.Value) ([]byte, bool) {
	b, err := s.Type.Encode(v)
	if err != nil {
		s.breach("Invalid value", "A value of %s cannot be sent to %s: %s.", s.Object, s.Who(), err)
		return nil, false
	}
	return b, true
}

// Decode decodes an object of the type. A nil object is null. If decoding fails, Decode reports an error with the given
// title and returns false.
func (s Subject) Decode(wire []byte, title string) (cty.Value, bool) {
	if wire == nil {
		return s.Type.Null(), true
	}
	v, err := s.Type.Decode(wire)
	if err != nil {
		s.Malformed(title, err)
		return cty.NilVal, false
	}
	return v, true
}

// unkeyed returns the beginning of a path before its first key of a map. The marks of a value that cannot be decoded are
// not known, and a key may be secret.
func unkeyed(p cty.Path) cty.Path {
	for i, step := range p {
		if at, ok := step.(cty.IndexStep); ok && at.Key.Type() == cty.String {
			return p[:i]
		}
	}
	return p
}

// Malformed reports an error about an object that does not match the schema.
func (s Subject) Malformed(title string, err error) {
	if at := (cty.PathError{}); errors.As(err, &at) && len(at.Path) > 0 {
		s.breach(title, "%s returned an object for %s that does not match its schema, in \"%s.%s\": %s.\n\nThis is a bug in the provider. Report it to its developers.",
			s.Who(), s.Object, s.Object, mark.PathString(unkeyed(at.Path)), err)
		return
	}
	s.breach(title, "%s returned an object for %s that does not match its schema: %s.\n\nThis is a bug in the provider. Report it to its developers.",
		s.Who(), s.Object, err)
}

// msgpackOf returns the object in an answer as MessagePack. The answer may have JSON instead. It reports an error and
// returns false if the JSON does not match the schema. title is the title of the error.
func (s Subject) msgpackOf(d provider.Dynamic, title string) ([]byte, bool) {
	if d.JSON == nil {
		return d.Msgpack, true
	}
	v, err := s.Type.DecodeJSON(d.JSON)
	if err != nil {
		s.Malformed(title, err)
		return nil, false
	}
	return s.Encode(v)
}

// withBlocks returns an encoded object in which empty blocks replace null blocks. It reports an error with this title
// and returns false if the object cannot be decoded.
func (s Subject) withBlocks(wire []byte, title string) ([]byte, bool) {
	if isNull(wire) || !s.Type.HasNullBlocks(wire) {
		return wire, true
	}
	v, ok := s.Decode(wire, title)
	if !ok {
		return nil, false
	}
	return s.Encode(s.Type.FillBlocks(v))
}

// DecodeIdentity decodes an identity. It returns NilVal if the message is empty or the type has no identities. If the
// identity does not match its schema, it reports an error and returns false.
func (s Subject) DecodeIdentity(d provider.Dynamic) (cty.Value, bool) {
	if s.Type.Identity == nil || d.Msgpack == nil && d.JSON == nil || isNull(d.Msgpack) && d.JSON == nil {
		return cty.NilVal, true
	}
	v, err := decodeAny(d, s.Type.identityType())
	if err != nil {
		s.Malformed("Provider produced invalid identity", err)
		return cty.NilVal, false
	}
	return v, true
}

// StoredIdentity returns the identity in an entry. It returns NilVal if the entry has none, or if the identity does not
// match the schema.
func (t *Type) StoredIdentity(e *state.Entry) cty.Value {
	if e == nil || e.Identity == nil || t.Identity == nil {
		return cty.NilVal
	}
	v, err := ctyjson.Unmarshal(e.Identity, t.identityType())
	if err != nil {
		return cty.NilVal
	}
	return v
}

// sameIdentity reports whether the identity in an answer is missing or equals the stored identity.
func (t *Type) sameIdentity(e *state.Entry, answered cty.Value) bool {
	if answered == cty.NilVal {
		return true
	}
	stored := t.StoredIdentity(e)
	return stored != cty.NilVal && stored.RawEquals(answered)
}

// Fill sets the value, the sensitive paths and the identity of an entry. The new sensitive paths are the old paths,
// moved to the places of their values in v, and the sensitive paths of the schema. Fill reports an error and returns
// false if encoding fails.
func (s Subject) Fill(e *state.Entry, v, identity cty.Value) bool {
	attrs, err := s.Type.EncodeJSON(v)
	if err != nil {
		s.Malformed("Provider produced invalid object", err)
		return false
	}
	e.Sensitive = s.Type.Sensitive(v, s.Type.carried(e, v))
	e.Attrs, e.Flatmap, e.Schema = attrs, nil, s.Type.Version
	return s.FillIdentity(e, identity)
}

// FillIdentity sets the identity of an entry, unless identity is NilVal or null. If the identity cannot be encoded, it
// reports an error and returns false.
func (s Subject) FillIdentity(e *state.Entry, identity cty.Value) bool {
	if identity == cty.NilVal || identity.IsNull() {
		return true
	}
	b, err := ctyjson.Marshal(identity, identity.Type())
	if err != nil {
		s.Malformed("Provider produced invalid identity", err)
		return false
	}
	e.Identity, e.IdentitySchema = b, s.Type.Identity.Version
	return true
}
