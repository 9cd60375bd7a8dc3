package object

import (
	"github.com/lethe-iac/lethe/internal/object/guard"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/tinylib/msgp/msgp"
	"github.com/zclconf/go-cty/cty"
)

// Known is the current value of an object in encoded form. Most objects are never decoded.
type Known struct {
	Wire     []byte // MessagePack, in the current schema
	Upgraded []byte // the value before the provider read it; equal to Wire if nothing drifted

	inForm bool // the entry stores the object in the form of the current schema
}

// encode encodes a value of the type as MessagePack. It reports an error and returns false if that fails.
func encode(t *Tools, v cty.Value) ([]byte, bool) { return t.subject().Encode(v) }

// decode decodes an object of the type. It reports an error with the given title and returns false if that fails.
func decode(t *Tools, wire []byte, title string) (cty.Value, bool) {
	return t.subject().Decode(wire, title)
}

// storedIdentity returns the identity in an entry, encoded for a request.
func storedIdentity(t *Tools, e *state.Entry) provider.Dynamic {
	return t.Type.IdentityWire(t.Type.StoredIdentity(e))
}

// isNull reports whether an encoded object is null or missing.
func isNull(wire []byte) bool {
	return len(wire) == 0 || len(wire) == 1 && wire[0] == guard.NullWire[0]
}

// peekString returns one string member of a MessagePack map, without decoding the rest. It returns false if the member
// is missing or is not a string, or if b is malformed.
func peekString(b []byte, name string) (string, bool) {
	text, _, err := msgp.ReadStringBytes(msgp.Locate(name, b))
	return text, err == nil
}
