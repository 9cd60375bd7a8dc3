package cloud

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Encode returns a value as JSON in the form of a state, in which values of a dynamic attribute have their type. An
// unknown value, at any depth, is an error.
func Encode(v tftypes.Value, t tftypes.Type) (json.RawMessage, error) {
	tree, err := plain(v, t)
	if err != nil {
		return nil, err
	}
	return json.Marshal(tree)
}

// Decode returns the value in the output of [Encode]. It ignores attributes that the type does not have. Missing
// attributes are null. JSON that does not fit the type is an error.
func Decode(data json.RawMessage, t tftypes.Type) (tftypes.Value, error) {
	raw := tfprotov6.RawState{JSON: data}
	return raw.UnmarshalWithOpts(t, tfprotov6.UnmarshalOpts{
		ValueFromJSONOpts: tftypes.ValueFromJSONOpts{IgnoreUndefinedAttributes: true},
	})
}

func plain(v tftypes.Value, t tftypes.Type) (any, error) {
	switch {
	case v.IsNull():
		return nil, nil
	case !v.IsKnown():
		return nil, fmt.Errorf("an unknown value cannot be stored")
	case t.Is(tftypes.DynamicPseudoType):
		inner, err := plain(v, v.Type())
		return map[string]any{"type": v.Type(), "value": inner}, err
	case t.Is(tftypes.String):
		var s string
		err := v.As(&s)
		return s, err
	case t.Is(tftypes.Bool):
		var b bool
		err := v.As(&b)
		return b, err
	case t.Is(tftypes.Number):
		var n big.Float
		err := v.As(&n)
		return json.Number(n.Text('g', -1)), err
	}
	var list []tftypes.Value
	if v.As(&list) == nil {
		return plainList(list, t)
	}
	var object map[string]tftypes.Value
	if err := v.As(&object); err != nil {
		return nil, err
	}
	return plainObject(object, t)
}

func plainList(list []tftypes.Value, t tftypes.Type) (any, error) {
	out := make([]any, len(list))
	for i, e := range list {
		var err error
		if out[i], err = plain(e, elementType(t, i)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func plainObject(object map[string]tftypes.Value, t tftypes.Type) (any, error) {
	out := make(map[string]any, len(object))
	for name, e := range object {
		et := e.Type()
		switch t := t.(type) {
		case tftypes.Object:
			et = t.AttributeTypes[name]
		case tftypes.Map:
			et = t.ElementType
		}
		var err error
		if out[name], err = plain(e, et); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func elementType(t tftypes.Type, i int) tftypes.Type {
	switch t := t.(type) {
	case tftypes.List:
		return t.ElementType
	case tftypes.Set:
		return t.ElementType
	case tftypes.Tuple:
		return t.ElementTypes[i]
	}
	return nil
}

// Seal encodes a secret so that a search does not find it. It does not protect against an attacker: anyone with this
// source can open it. The salt is the name of the secret.
func Seal(salt, secret string) string {
	return hex.EncodeToString(stream(salt, []byte(secret)))
}

// Unseal returns the secret in a result of [Seal] with the same salt. Text that is not hexadecimal is an error.
func Unseal(salt, sealed string) (string, error) {
	b, err := hex.DecodeString(sealed)
	return string(stream(salt, b)), err
}

// stream combines text with a key stream derived from the salt.
func stream(salt string, text []byte) []byte {
	out := make([]byte, len(text))
	var key [sha256.Size]byte
	for i := range text {
		if i%len(key) == 0 {
			n := binary.BigEndian.AppendUint64(nil, uint64(i))
			key = sha256.Sum256(append(n, "playground "+salt...))
		}
		out[i] = text[i] ^ key[i%len(key)]
	}
	return out
}

// Random returns n random hexadecimal digits.
func Random(n int) string {
	b := make([]byte, (n+1)/2)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)[:n]
}
