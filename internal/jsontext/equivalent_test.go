package jsontext

import "testing"

func TestEquivalent(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":["x",null,true]}`, "{\n\"b\": [\"\\u0078\", null, true], \"a\": 1.0}\n", true},
		{`{"a":10}`, `{"a":1e1}`, true},
		{`{"a":0}`, `{"a":-0.0}`, true},
		{`{"a":12345678901234567890}`, `{"a":12345678901234567000}`, false},
		{`{"a":1}`, `{"a":"1"}`, false},
		{`{"a":1}`, `{"a":1,"b":null}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`{"a":1e999999999}`, `{"a":1e999999998}`, false},
		{`canary`, `canary`, true},
		{`canary`, `other`, false},
		{``, `{}`, false},
	} {
		if got := Equivalent([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}
