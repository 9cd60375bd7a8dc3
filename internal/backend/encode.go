package backend

import (
	"bytes"
	"encoding/json"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// encode returns settings as JSON, without null values: other programs refuse unknown settings, even if the value is
// null.
func (s settings) encode(attrs map[string]cty.Value) json.RawMessage {
	out := map[string]any{}
	for name, v := range attrs {
		if v.IsNull() {
			continue
		}
		text, err := ctyjson.Marshal(v, s.driver.Schema.Type().AttributeType(name))
		if err != nil {
			panic(err) // cannot fail, because the value is known
		}
		out[name] = dropNulls(decoded(text))
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return text
}

// decoded decodes JSON into Go values, with numbers as json.Number, which keeps their digits. It returns nil for
// invalid JSON.
func decoded(text []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	_ = d.Decode(&v)
	return v
}

// dropNulls returns a decoded JSON value without null members of objects, at all depths.
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

// decodeSettings decodes settings in JSON as a value of the object type ty. It ignores unknown settings with the value
// null, which other programs write. It returns an error for other unknown settings.
func decodeSettings(text []byte, ty cty.Type) (cty.Value, error) {
	clean, err := json.Marshal(dropNulls(decoded(text)))
	if err != nil {
		return cty.NilVal, err
	}
	return ctyjson.Unmarshal(clean, ty)
}
