package state

import (
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// output reads one member of "outputs".
func (r *reader) output(name []byte) {
	r.Peek()
	pos := r.Pos
	var o Output
	var value, typ []byte
	r.Object(func(key []byte) {
		switch string(key) {
		case "value":
			value = r.Scanner.Raw()
		case "type":
			typ = r.Scanner.Raw()
		case "sensitive":
			o.Sensitive = r.Boolean()
		case "deprecated":
			o.Deprecated = validText(r.Text())
		default:
			r.Skip()
		}
	})
	if r.Err != nil {
		return
	}
	var err error
	if o.Type, err = ctyjson.UnmarshalType(typ); err != nil {
		r.problem(pos, "Invalid output value type in state", "The state file has an invalid type specification for output %q: %v.", name, err)
		return
	}
	raw, err := ctyjson.Unmarshal(value, o.Type)
	if err != nil {
		r.problem(pos, "Invalid output value saved in state", "The state file has an invalid value for output %q: %v.", name, err)
		return
	}
	o.Value = mark.Plain(raw)
	if o.Sensitive {
		o.Value.Marks = []mark.At{{Tag: mark.Sensitive}}
	}
	r.snap.Outputs[validText(name)] = o
}

// output writes one output. The type is the value's own, so that the two agree.
func (e *writer) output(o Output) error {
	value, err := schema.EncodeJSON(o.Value.Raw, o.Value.Raw.Type())
	if err != nil {
		return err
	}
	typ, err := ctyjson.MarshalType(o.Value.Raw.Type())
	if err != nil {
		return err
	}
	e.Open('{')
	e.Key("value")
	e.Raw(value)
	e.Key("type")
	e.Raw(typ)
	if o.Sensitive {
		e.KeyBool("sensitive", true)
	}
	if o.Deprecated != "" {
		e.KeyText("deprecated", o.Deprecated)
	}
	e.Close('}')
	return nil
}
