package calls

import (
	"bytes"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// unknown represents an unknown value in a decoded tree.
type unknown struct{}

// peek decodes a wire value without its schema. Objects and maps become map[string]any, lists and sets []any, null nil,
// and unknown values unknown{}. A value that cannot be decoded becomes nil, because the log does not validate.
func peek(wire []byte) any {
	if len(wire) == 0 {
		return nil
	}
	v, err := peekNext(msgpack.NewDecoder(bytes.NewReader(wire)))
	if err != nil {
		return nil
	}
	return v
}

func peekNext(d *msgpack.Decoder) (any, error) {
	code, err := d.PeekCode()
	if err != nil {
		return nil, err
	}
	switch {
	case msgpcode.IsExt(code):
		return unknown{}, d.Skip()
	case msgpcode.IsFixedMap(code), code == msgpcode.Map16, code == msgpcode.Map32:
		return peekMap(d)
	case msgpcode.IsFixedArray(code), code == msgpcode.Array16, code == msgpcode.Array32:
		return peekList(d)
	}
	return d.DecodeInterface()
}

func peekMap(d *msgpack.Decoder) (any, error) {
	n, err := d.DecodeMapLen()
	if err != nil {
		return nil, err
	}
	m := map[string]any{}
	for range n {
		k, err := d.DecodeString()
		if err != nil {
			return nil, err
		}
		if m[k], err = peekNext(d); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func peekList(d *msgpack.Decoder) (any, error) {
	n, err := d.DecodeArrayLen()
	if err != nil {
		return nil, err
	}
	var l []any
	for range n {
		v, err := peekNext(d)
		if err != nil {
			return nil, err
		}
		l = append(l, v)
	}
	return l, nil
}

// keyOf returns the name of an object from the first of the attributes name, username, secret_id and id that is a
// string, or "".
func keyOf(tree any) string {
	m, ok := tree.(map[string]any)
	if !ok {
		return ""
	}
	for _, name := range []string{"name", "username", "secret_id", "id"} {
		if s, ok := m[name].(string); ok {
			return s
		}
	}
	return ""
}

// unknownIn returns the top-level attributes that contain an unknown value at any depth, sorted. For a value that is
// wholly unknown it returns one empty name.
func unknownIn(tree any) []string {
	m, ok := tree.(map[string]any)
	if !ok {
		if _, ok := tree.(unknown); ok {
			return []string{""}
		}
		return nil
	}
	var names []string
	for name, v := range m {
		if hasUnknown(v) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

func hasUnknown(v any) bool {
	switch v := v.(type) {
	case unknown:
		return true
	case map[string]any:
		for _, e := range v {
			if hasUnknown(e) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if hasUnknown(e) {
				return true
			}
		}
	}
	return false
}

// secretName reports whether an attribute is secret, at any depth. In playground providers, names of write-only
// attributes end in _wo. The other names are arguments of a provider.
func secretName(name string) bool {
	switch name {
	case "token", "access_key", "secret_key":
		return true
	}
	return strings.HasSuffix(name, "_wo")
}

// secretsIn adds the hash of each secret in the tree to a map, under "which:path". An unknown secret has the word
// "unknown" in place of the hash. path is the path of the tree, and under is true if the tree is part of a secret.
func secretsIn(into map[string]string, which string, tree any, path string, under bool) {
	switch v := tree.(type) {
	case map[string]any:
		for name, e := range v {
			at := name
			if path != "" {
				at = path + "." + name
			}
			secretsIn(into, which, e, at, under || secretName(name))
		}
	case []any:
		for i, e := range v {
			secretsIn(into, which, e, path+"["+strconv.Itoa(i)+"]", under)
		}
	case nil:
	case unknown:
		if under {
			into[which+":"+path] = "unknown"
		}
	default:
		if under {
			into[which+":"+path] = Hash(fmt.Sprint(v))
		}
	}
}
