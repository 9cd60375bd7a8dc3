package object

import (
	"github.com/lethe-iac/lethe/internal/object/guard"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/tinylib/msgp/msgp"
	"github.com/zclconf/go-cty/cty"
)

// Known is the current value of an object, encoded as MessagePack. It stays encoded because most objects are never
// decoded.
type Known struct {
	Wire     []byte // MessagePack, in the current schema
	Upgraded []byte // the stored value in the current schema, before the refresh; equal to Wire if the object has not drifted

	inForm bool // the entry has the version and only the attributes of the current schema
}

// encode encodes a value of the type t.Type as MessagePack. If the value does not fit the type, it reports an error and
// returns false.
func encode(t *Tools, v cty.Value) ([]byte, bool) { return t.subject().Encode(v) }

// decode decodes an encoded object of the type t.Type. If the bytes do not fit the type, it reports an error with the
// given title and returns false.
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
