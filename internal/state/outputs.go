package state

import (
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// output reads one member of "outputs".
func (r *reader) output(name []byte) {
	r.peek()
	pos := r.pos
	var o Output
	var value, typ []byte
	r.object(func(key []byte) {
		switch string(key) {
		case "value":
			value = r.scanner.raw()
		case "type":
			typ = r.scanner.raw()
		case "sensitive":
			o.Sensitive = r.boolean()
		case "deprecated":
			o.Deprecated = validText(r.text())
		default:
			r.skip()
		}
	})
	if r.err != nil {
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
func (e *encoder) output(o Output) error {
	value, err := schema.EncodeJSON(o.Value.Raw, o.Value.Raw.Type())
	if err != nil {
		return err
	}
	typ, err := ctyjson.MarshalType(o.Value.Raw.Type())
	if err != nil {
		return err
	}
	e.open('{')
	e.key("value")
	e.raw(value)
	e.key("type")
	e.raw(typ)
	if o.Sensitive {
		e.key("sensitive")
		e.boolean(true)
	}
	if o.Deprecated != "" {
		e.keyText("deprecated", o.Deprecated)
	}
	e.close('}')
	return nil
}
