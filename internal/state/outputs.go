package state

import (
	"encoding/json"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// storedOutput is the form of an output in a state file.
type storedOutput struct {
	Value      json.RawMessage `json:"value"`
	Type       json.RawMessage `json:"type"`
	Sensitive  bool            `json:"sensitive,omitempty"`
	Deprecated string          `json:"deprecated,omitempty"`
}

// output reads one member of "outputs" into the snapshot. If the output is malformed, it adds an error to the bag.
func (r *reader) output(name []byte) {
	r.Peek()
	pos := r.Pos
	text := r.Scanner.Raw()
	if r.Err != nil {
		return
	}
	var in storedOutput
	if err := json.Unmarshal(text, &in); err != nil {
		r.problem(pos, badContent, "Output %q is malformed: %v.", name, err)
		return
	}
	o := Output{Sensitive: in.Sensitive, Deprecated: in.Deprecated}
	var err error
	if o.Type, err = ctyjson.UnmarshalType(in.Type); err != nil {
		r.problem(pos, "Invalid output value type in state", "The state file has an invalid type specification for output %q: %v.", name, err)
		return
	}
	raw, err := ctyjson.Unmarshal(in.Value, o.Type)
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

// output writes one output. It writes the type of the value, not the stored type, so that type and value agree.
func (e *writer) output(o Output) error {
	value, err := schema.EncodeJSON(o.Value.Raw, o.Value.Raw.Type())
	if err != nil {
		return err
	}
	typ, err := ctyjson.MarshalType(o.Value.Raw.Type())
	if err != nil {
		return err
	}
	text, err := json.Marshal(storedOutput{value, typ, o.Sensitive, o.Deprecated})
	e.Raw(text)
	return err
}
