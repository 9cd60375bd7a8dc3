package view

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/lethe-iac/lethe/internal/jsontext"
)

// Strings often hold JSON: policies, templates, settings. Where one holds an object or an array, it
// is shown as what it says, written as a call of jsonencode.

// parseJSON makes a document of a string that is a JSON object or array and nothing else.
func parseJSON(s string) (*docValue, bool) {
	if s == "" || s[0] != '{' && s[0] != '[' || !json.Valid([]byte(s)) {
		return nil, false
	}
	return readJSON(&jsontext.Scanner{In: []byte(s)}), true
}

func readJSON(s *jsontext.Scanner) *docValue {
	switch s.Peek() {
	case '{':
		return readJSONObject(s)
	case '[':
		v := &docValue{kind: vList}
		s.Array(func() { v.elems = append(v.elems, readJSON(s)) })
		return v
	case '"':
		return &docValue{kind: vString, text: string(s.Str())}
	case 't', 'f':
		return &docValue{kind: vBool, text: strconv.FormatBool(s.Boolean())}
	case 'n':
		s.Null()
		return &docValue{kind: vNull}
	}
	return &docValue{kind: vNumber, text: string(s.Raw())}
}

// readJSONObject reads the members of an object; of a name that comes twice, the last one counts.
func readJSONObject(s *jsontext.Scanner) *docValue {
	members := map[string]*docValue{}
	s.Object(func(key []byte) {
		name := string(key)
		members[name] = readJSON(s)
	})
	v := &docValue{kind: vObject, names: slices.Sorted(maps.Keys(members))}
	for _, name := range v.names {
		v.elems = append(v.elems, members[name])
	}
	return v
}
