package guard

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/tinylib/msgp/msgp"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// NullWire is the encoded null object.
var NullWire = []byte{0xc0}

// isNull reports whether an encoded object is null or missing.
func isNull(wire []byte) bool { return len(wire) == 0 || len(wire) == 1 && wire[0] == NullWire[0] }

// Send returns the message that has an encoded object.
func Send(wire []byte) provider.Dynamic { return provider.Dynamic{Msgpack: wire} }

// decodeAny returns the value of a message.
func decodeAny(d provider.Dynamic, ty cty.Type) (cty.Value, error) {
	if d.JSON != nil {
		return ctyjson.Unmarshal(d.JSON, ty)
	}
	return schema.Decode(d.Msgpack, ty)
}

// nullIn reports whether b is a MessagePack map without non-null members of these names. If it returns false, the map
// must be decoded.
func nullIn(b []byte, names []string) bool {
	n, b, err := msgp.ReadMapHeaderBytes(b)
	for ; err == nil && n > 0; n-- {
		var key []byte
		if key, b, err = schema.ReadText(b); err != nil || slices.Contains(names, string(key)) && !msgp.IsNil(b) {
			return false
		}
		b, err = msgp.Skip(b)
	}
	return err == nil && len(b) == 0
}
