package state

import (
	"fmt"
	"strconv"

	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// paths are the sensitive paths of one object.
type paths = []cty.Path

// Sensitive paths stand in the file as lists of steps, such as
//
//	[{"type": "get_attr", "value": "tags"}, {"type": "index", "value": {"value": "a", "type": "string"}}]
//
// and most objects have none.

// paths reads the sensitive paths of an instance.
func (f *fields) paths() paths {
	text := f.Scanner.Raw()
	if f.Err != nil || len(text) == 2 && text[0] == '[' {
		return nil
	}
	p, err := once(f.names.sensitive, text, parsePaths)
	if err != nil {
		f.wrong("its sensitive paths are not what they should be: %v.", err)
	}
	return p
}

func parsePaths(text string) (paths, error) {
	var out paths
	var err error
	s := jsontext.Scanner{In: []byte(text)}
	s.Array(func() {
		var p cty.Path
		s.Array(func() {
			step, bad := readStep(&s)
			if err == nil {
				err = bad
			}
			p = append(p, step)
		})
		out = append(out, p)
	})
	if s.Err != nil {
		return nil, s.Err
	}
	return out, err
}

// readStep reads one step of a path.
func readStep(s *jsontext.Scanner) (cty.PathStep, error) {
	var kind string
	var value []byte
	s.Object(func(key []byte) {
		switch string(key) {
		case "type":
			kind = string(s.Text())
		case "value":
			value = s.Raw()
		default:
			s.Skip()
		}
	})
	if s.Err != nil {
		return nil, s.Err
	}
	in := jsontext.Scanner{In: value}
	switch kind {
	case "get_attr":
		name := validText(in.Str())
		if in.Err != nil {
			return nil, in.Err
		}
		return cty.GetAttrStep{Name: name}, nil
	case "index":
		key, err := indexKey(value)
		return cty.IndexStep{Key: key}, err
	}
	return nil, fmt.Errorf("unsupported path step type %q", kind)
}

// indexKey reads the value of an index step, which carries its type.
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

// paths writes sensitive paths.
func (e *writer) paths(list paths) {
	if len(list) == 0 {
		e.Word("[]")
		return
	}
	e.Open('[')
	for _, p := range list {
		e.path(p)
	}
	e.Close(']')
}

func (e *writer) path(p cty.Path) {
	e.Open('[')
	for _, step := range p {
		e.Open('{')
		switch step := step.(type) {
		case cty.GetAttrStep:
			e.KeyText("type", "get_attr")
			e.KeyText("value", step.Name)
		case cty.IndexStep:
			e.KeyText("type", "index")
			e.Key("value")
			e.index(step.Key)
		}
		e.Close('}')
	}
	e.Close(']')
}

// index writes the key of an index step: the file knows strings and numbers.
func (e *writer) index(key cty.Value) {
	e.Open('{')
	if key.Type() == cty.String {
		e.KeyText("value", key.AsString())
		e.KeyText("type", "string")
	} else {
		e.Key("value")
		e.Word(key.AsBigFloat().Text('f', -1))
		e.KeyText("type", "number")
	}
	e.Close('}')
}

// pathText is a path as one comparable string.
func pathText(p cty.Path) string {
	var out []byte
	for _, step := range p {
		switch step := step.(type) {
		case cty.GetAttrStep:
			out = append(append(out, '.'), step.Name...)
		case cty.IndexStep:
			if step.Key.Type() == cty.String {
				out = strconv.AppendQuote(append(out, '['), step.Key.AsString())
			} else {
				out = append(append(out, '['), step.Key.AsBigFloat().Text('f', -1)...)
			}
		}
	}
	return string(out)
}
