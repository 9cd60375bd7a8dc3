package view

import (
	"encoding/json"
	"io"
	"sort"
	"strings"
)

// Strings often hold JSON: policies, templates, settings. Where one holds an object or an array, it
// is shown as what it says, written as a call of jsonencode.

// parseJSON makes a document of a string that is a JSON object or array and nothing else.
func parseJSON(s string) (*val, bool) {
	if s == "" || s[0] != '{' && s[0] != '[' || !json.Valid([]byte(s)) {
		return nil, false
	}
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	v, err := readJSON(dec)
	if err != nil {
		return nil, false
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, false
	}
	return v, true
}

func readJSON(dec *json.Decoder) (*val, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := tok.(type) {
	case json.Delim:
		if t == '{' {
			return readJSONObject(dec)
		}
		return readJSONArray(dec)
	case string:
		return &val{kind: vString, text: t}, nil
	case json.Number:
		return &val{kind: vNumber, text: t.String()}, nil
	case bool:
		if t {
			return &val{kind: vBool, text: "true"}, nil
		}
		return &val{kind: vBool, text: "false"}, nil
	}
	return &val{kind: vNull}, nil
}

func readJSONArray(dec *json.Decoder) (*val, error) {
	v := &val{kind: vList}
	for dec.More() {
		e, err := readJSON(dec)
		if err != nil {
			return nil, err
		}
		v.elems = append(v.elems, e)
	}
	_, err := dec.Token()
	return v, err
}

// readJSONObject reads the members of an object; of a name that comes twice, the last one counts.
func readJSONObject(dec *json.Decoder) (*val, error) {
	v := &val{kind: vObject}
	at := map[string]int{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := tok.(string)
		e, err := readJSON(dec)
		if err != nil {
			return nil, err
		}
		if i, again := at[name]; again {
			v.elems[i] = e
			continue
		}
		at[name] = len(v.names)
		v.names, v.elems = append(v.names, name), append(v.elems, e)
	}
	sort.Sort(byName{v})
	_, err := dec.Token()
	return v, err
}

type byName struct{ *val }

func (s byName) Len() int           { return len(s.names) }
func (s byName) Less(i, j int) bool { return s.names[i] < s.names[j] }
func (s byName) Swap(i, j int) {
	s.names[i], s.names[j] = s.names[j], s.names[i]
	s.elems[i], s.elems[j] = s.elems[j], s.elems[i]
}
