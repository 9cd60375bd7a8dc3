package backend

import (
	"bytes"
	"encoding/json"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// encode writes settings as JSON, without nulls: other programs refuse the names of settings that they do not have,
// even with the value null.
func (s settings) encode(attrs map[string]cty.Value) json.RawMessage {
	out := map[string]any{}
	for name, v := range attrs {
		if v.IsNull() {
			continue
		}
		text, err := ctyjson.Marshal(v, s.driver.Schema.Type().AttributeType(name))
		if err != nil {
			panic(err) // it is known
		}
		out[name] = dropNulls(decoded(text))
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return text
}

// decoded reads JSON with numbers as they are written.
func decoded(text []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	_ = d.Decode(&v)
	return v
}

// dropNulls removes the members of objects that are null.
func dropNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			if v[name] = dropNulls(x); x == nil {
				delete(v, name)
			}
		}
	case []any:
		for i, x := range v {
			v[i] = dropNulls(x)
		}
	}
	return v
}

// decodeSettings reads settings of a schema from JSON. Names that the schema does not have are ignored if their value
// is null, because another program wrote them.
func decodeSettings(text []byte, ty cty.Type) (cty.Value, error) {
	clean, err := json.Marshal(dropNulls(decoded(text)))
	if err != nil {
		return cty.NilVal, err
	}
	return ctyjson.Unmarshal(clean, ty)
}
