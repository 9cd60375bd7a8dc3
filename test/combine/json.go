package combine

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// compact returns a value as JSON, or in the form of fmt if it has no JSON form. Equal values have equal texts.
func compact(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// within reports whether a value equals the planned value in all parts that were known. A plan leaves out unknown
// parts.
func within(planned, unknown, is any) bool {
	if unknown == true {
		return true
	}
	switch p := planned.(type) {
	case map[string]any:
		u, _ := unknown.(map[string]any)
		m, ok := is.(map[string]any)
		if !ok {
			return false
		}
		for k, v := range p {
			if !within(v, u[k], m[k]) {
				return false
			}
		}
		return true
	case []any:
		u, _ := unknown.([]any)
		l, ok := is.([]any)
		if !ok || len(l) != len(p) {
			return false
		}
		if anyTrue(unknown) {
			return true // the value may be a set, whose elements have no positions, so its parts are not compared
		}
		for i, v := range p {
			var un any
			if i < len(u) {
				un = u[i]
			}
			if !within(v, un, l[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(planned, is)
}

// anyTrue reports whether a value is true or contains true at any depth.
func anyTrue(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case []any:
		for _, e := range v {
			if anyTrue(e) {
				return true
			}
		}
	case map[string]any:
		for _, e := range v {
			if anyTrue(e) {
				return true
			}
		}
	}
	return false
}

// untyped returns an object with the values of dynamic attributes in the form of a plan. A state has the type next to
// each value.
func untyped(attributes map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range attributes {
		if m, ok := v.(map[string]any); ok && len(m) == 2 && m["type"] != nil {
			if inner, ok := m["value"]; ok {
				v = inner
			}
		}
		out[name] = v
	}
	return out
}
