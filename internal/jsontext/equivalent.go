package jsontext

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
)

// Equivalent reports whether two texts are equal as bytes or as JSON values. A server may store the parsed document
// instead of the text, so the order of members and the spelling of strings and numbers do not matter: 1 equals 1.0.
func Equivalent(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, ok1 := decoded(a)
	y, ok2 := decoded(b)
	return ok1 && ok2 && equivalent(x, y)
}

// decoded returns the JSON value in a text, with numbers as json.Number. It returns false if the text does not begin with
// a value.
func decoded(text []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return v, d.Decode(&v) == nil
}

func equivalent(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equivalent)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equivalent)
	case json.Number:
		b, ok := b.(json.Number)
		if !ok || a == b {
			return ok
		}
		const precision = 512 // of numbers in the language
		x, _, err1 := big.ParseFloat(a.String(), 10, precision, big.ToNearestEven)
		y, _, err2 := big.ParseFloat(b.String(), 10, precision, big.ToNearestEven)
		return err1 == nil && err2 == nil && x.Cmp(y) == 0 && !x.IsInf() // numbers that are too large become infinite
	}
	return a == b
}
