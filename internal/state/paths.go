package state

import (
	"fmt"
	"strconv"

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
	text := f.scanner.raw()
	if f.err != nil || len(text) == 2 && text[0] == '[' {
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
	s := scanner{in: []byte(text)}
	s.array(func() {
		var p cty.Path
		s.array(func() {
			step, bad := s.step()
			if err == nil {
				err = bad
			}
			p = append(p, step)
		})
		out = append(out, p)
	})
	if s.err != nil {
		return nil, s.err
	}
	return out, err
}

// step reads one step of a path.
func (s *scanner) step() (cty.PathStep, error) {
	var kind string
	var value []byte
	s.object(func(key []byte) {
		switch string(key) {
		case "type":
			kind = string(s.text())
		case "value":
			value = s.raw()
		default:
			s.skip()
		}
	})
	if s.err != nil {
		return nil, s.err
	}
	in := scanner{in: value}
	switch kind {
	case "get_attr":
		name := validText(in.str())
		if in.err != nil {
			return nil, in.err
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
func (e *encoder) paths(list paths) {
	if len(list) == 0 {
		e.emptyArray()
		return
	}
	e.open('[')
	for _, p := range list {
		e.item()
		e.path(p)
	}
	e.close(']')
}

func (e *encoder) path(p cty.Path) {
	e.open('[')
	for _, step := range p {
		e.item()
		e.open('{')
		switch step := step.(type) {
		case cty.GetAttrStep:
			e.keyText("type", "get_attr")
			e.keyText("value", step.Name)
		case cty.IndexStep:
			e.keyText("type", "index")
			e.key("value")
			e.index(step.Key)
		}
		e.close('}')
	}
	e.close(']')
}

// index writes the key of an index step: the file knows strings and numbers.
func (e *encoder) index(key cty.Value) {
	e.open('{')
	if key.Type() == cty.String {
		e.keyText("value", key.AsString())
		e.keyText("type", "string")
	} else {
		e.key("value")
		e.word(key.AsBigFloat().Text('f', -1))
		e.keyText("type", "number")
	}
	e.close('}')
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
