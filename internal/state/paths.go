package state

import (
	"encoding/json"
	"fmt"

	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Sensitive paths lead to the sensitive values in the attributes of an object. In a state file, a path is a list of
// steps, such as
//
//	[{"type": "get_attr", "value": "tags"}, {"type": "index", "value": {"value": "a", "type": "string"}}]
//
// Most objects have an empty list.

// paths reads the list of sensitive paths of an instance.
func (f *fields) paths() paths {
	text := f.Scanner.Raw()
	if f.Err != nil || len(text) == 2 && text[0] == '[' {
		return nil
	}
	p, err := once(f.names.sensitive, text, func(text string) (paths, error) { return ParsePaths([]byte(text)) })
	if err != nil {
		f.wrong("its sensitive paths are malformed: %v.", err)
	}
	return p
}

// AppendPaths appends paths to dst in the form of state files, without white space. All keys in the paths must be known
// values.
func AppendPaths(dst []byte, list []cty.Path) []byte {
	e := writer{jsontext.Writer{Buf: dst, Compact: true}}
	e.paths(list)
	return e.Buf
}

// ParsePaths decodes the result of AppendPaths. Any other text is an error.
func ParsePaths(text []byte) ([]cty.Path, error) {
	var list [][]storedStep
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	out := make(paths, len(list))
	for i, steps := range list {
		for _, s := range steps {
			step, err := s.step()
			if err != nil {
				return nil, err
			}
			out[i] = append(out[i], step)
		}
	}
	return out, nil
}

// storedStep is the form of a path step in a state file.
type storedStep struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

func (s storedStep) step() (cty.PathStep, error) {
	switch s.Type {
	case "get_attr":
		name := jsontext.Scanner{In: s.Value}
		step := cty.GetAttrStep{Name: validText(name.Str())}
		if name.Err != nil {
			return nil, name.Err
		}
		return step, nil
	case "index":
		key, err := indexKey(s.Value)
		return cty.IndexStep{Key: key}, err
	}
	return nil, fmt.Errorf("unsupported path step type %q", s.Type)
}

// indexKey decodes the value of an index step. The text contains the value with its type.
func indexKey(value []byte) (cty.Value, error) {
	v, err := ctyjson.Unmarshal(value, cty.DynamicPseudoType)
	if err != nil {
		return cty.NilVal, fmt.Errorf("an index is not a value with its type: %w", err)
	}
	if t := v.Type(); v.IsNull() || t != cty.String && t != cty.Number {
		return cty.NilVal, fmt.Errorf("an index is neither a string nor a number")
	}
	return v, nil
}
