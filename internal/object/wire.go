package object

import (
	"bytes"
	"errors"
	"slices"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/tinylib/msgp/msgp"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Known is an object as the last look at it left it: as stored, and as it travels. Most objects of
// most runs are never decoded.
type Known struct {
	Wire     []byte // MessagePack in the current schema
	Upgraded []byte // the same before the provider read it; equal to Wire if nothing drifted

	inForm bool // the entry stores the object in the form of the current schema
}

// encode gives a value of the type its form on the wire.
func encode(t *Tools, v cty.Value) ([]byte, bool) {
	b, err := t.Type.Encode(v)
	if err != nil {
		t.breach("Invalid value", "A value of %s cannot be sent to %s: %s.", t.Object, t.who(), err)
		return nil, false
	}
	return b, true
}

// msgpackOf is a provider's answer as MessagePack, whichever encoding the provider chose.
func msgpackOf(t *Tools, d provider.Dynamic, title string) ([]byte, bool) {
	if d.JSON == nil {
		return d.Msgpack, true
	}
	v, err := t.Type.DecodeJSON(d.JSON)
	if err != nil {
		malformed(t, title, err)
		return nil, false
	}
	return encode(t, v)
}

// decode opens a provider's answer, which must be of the type.
func decode(t *Tools, wire []byte, title string) (cty.Value, bool) {
	if wire == nil {
		return t.Type.Null(), true
	}
	v, err := t.Type.Decode(wire)
	if err != nil {
		malformed(t, title, err)
		return cty.NilVal, false
	}
	return v, true
}

func malformed(t *Tools, title string, err error) {
	if at := (cty.PathError{}); errors.As(err, &at) && len(at.Path) > 0 {
		t.breach(title, "%s answered for %s with an object that its own schema does not describe, in \"%s.%s\": %s.\n\nThis is a bug in the provider, to be reported there.",
			t.who(), t.Object, t.Object, mark.PathString(at.Path), err)
		return
	}
	t.breach(title, "%s answered for %s with an object that its own schema does not describe: %s.\n\nThis is a bug in the provider, to be reported there.",
		t.who(), t.Object, err)
}

// nullWire is the wire form of a null object.
var nullWire = []byte{0xc0}

// isNull reports whether an answer says that there is no object.
func isNull(wire []byte) bool { return len(wire) == 0 || len(wire) == 1 && wire[0] == nullWire[0] }

// sameWire reports whether an answer is, byte for byte, what we have the value of already.
func sameWire(t *Tools, answer, have []byte) bool {
	return !t.Walk.Closed.Has(shortcut.Wire) && bytes.Equal(answer, have)
}

// send makes a message of bytes on the wire.
func send(wire []byte) provider.Dynamic { return provider.Dynamic{Msgpack: wire} }

// identityType is the type of the identities of the type's objects.
func identityType(i *provider.Identity) cty.Type {
	atys := make(map[string]cty.Type, len(i.Attrs))
	for _, a := range i.Attrs {
		atys[a.Name] = a.Type
	}
	return cty.Object(atys)
}

// identityWire encodes an identity; NilVal is nothing.
func identityWire(t *Tools, v cty.Value) provider.Dynamic {
	if v == cty.NilVal || v.IsNull() || t.Type.Identity == nil {
		return provider.Dynamic{}
	}
	b, err := schema.Encode(v, identityType(t.Type.Identity))
	if err != nil {
		return provider.Dynamic{}
	}
	return send(b)
}

// decodeIdentity decodes an identity that a provider answered; NilVal where there is none.
func decodeIdentity(t *Tools, d provider.Dynamic) (cty.Value, bool) {
	if t.Type.Identity == nil || d.Msgpack == nil && d.JSON == nil || isNull(d.Msgpack) && d.JSON == nil {
		return cty.NilVal, true
	}
	v, err := decodeAny(d, identityType(t.Type.Identity))
	if err != nil {
		malformed(t, "Provider produced invalid identity", err)
		return cty.NilVal, false
	}
	return v, true
}

func decodeAny(d provider.Dynamic, ty cty.Type) (cty.Value, error) {
	if d.JSON != nil {
		return ctyjson.Unmarshal(d.JSON, ty)
	}
	return schema.Decode(d.Msgpack, ty)
}

// storedIdentity is an entry's identity as it travels.
func storedIdentity(t *Tools, e *state.Entry) provider.Dynamic {
	return identityWire(t, identityOf(t, e))
}

// identityOf is an entry's identity; NilVal if it has none that the type can hold.
func identityOf(t *Tools, e *state.Entry) cty.Value {
	if e == nil || e.Identity == nil || t.Type.Identity == nil {
		return cty.NilVal
	}
	v, err := ctyjson.Unmarshal(e.Identity, identityType(t.Type.Identity))
	if err != nil {
		return cty.NilVal
	}
	return v
}

// peekString reads one string member of a MessagePack map without decoding the rest. It reports
// false for anything that is not a plain string, and for malformed input.
func peekString(b []byte, name string) (string, bool) {
	text, _, err := msgp.ReadStringBytes(msgp.Locate(name, b))
	return text, err == nil
}

// nullIn reports whether b is a MessagePack map in which all members of these names are null, as
// far as that can be seen without decoding it: false means that it has to be.
func nullIn(b []byte, names []string) bool {
	n, b, err := msgp.ReadMapHeaderBytes(b)
	for ; err == nil && n > 0; n-- {
		var key []byte
		if key, b, err = msgp.ReadStringZC(b); err != nil || slices.Contains(names, string(key)) && !msgp.IsNil(b) {
			return false
		}
		b, err = msgp.Skip(b)
	}
	return err == nil && len(b) == 0
}
