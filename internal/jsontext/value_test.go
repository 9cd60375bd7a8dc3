package jsontext

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type inner struct {
	Name string `json:"name"`
	Flag bool   `json:"flag,omitempty"`
}

type outer struct {
	First string `json:"first"`
	inner
	Count *int            `json:"count,omitempty"`
	Some  []string        `json:"some,omitempty"`
	All   []inner         `json:"all"`
	Any   any             `json:"any"`
	Zero  inner           `json:"zero,omitzero"`
	Size  int64           `json:"size"`
	Raw   json.RawMessage `json:"raw"`
}

// TestValueIsAsTheLibraryWritesIt checks that structs are written in the same form that encoding/json writes.
func TestValueIsAsTheLibraryWritesIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SliceOfN(rapid.String(), 0, 2)
		in := rapid.Custom(func(t *rapid.T) inner {
			return inner{Name: rapid.String().Draw(t, "name"), Flag: rapid.Bool().Draw(t, "flag")}
		})
		v := outer{
			First: rapid.String().Draw(t, "first"), inner: in.Draw(t, "inner"), Some: some.Draw(t, "some"), Zero: in.Draw(t, "zero"),
			All: rapid.SliceOfN(in, 0, 2).Draw(t, "all"), Any: rapid.SampledFrom([]any{nil, "x", 1, true, inner{}}).Draw(t, "any"), Size: rapid.Int64().Draw(t, "size"), Raw: json.RawMessage(`{"a":[1]}`),
		}
		if rapid.Bool().Draw(t, "counted") {
			v.Count = new(rapid.Int().Draw(t, "count"))
		}
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		w := Writer{Compact: true}
		if w.Value(v); string(w.Buf) != string(want) {
			t.Fatalf("%s\n%s", w.Buf, want)
		}
	})
}

type own int

func (o own) WriteJSON(w *Writer) { w.Raw([]byte(`{"own":true}`)) }

func TestSequences(t *testing.T) {
	w := Writer{Compact: true}
	w.Value(struct {
		List    iter.Seq[inner]           `json:"list"`
		Members iter.Seq2[string, *inner] `json:"members"`
		None    iter.Seq[int]             `json:"none"`
		No      iter.Seq2[string, int]    `json:"no"`
		Left    iter.Seq[int]             `json:"left,omitempty"`
		Own     own                       `json:"own"`
		NoTag   int
	}{List: slices.Values([]inner{{Name: "a"}, {Name: "b"}}), Members: maps.All(map[string]*inner{"k": nil})})
	if want := `{"list":[{"name":"a"},{"name":"b"}],"members":{"k":null},"none":[],"no":{},"own":{"own":true}}`; string(w.Buf) != want {
		t.Errorf("%s\n%s", w.Buf, want)
	}
}
