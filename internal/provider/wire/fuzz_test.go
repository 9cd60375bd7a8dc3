package wire

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
)

// some is an answer with every kind of field.
func some() *wirepb.GetProviderSchema_Response {
	attrs := []*wirepb.Schema_Attribute{
		{Name: "a", Type: []byte(`"string"`), Required: true, WriteOnly: true, DeprecationMessage: "x"},
		{Name: "b", Type: []byte(`["map",["object",{"c":"bool"}]]`)},
		{Name: "n", NestedType: &wirepb.Schema_Object{Nesting: wirepb.Schema_Object_SET, Attributes: []*wirepb.Schema_Attribute{{Name: "i", Type: []byte(`"number"`)}}}},
	}
	s := &wirepb.Schema{Version: 2, Block: &wirepb.Schema_Block{
		Attributes: attrs,
		BlockTypes: []*wirepb.Schema_NestedBlock{{TypeName: "c", Nesting: wirepb.Schema_NestedBlock_LIST, MinItems: 1, Block: &wirepb.Schema_Block{Attributes: attrs[:1]}}},
	}}
	return &wirepb.GetProviderSchema_Response{
		Provider: s, ProviderMeta: s,
		ResourceSchemas:          map[string]*wirepb.Schema{"r": s},
		DataSourceSchemas:        map[string]*wirepb.Schema{"d": s},
		EphemeralResourceSchemas: map[string]*wirepb.Schema{"e": s},
		Functions:                map[string]*wirepb.Function{"f": {Return: &wirepb.Function_Return{Type: []byte(`"dynamic"`)}, Parameters: []*wirepb.Function_Parameter{{Name: "p", Type: []byte(`"bool"`)}}}},
		ServerCapabilities:       &wirepb.ServerCapabilities{PlanDestroy: true},
		Diagnostics:              []*wirepb.Diagnostic{{Severity: 2, Summary: "s"}},
	}
}

func must(t interface{ Fatal(...any) }, m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// FuzzSchemas checks that no answer of a provider causes a panic. If the generated code can read an answer, the index
// reads the same types.
func FuzzSchemas(f *testing.F) {
	f.Add(must(f, some()), false)
	f.Add(must(f, some()), true)
	f.Add(must(f, &wirepb.GetProviderSchema_Response{}), false)
	f.Add([]byte("\x12\x09\x0a\x03bad\x12\x02\xff\xff"), false)
	f.Add([]byte("\x0b\x0b\x0c\x0c"), false)
	f.Fuzz(func(t *testing.T, raw []byte, five bool) {
		c := &client{major: 6, methods: tables[6]}
		if five {
			c.major, c.methods = 5, tables[5]
		}
		s, ds := c.decodeSchemas(raw)
		if s == nil {
			if !ds.HasErrors() {
				t.Fatal("no schemas, and no reason why")
			}
			return
		}
		for _, m := range []addr.Mode{addr.Managed, addr.Data, addr.Ephemeral} {
			for _, name := range s.Types(m) {
				if ty, err := s.Type(m, name); err == nil {
					ty.Type()
				}
			}
		}
		var whole wirepb.GetProviderSchema_Response
		if proto.Unmarshal(raw, &whole) != nil {
			return
		}
		if n := len(whole.ResourceSchemas); n != len(s.Types(addr.Managed)) {
			t.Fatalf("%d resource types were found of %d", len(s.Types(addr.Managed)), n)
		}
		for name := range whole.DataSourceSchemas {
			if ty, err := s.Type(addr.Data, name); ty == nil && err == nil {
				t.Fatalf("the data source %q was not found", name)
			}
		}
	})
}

// FuzzDiagnostics checks diagnostics, their paths, and identities.
func FuzzDiagnostics(f *testing.F) {
	step := func(n string) *wirepb.AttributePath_Step {
		return &wirepb.AttributePath_Step{Selector: &wirepb.AttributePath_Step_ElementKeyString{ElementKeyString: n}}
	}
	f.Add(must(f, &wirepb.PlanResourceChange_Response{
		Diagnostics: []*wirepb.Diagnostic{{Severity: 1, Summary: "s", Detail: "d", Attribute: &wirepb.AttributePath{Steps: []*wirepb.AttributePath_Step{
			step("a"), {}, {Selector: &wirepb.AttributePath_Step_ElementKeyInt{ElementKeyInt: -1}},
		}}}},
		RequiresReplace: []*wirepb.AttributePath{{}, {Steps: []*wirepb.AttributePath_Step{step("k")}}},
		Deferred:        &wirepb.Deferred{Reason: 9},
	}))
	f.Add([]byte("\x22\x00\x12\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var m wirepb.PlanResourceChange_Response
		if proto.Unmarshal(raw, &m) != nil {
			return
		}
		c := &client{major: 6, methods: tables[6]}
		for _, d := range c.diags(m.Diagnostics) {
			if d.Summary == "" || d.Severity == 0 {
				t.Fatalf("a diagnostic without title or severity: %#v", d)
			}
		}
		if len(fromPaths(m.RequiresReplace)) != len(m.RequiresReplace) {
			t.Fatal("a path was lost")
		}
		fromDeferred(m.Deferred)
		var id wirepb.ResourceIdentitySchema
		if proto.Unmarshal(raw, &id) == nil {
			_, _ = decodeIdentity(&id)
		}
	})
}
