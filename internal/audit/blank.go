package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"sync"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// blank is a value that is removed only from the attribute that stored it.
type blank struct {
	path string // the path of the attribute, without indexes
	text string
}

// blanks has the values that are too short or too common to be removed from other texts, by the address that stored
// them.
type blanks map[string][]blank

// indexes matches the index of an element of a list, and the step of an element of a set.
var indexes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[(\d+|\.\.\.)\]`) })

// withoutIndexes returns a path in which all elements of a list or a set have the same step: without a schema, sets are
// lists.
func withoutIndexes(path string) string { return indexes().ReplaceAllString(path, "[]") }

// rewrite returns the text of a state with null in place of the values. It returns any other text unchanged.
func (all blanks) rewrite(text []byte) []byte {
	if len(all) == 0 {
		return text
	}
	s, ok := state.Read(text, &diag.Bag{})
	if !ok {
		return text
	}
	edit, changed := s.Edit(), false
	for o, e := range s.Objects() {
		b := blanker{list: all[o.String()]}
		if attrs := b.object(e.Attrs); b.changed {
			next := *e
			next.Attrs, changed = attrs, true
			edit.Put(o, &next)
		}
	}
	for name, out := range s.Outputs {
		b := blanker{list: all["output."+name]}
		if out.Value.Raw = b.output(out.Value.Raw); b.changed {
			edit.Output(name, out)
			changed = true
		}
	}
	if !changed {
		return text
	}
	next, err := edit.Done().Bytes()
	if err != nil {
		return text
	}
	return next
}

// blanker replaces values in one object or output.
type blanker struct {
	list    []blank
	changed bool
}

// has reports whether a text at one of the paths is a value to replace.
func (b *blanker) has(text string, paths []string) bool {
	for _, v := range b.list {
		for _, path := range paths {
			if v.text == text && inside(withoutIndexes(path), []string{v.path}) {
				b.changed = true
				return true
			}
		}
	}
	return false
}

// object returns the attributes of an object with null in place of the values in b.list. It returns nil if attrs is not
// valid JSON.
func (b *blanker) object(attrs []byte) []byte {
	if len(b.list) == 0 || attrs == nil {
		return attrs
	}
	d := json.NewDecoder(bytes.NewReader(attrs))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	out, err := json.Marshal(b.json(v, []string{""}))
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return out
}

// json returns the JSON value v with null in place of the values in b.list. It may change v. paths are the possible
// paths of v. An object with the members type and value may be the stored form of a value of dynamic type. Then the
// member value has the path of the object. Otherwise the members have the paths of attributes.
func (b *blanker) json(v any, paths []string) any {
	each := func(step func(at string) string) (out []string) {
		for _, at := range paths {
			out = append(out, step(at))
		}
		return out
	}
	switch v := v.(type) {
	case string:
		if b.has(v, paths) {
			return nil
		}
	case json.Number:
		if b.has(v.String(), paths) {
			return nil
		}
	case []any:
		for i, e := range v {
			v[i] = b.json(e, each(func(at string) string { return fmt.Sprintf("%s[%d]", at, i) }))
		}
	case map[string]any:
		_, typed := v["type"]
		for name, e := range v {
			in := each(func(at string) string { return below(at, name) })
			if typed && name == "value" && len(v) == 2 {
				in = append(in, paths...)
			}
			v[name] = b.json(e, in)
		}
	}
	return v
}

// output returns the value of an output with null in place of the values in b.list.
func (b *blanker) output(v cty.Value) cty.Value {
	if len(b.list) == 0 {
		return v
	}
	out, err := cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if text, ok := ctyvalue.Text(v); ok && b.has(text, []string{""}) {
			return cty.NullVal(v.Type()), nil
		}
		return v, nil
	})
	if err != nil {
		panic(err) // the function returns no error
	}
	return out
}
