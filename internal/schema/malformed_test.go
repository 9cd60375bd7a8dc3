package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/tinylib/msgp/msgp"
	"github.com/zclconf/go-cty/cty"
)

// testBlock returns a block with an attribute or block of each kind.
func testBlock() *Block {
	rule := &Block{Attrs: []*Attr{
		{Name: "name", Type: cty.String, Required: true},
		{Name: "port", Type: cty.Number, Optional: true},
	}}
	inner := []*Attr{{Name: "x", Type: cty.String, Optional: true}, {Name: "y", Type: cty.Bool, Optional: true, Computed: true}}
	nested := func(name string, n Nesting) *Attr {
		o := &Object{Attrs: inner, Nesting: n}
		return &Attr{Name: name, Type: typeOf(o), Object: o, Optional: true}
	}
	return &Block{
		Attrs: []*Attr{
			{Name: "any", Type: cty.DynamicPseudoType, Optional: true},
			{Name: "id", Type: cty.String, Computed: true},
			{Name: "list", Type: cty.List(cty.Number), Optional: true},
			nested("nlist", List), nested("nmap", Map), nested("nset", Set), nested("nsingle", Single),
			{Name: "tags", Type: cty.Map(cty.String), Optional: true},
		},
		Blocks: []*Nested{
			{Name: "group", Nesting: Group, Block: rule},
			{Name: "rule", Nesting: List, Block: rule},
			{Name: "single", Nesting: Single, Block: rule},
			{Name: "uniq", Nesting: Set, Block: rule},
			{Name: "zone", Nesting: Map, Block: rule},
		},
	}
}

// wire returns the MessagePack of an object of testBlock in which raw bytes replace one attribute.
func wire(t *testing.T, name string, raw ...byte) []byte {
	t.Helper()
	c := testBlock().codec()
	b := msgp.AppendMapHeader(nil, uint32(len(c.attrs)))
	for _, a := range c.attrs {
		b = append(b, a.wire...)
		if a.name == name {
			b = append(b, raw...)
		} else {
			b = msgp.AppendNil(b)
		}
	}
	return b
}

func cat(parts ...any) (b []byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			b = append(b, p...)
		case int:
			b = append(b, byte(p))
		case []byte:
			b = append(b, p...)
		}
	}
	return b
}

func TestMalformedMsgpack(t *testing.T) {
	huge := []byte{0xff, 0xff, 0xff, 0xff}
	for _, c := range []struct {
		name string
		data []byte
		path string // the path in the error
		text string // a part of the error message
	}{
		{"nothing", nil, "", "ends in the middle"},
		{"not an object", []byte{0x2a}, "", "an object is required"},
		{"cut", wire(t, "")[:20], ".", ""},
		{"huge object", cat(0xdf, huge), "", "an object is required"},
		{"huge list", wire(t, "list", cat(0xdd, huge)...), ".list", "a list is required"},
		{"huge map", wire(t, "tags", cat(0xdf, huge)...), ".tags", "a map is required"},
		{"huge string", wire(t, "id", cat(0xdb, huge, "abc")...), ".id", "a string is required"},
		{"huge extension", wire(t, "id", cat(0xc9, huge, 12)...), ".id", "ends in the middle"},
		{"wrong type", wire(t, "id", 0x2a), ".id", "a string is required"},
		{"wrong element", wire(t, "list", cat(0x92, 1, 0xc3)...), ".list[1]", "a number is required"},
		{"not a number", wire(t, "list", cat(0x91, 0xcb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 1)...), ".list[0]", "a number is required"},
		{"number without end", wire(t, "list", cat(0x91, 0xa8, "1e999999")...), ".list[0]", "too large"},
		{"key of a map", wire(t, "tags", cat(0x81, 1, 0xa1, "a")...), ".tags", "keys of a map must be strings"},
		{"element of a map", wire(t, "tags", cat(0x81, 0xa1, "k", 1)...), `.tags["k"]`, "a string is required"},
		{"unknown attribute", wire(t, "nsingle", cat(0x82, 0xa1, "x", 0xc0, 0xa1, "z", 0xc0)...), ".nsingle", `unsupported attribute "z"`},
		{"missing attribute", wire(t, "nsingle", cat(0x81, 0xa1, "x", 0xc0)...), ".nsingle", `missing attribute "y"`},
		{"attribute twice", wire(t, "nsingle", cat(0x82, 0xa1, "x", 0xc0, 0xa1, "x", 0xc0)...), ".nsingle", "given twice"},
		{"deep inside", wire(t, "rule", cat(0x91, 0x82, 0xa4, "name", 0xc0, 0xa4, "port", 0xc3)...), ".rule[0].port", "a number is required"},
		{"dynamic without type", wire(t, "any", 0xa1, 'x'), ".any", "come with its type"},
		{"dynamic of no type", wire(t, "any", cat(0x92, 0xa3, "foo", 0xc0)...), ".any", "invalid type"},
		{"refinement of another type", wire(t, "id", cat(0xc7, 3, 12, 0x81, 5, 1)...), ".id", "malformed"},
		{"refinement that contradicts itself", wire(t, "list", cat(0x91, 0xc7, 9, 12, 0x82, 3, 0x92, 5, 0xc3, 4, 0x92, 1, 0xc3)...), ".list[0]", "contradicts itself"},
		{"unknown extension", wire(t, "id", 0xd5, 7, 0, 0), ".id", "unsupported extension"},
	} {
		v, err := testBlock().Decode(c.data)
		if err == nil {
			t.Errorf("%s: decoded as %#v", c.name, v)
			continue
		}
		var perr cty.PathError
		if !errors.As(err, &perr) {
			t.Errorf("%s: %T is no PathError", c.name, err)
			continue
		}
		if got := pathText(perr.Path); c.path != "." && got != c.path || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: at %q: %s", c.name, got, err)
		}
	}
}

// TestDecodingIsBounded checks that deep nesting and false lengths cost no more than the size of the data.
func TestDecodingIsBounded(t *testing.T) {
	deep := bytes.Repeat(cat(0x92, 0xc4, 9, `"dynamic"`), 100_000)
	nested := strings.Repeat(`["list",`, 100_000) + `"string"` + strings.Repeat("]", 100_000)
	// An unknown list with an exact length of two billion, whose elements cty would create.
	long := cat(0xc7, 13, 12, 0x83, 1, 0xc2, 5, 0xce, 0x7f, 0xff, 0xff, 0xff, 6, 0xce, 0x7f, 0xff, 0xff, 0xff)
	long[1] = byte(len(long) - 3)
	for name, data := range map[string][]byte{
		"values in values": wire(t, "any", deep...),
		"type in type":     wire(t, "any", cat(0x92, 0xc6, 0, byte32(len(nested)), nested, 0xc0)...),
		"known length":     wire(t, "list", long...),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := testBlock().Decode(data)
		runtime.ReadMemStats(&after)
		if name != "known length" && err == nil {
			t.Errorf("%s: no error", name)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 20<<20 {
			t.Errorf("%s: %d bytes of data took %d bytes of memory", name, len(data), got)
		}
	}
}

func byte32(n int) []byte { return []byte{byte(n >> 16), byte(n >> 8), byte(n)} }

func TestMalformedJSON(t *testing.T) {
	for _, c := range []struct{ data, path, text string }{
		{``, "", "ends in the middle"},
		{`[]`, "", "an object is required"},
		{`{"id":"a"} x`, "", "more text after the end"},
		{`{"id":"a"`, "", "the text ends where a comma or '}' should be"},
		{`{"id" "a"}`, "", "':' should be here"},
		{`{"nope":1}`, "", `unsupported attribute "nope"`},
		{`{"id":[]}`, ".id", "a string is required"},
		{`{"id":"a` + "\n" + `"}`, ".id", "a control character stands in a string"},
		{`{"id":"\x"}`, ".id", "not an escape that JSON has"},
		{`{"list":[1,"x"]}`, ".list[1]", "a number is required"},
		{`{"list":[1 2]}`, ".list", "a comma or ']' should be here"},
		{`{"list":[1,]}`, ".list[1]", "a number is required"},
		{`{"list":[01]}`, ".list[0]", "should be here, not '0'"},
		{`{"list":[1e99999999]}`, ".list[0]", "too large"},
		{`{"list":{}}`, ".list", "a list is required"},
		{`{"tags":{"a":{}}}`, `.tags["a"]`, "a string is required"},
		{`{"rule":[{"port":true}]}`, ".rule[0].port", "a number is required"},
		{`{"any":1}`, ".any", "come with its type"},
		{`{"any":{"type":"string"}}`, ".any", "come with its type"},
		{`{"any":{"type":["list","string"],"value":"x"}}`, ".any", "a list is required"},
		{`{"any":{"type":"string","value":"x","more":1}}`, ".any", "unsupported attribute"},
	} {
		v, err := testBlock().DecodeJSON([]byte(c.data))
		var perr cty.PathError
		if !errors.As(err, &perr) {
			t.Errorf("%s: %#v, %v", c.data, v, err)
			continue
		}
		if got := pathText(perr.Path); got != c.path || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: at %q: %s", c.data, got, err)
		}
	}
}

// TestBytesAfterTheValue checks that bytes after a MessagePack value are ignored, as in Terraform and OpenTofu, also by a
// reader that is used again.
func TestBytesAfterTheValue(t *testing.T) {
	for range 2 {
		v, err := testBlock().Decode(append(wire(t, "id", 0xa1, 'x'), 1, 2, 3))
		if err != nil || v.GetAttr("id").AsString() != "x" {
			t.Errorf("%#v, %v", v, err)
		}
	}
	if _, err := testBlock().DecodeJSON([]byte(`{"id":"x"} 1`)); err == nil {
		t.Error("JSON may be followed by more text")
	}
}

func TestDecodeJSONForms(t *testing.T) {
	b := testBlock()
	v, err := b.DecodeJSON([]byte(` {"id" : 12.50, "list":["7", 1e2, 123456789012345678901234567890],
		"tags":{"a":true,"b":"\u00e9\n\ud83d\ude00"}, "any":{"value":[1,null],"type":["tuple",["number","string"]]}} `))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]cty.Value{
		"id": cty.StringVal("12.50"),
		"list": cty.ListVal([]cty.Value{
			cty.NumberIntVal(7), cty.NumberIntVal(100), cty.MustParseNumberVal("123456789012345678901234567890"),
		}),
		"tags": cty.MapVal(map[string]cty.Value{"a": cty.StringVal("true"), "b": cty.StringVal("é\n😀")}),
		"any":  cty.TupleVal([]cty.Value{cty.NumberIntVal(1), cty.NullVal(cty.String)}),
		"rule": cty.NullVal(b.Blocks[1].Type()),
	} {
		if got := v.GetAttr(path); !got.RawEquals(want) {
			t.Errorf("%s: %#v", path, got)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	b := testBlock()
	empty := b.Empty().AsValueMap()
	with := func(name string, v cty.Value) cty.Value {
		vals := map[string]cty.Value{}
		for k, old := range empty {
			vals[k] = old
		}
		vals[name] = v
		return cty.ObjectVal(vals)
	}
	secret := mark.With(cty.StringVal("s3cr3t-canary"), mark.Ephemeral, nil)
	if data, err := b.Encode(with("id", secret)); err == nil || bytes.Contains(data, []byte("canary")) {
		t.Errorf("marked: %q, %v", data, err)
	} else if strings.Contains(err.Error(), "canary") {
		t.Errorf("the message tells the value: %s", err)
	}
	if _, err := b.EncodeJSON(with("id", cty.UnknownVal(cty.String))); err == nil || !strings.Contains(err.Error(), "not known") {
		t.Errorf("unknown: %v", err)
	}
	if _, err := b.Encode(with("list", cty.True)); err == nil {
		t.Error("wrong type: no error")
	}
	if _, err := b.EncodeJSON(with("list", cty.ListVal([]cty.Value{cty.PositiveInfinity}))); err == nil {
		t.Error("infinity: no error")
	}
}

func FuzzTypes(f *testing.F) {
	f.Add([]byte(`["object",{"a":["list","string"]},["a"]]`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, b []byte) {
		ty, f := typeFromJSON(b)
		if f != nil {
			return
		}
		if !json.Valid(b) {
			t.Fatalf("%q", b)
		}
		compile(ty).decode(newReader(msgp.AppendNil(nil)))
	})
}
