package schema

import (
	"math/big"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/zclconf/go-cty/cty"
)

// jsonForm is what package cty/json writes.
var jsonForm = form{
	null: "null", yes: "true", no: "false",
	comma: ",", endList: "]", endMap: "}",
	beginList: func(b []byte, _ int) []byte { return append(b, '[') },
	beginMap:  func(b []byte, _ int) []byte { return append(b, '{') },
	text:      func(b []byte, s string) []byte { return jsontext.AppendString(b, s) },
	key:       func(b []byte, s string) []byte { return append(jsontext.AppendString(b, s), ':') },
	name:      func(a *attrCodec) []byte { return a.text },
	number:    appendJSONNumber,
	unknown: func(*codec, []byte, cty.Value) ([]byte, *failure) {
		return nil, fail("the value is not known")
	},
	dynamic: func(b, typ []byte, value func([]byte) ([]byte, *failure)) ([]byte, *failure) {
		b, f := value(append(b, `{"value":`...))
		if f != nil {
			return nil, f
		}
		b = append(append(b, `,"type":`...), typ...)
		return append(b, '}'), nil
	},
}

func appendJSONNumber(b []byte, f *big.Float) ([]byte, *failure) {
	switch {
	case f.IsInf():
		return nil, fail("infinity has no form in JSON")
	case f.Sign() == 0:
		return append(b, '0'), nil // also for what is a little less than nothing
	}
	return ctyvalue.AppendNumber(b, f), nil
}
