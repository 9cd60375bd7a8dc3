package jsontext

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var jsonSeeds = []string{
	`{}`, `[]`, `null`, `true`, `false`, `0`, `-0.5e+10`, `1E9`, `"a"`, `"\u00e9\n\\\""`, `{"a":[1,{"b":null}],"c":{}}`, " [ 1 , 2 ] ",
	`"<>&` + "\u2028\u2029\u00e2\u0080" + `"`, `[[[]]]`, `{"a":}`, `{"a" 1}`, `{a:1}`, `[1,]`, `[,1]`, `{,}`, `{"a":1,}`, `01`, `1.`, `.5`, `-`, `+1`, `1e`,
	`tru`, `nul`, `"`, `"\x"`, `"\u12g4"`, "\"\x01\"", "\"\x7f\xff\"", `[`, `{`, `]`, `[}`, `{]`, `1 2`, `"a`, "\"aaaaaaaaaaaaaaaa\\\"bbbbbbbbbbbbbbbbbbbb\"", "\"aaaaaaaa\x1fbbbbbbbb\"", "",
	"\"\\u", `{"a":{"b":[{"c":"d"},{}]}}`, "\x00",
}

// oneValue reports whether the scanner accepts a whole text.
func oneValue(in []byte) bool {
	s := Scanner{In: in}
	s.Skip()
	return s.Err == nil && s.Peek() == 0 && s.Pos == len(in)
}

// checkScan checks that the scanner accepts the same texts as encoding/json, and that the indentation is the same.
func checkScan(t interface {
	Helper()
	Fatalf(string, ...any)
}, in []byte) {
	t.Helper()
	if got, want := oneValue(in), json.Valid(in); got != want {
		t.Fatalf("%q: passed %v, is JSON: %v", in, got, want)
	}
	if !json.Valid(in) {
		return
	}
	var escaped, want bytes.Buffer
	json.HTMLEscape(&escaped, in)
	if err := json.Indent(&want, escaped.Bytes(), "    ", "  "); err != nil {
		t.Fatalf("%q: %v", in, err)
	}
	if got := appendLaidOut(nil, in, 2); string(got) != strings.TrimRight(want.String(), " \n\r\t") {
		t.Fatalf("%q is laid out as\n%s\nand should be\n%s", in, got, want.String())
	}
	if !Same(in, want.Bytes()) || !Same(want.Bytes(), in) {
		t.Fatalf("%q is not the same as %q", in, want.Bytes())
	}
}

func TestScan(t *testing.T) {
	for _, in := range jsonSeeds {
		checkScan(t, []byte(in))
	}
	rapid.Check(t, func(t *rapid.T) {
		in := []byte(rapid.SampledFrom(jsonSeeds).Draw(t, "seed"))
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			at := rapid.IntRange(0, len(in)).Draw(t, "at")
			in = append(append(append([]byte{}, in[:at]...), rapid.SampledFrom([]byte(`{}[]",:\u0e-.1tn <`)).Draw(t, "byte")), in[at:]...)
		}
		checkScan(t, in)
	})
}

func TestStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendString(nil, text); !bytes.Equal(got, quoted) {
			t.Fatalf("%q is quoted as %s, not %s", text, got, quoted)
		}
		s := Scanner{In: quoted}
		var want string
		if err := json.Unmarshal(quoted, &want); err != nil {
			t.Fatal(err)
		}
		if got := s.Str(); s.Err != nil || string(got) != want {
			t.Fatalf("%s is read as %q: %v", quoted, got, s.Err)
		}
	})
}

func TestNumbers(t *testing.T) {
	for in, want := range map[string]uint64{"0": 0, "7": 7, "18446744073709551615": math.MaxUint64} {
		s := Scanner{In: []byte(in)}
		if got := s.Uint(); s.Err != nil || got != want {
			t.Errorf("%s is read as %d: %v", in, got, s.Err)
		}
	}
	for _, in := range []string{"", "-1", "1.0", "1e3", "18446744073709551616", "99999999999999999999999", "x", `"1"`, "01"} {
		s := Scanner{In: []byte(in)}
		if s.Uint(); s.Err == nil {
			t.Errorf("%q was read as a whole number", in)
		}
	}
}

func TestSpecial(t *testing.T) {
	for c := range 256 {
		text := []byte("\"aaaaaaaaaaaaaaaa\"")
		text[5] = byte(c)
		s := Scanner{In: text}
		ok := s.skipString()
		if want := c >= 0x20 && c != '\\'; ok != want {
			t.Errorf("byte %#x inside a string: passed %v", c, ok)
		}
		if ok && c == '"' && s.Pos != 6 {
			t.Errorf("a quote does not end the string: %d", s.Pos)
		}
	}
}

func TestPosition(t *testing.T) {
	for pos, want := range map[int][2]int{0: {1, 1}, 2: {1, 3}, 3: {2, 1}, 5: {2, 3}, 99: {3, 2}} {
		if line, column := Position([]byte("ab\ncd\ne"), pos); line != want[0] || column != want[1] {
			t.Errorf("%d: line %d, column %d", pos, line, column)
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, in := range jsonSeeds {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) { checkScan(t, in) })
}
