package guard

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/tinylib/msgp/msgp"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// NullWire is the null object, encoded as MessagePack. An encoded object is a MessagePack value.
var NullWire = []byte{0xc0}

// isNull reports whether an encoded object is null or missing.
func isNull(wire []byte) bool { return len(wire) == 0 || len(wire) == 1 && wire[0] == NullWire[0] }

// Send returns the message of the protocol that contains an encoded object.
func Send(wire []byte) provider.Dynamic { return provider.Dynamic{Msgpack: wire} }

// decodeAny decodes a message of the protocol, which contains an object as JSON or MessagePack. It returns an error if
// the message does not fit the type.
func decodeAny(d provider.Dynamic, ty cty.Type) (cty.Value, error) {
	if d.JSON != nil {
		return ctyjson.Unmarshal(d.JSON, ty)
	}
	return schema.Decode(d.Msgpack, ty)
}

// eachString calls visit for each string in an encoded value, except for the keys of maps. It returns the bytes after
// the value, and an error if the value is malformed or nested more than 100 levels deep. depth is the nesting depth of
// the value: 0 for a whole object.
func eachString(b []byte, depth int, visit func(text string)) (rest []byte, err error) {
	const deepest = 100
	n := uint32(0)
	switch t := msgp.NextType(b); {
	case depth == deepest:
		return nil, msgp.ErrRecursion
	case t == msgp.MapType:
		for n, b, err = msgp.ReadMapHeaderBytes(b); err == nil && n > 0; n-- {
			if b, err = msgp.Skip(b); err == nil {
				b, err = eachString(b, depth+1, visit)
			}
		}
		return b, err
	case t == msgp.ArrayType:
		for n, b, err = msgp.ReadArrayHeaderBytes(b); err == nil && n > 0; n-- {
			b, err = eachString(b, depth+1, visit)
		}
		return b, err
	case t == msgp.StrType || t == msgp.BinType:
		text, rest, err := schema.ReadText(b)
		if err == nil {
			visit(string(text))
		}
		return rest, err
	}
	return msgp.Skip(b)
}

// nullIn reports whether b is a MessagePack map in which all members with the given names are null or missing. If it
// returns false, the caller must decode the map to find out.
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
