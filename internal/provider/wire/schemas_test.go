package wire_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/providertest"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/provider/wire/serve"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
	"github.com/lethe-iac/lethe/internal/provider/wire/wiretest"
	"github.com/lethe-iac/lethe/internal/schema"
)

// described connects to a provider that answers the call for schemas with m.
func described(t testing.TB, major int, m *wirepb.GetProviderSchema_Response) provider.Provider {
	return open(t, &wiretest.Server{Major: major, Provider: &providertest.Fake{}, Handlers: map[string]wiretest.Handler{
		"GetProviderSchema": wiretest.Answer(m),
	}}, wire.Options{})
}

func oneType(attrs ...*wirepb.Schema_Attribute) *wirepb.Schema {
	return &wirepb.Schema{Block: &wirepb.Schema_Block{Attributes: attrs}}
}

// TestUnusableTypes checks that an invalid type causes an error only where it is used.
func TestUnusableTypes(t *testing.T) {
	text := []byte(`"string"`)
	deep := strings.Repeat(`["list",`, 20000) + `"string"` + strings.Repeat("]", 20000)
	bad := map[string]struct {
		schema *wirepb.Schema
		text   string
	}{
		"no type":         {oneType(&wirepb.Schema_Attribute{Name: "a"}), `attribute "a": no type`},
		"type no JSON":    {oneType(&wirepb.Schema_Attribute{Name: "a", Type: []byte("string")}), `attribute "a": bad type`},
		"type unheard of": {oneType(&wirepb.Schema_Attribute{Name: "a", Type: []byte(`"strung"`)}), `attribute "a": bad type`},
		"type too deep":   {oneType(&wirepb.Schema_Attribute{Name: "a", Type: []byte(deep)}), `attribute "a": bad type`},
		"attribute twice": {oneType(&wirepb.Schema_Attribute{Name: "a", Type: text}, &wirepb.Schema_Attribute{Name: "a", Type: text}), `attribute "a": described twice`},
		"nested nesting": {oneType(&wirepb.Schema_Attribute{Name: "a", NestedType: &wirepb.Schema_Object{Nesting: 9}}),
			`attribute "a": unknown nesting mode 9`},
		"nested attribute": {oneType(&wirepb.Schema_Attribute{Name: "a", NestedType: &wirepb.Schema_Object{Nesting: wirepb.Schema_Object_LIST, Attributes: []*wirepb.Schema_Attribute{{Name: "b"}}}}),
			`attribute "a": attribute "b": no type`},
		"block nesting": {&wirepb.Schema{Block: &wirepb.Schema_Block{BlockTypes: []*wirepb.Schema_NestedBlock{{TypeName: "b"}}}},
			`block "b": unknown nesting mode 0`},
		"block twice": {&wirepb.Schema{Block: &wirepb.Schema_Block{BlockTypes: []*wirepb.Schema_NestedBlock{{TypeName: "b", Nesting: 1}, {TypeName: "b", Nesting: 2}}}},
			`block "b": described twice`},
		"block inside": {&wirepb.Schema{Block: &wirepb.Schema_Block{BlockTypes: []*wirepb.Schema_NestedBlock{{TypeName: "b", Nesting: 1, Block: oneType(&wirepb.Schema_Attribute{Name: "a"}).Block}}}},
			`block "b": attribute "a": no type`},
	}
	m := &wirepb.GetProviderSchema_Response{ResourceSchemas: map[string]*wirepb.Schema{
		"good": oneType(&wirepb.Schema_Attribute{Name: "a", Type: text}),
	}}
	for name, c := range bad {
		m.ResourceSchemas[name] = c.schema
	}
	s, ds := described(t, 6, m).Schemas(context.Background())
	if ds != nil {
		t.Fatalf("the provider as a whole is refused: %v", ds)
	}
	if good, err := s.Type(addr.Managed, "good"); err != nil || good.Attr("a") == nil {
		t.Errorf("the good type: %v, %v", good, err)
	}
	for name, c := range bad {
		_, err := s.Type(addr.Managed, name)
		if err == nil || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), "resource type "+name) || !strings.Contains(err.Error(), "acme/playground") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTypesAreDecodedLate checks that the schema of a type is decoded when it is first used.
func TestTypesAreDecodedLate(t *testing.T) {
	raw, err := proto.Marshal(&wirepb.GetProviderSchema_Response{})
	if err != nil {
		t.Fatal(err)
	}
	entry := "\x0a\x03bad\x12\x02\xff\xff" // an entry of the map of types: the key "bad", and a value that is not a valid message
	raw = append(raw, append([]byte{0x12, byte(len(entry))}, entry...)...)
	p := open(t, &wiretest.Server{Major: 6, Provider: &providertest.Fake{}, Handlers: map[string]wiretest.Handler{
		"GetProviderSchema": func(context.Context, []byte) ([]byte, error) { return raw, nil },
	}}, wire.Options{})
	s, ds := p.Schemas(context.Background())
	if ds != nil || len(s.Types(addr.Managed)) != 1 {
		t.Fatalf("%v, %v", s, ds)
	}
	if _, err := s.Type(addr.Managed, "bad"); err == nil {
		t.Error("no error")
	}
}

// TestTypeForms checks types of composite attributes, including forms that are valid but have no counterpart in a
// schema.
func TestTypeForms(t *testing.T) {
	obj := cty.Object(map[string]cty.Type{"a": cty.String, "b": cty.List(cty.Bool)})
	for text, want := range map[string]cty.Type{
		`["list","string"]`: cty.List(cty.String),
		`["set",["object",{"a":"string","b":["list","bool"]}]]`: cty.Set(obj),
		`["object",{"a":"string","b":["list","bool"]},["b"]]`:   obj, // a type in a schema has no optional attributes, so the list of their names is ignored
		`["tuple",["string","dynamic"]]`:                        cty.Tuple([]cty.Type{cty.String, cty.DynamicPseudoType}),
		` [ "map" , ["map","number"] ] `:                        cty.Map(cty.Map(cty.Number)),
	} {
		s, ds := described(t, 6, &wirepb.GetProviderSchema_Response{ResourceSchemas: map[string]*wirepb.Schema{
			"x": oneType(&wirepb.Schema_Attribute{Name: "a", Type: []byte(text)}),
		}}).Schemas(context.Background())
		if ds != nil {
			t.Fatal(ds)
		}
		if ty, err := s.Type(addr.Managed, "x"); err != nil || !ty.Attr("a").Type.Equals(want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestAttributeNumbers checks field numbers that have different meanings in the two protocols.
func TestAttributeNumbers(t *testing.T) {
	six := &wirepb.Schema_Attribute{Name: "a", Type: []byte(`"string"`), WriteOnly: true, DeprecationMessage: "six"}
	five := &wirepb.Schema_Attribute{Name: "a", Type: []byte(`"string"`)}
	rest, _ := proto.Marshal(&wirepb.Attribute5{WriteOnly: true, DeprecationMessage: "five"})
	five.ProtoReflect().SetUnknown(rest)
	for _, c := range []struct {
		major     int
		attr      *wirepb.Schema_Attribute
		writeOnly bool
		message   string
	}{
		{6, six, true, "six"}, {5, five, true, "five"}, {6, five, false, ""}, {5, six, false, ""},
	} {
		s, ds := described(t, c.major, &wirepb.GetProviderSchema_Response{ResourceSchemas: map[string]*wirepb.Schema{"x": oneType(c.attr)}}).Schemas(context.Background())
		if ds != nil {
			t.Fatal(ds)
		}
		ty, err := s.Type(addr.Managed, "x")
		if err != nil {
			t.Fatal(err)
		}
		if a := ty.Attr("a"); a.WriteOnly != c.writeOnly || a.Deprecation != c.message {
			t.Errorf("protocol %d: write-only %v, message %q", c.major, a.WriteOnly, a.Deprecation)
		}
	}
}

// TestEmptyAnswer checks that an empty answer describes a provider without settings and types.
func TestEmptyAnswer(t *testing.T) {
	s, ds := described(t, 6, &wirepb.GetProviderSchema_Response{ProviderMeta: &wirepb.Schema{Block: &wirepb.Schema_Block{}}}).Schemas(context.Background())
	if ds != nil || s.Config.Block == nil || s.Meta != nil || len(s.Types(addr.Managed))+len(s.Functions)+len(s.Identities()) != 0 {
		t.Errorf("%+v, %v", s, ds)
	}
}

// TestUnusableParts checks that invalid provider settings are an error at once, and that an invalid function is left
// out.
func TestUnusableParts(t *testing.T) {
	broken := oneType(&wirepb.Schema_Attribute{Name: "a"})
	for what, m := range map[string]*wirepb.GetProviderSchema_Response{
		"settings": {Provider: broken}, "metadata": {ProviderMeta: broken},
	} {
		s, ds := described(t, 6, m).Schemas(context.Background())
		if s != nil || len(ds) != 1 {
			t.Fatalf("%v, %v", s, ds)
		}
		checkDiagnostic(t, ds[0], "Plugin error", what, `attribute "a"`, "acme/playground")
	}
	good := &wirepb.Function{Return: &wirepb.Function_Return{Type: []byte(`"string"`)}}
	s, ds := described(t, 6, &wirepb.GetProviderSchema_Response{Functions: map[string]*wirepb.Function{
		"good": good, "bad": {}, "worse": {Return: good.Return, Parameters: []*wirepb.Function_Parameter{{Name: "p"}}},
	}}).Schemas(context.Background())
	if s == nil || len(s.Functions) != 1 || s.Functions["good"] == nil || len(ds) != 2 || ds.HasErrors() {
		t.Errorf("%v, %v", s, ds)
	}
}

// TestSchemaDiagnostics checks that there are no schemas if the provider reports an error about them, and that a
// warning is passed on together with the schemas.
func TestSchemaDiagnostics(t *testing.T) {
	warning := &wirepb.Diagnostic{Severity: wirepb.Diagnostic_WARNING, Summary: "old"}
	s, ds := described(t, 6, &wirepb.GetProviderSchema_Response{Diagnostics: []*wirepb.Diagnostic{warning}}).Schemas(context.Background())
	if s == nil || len(ds) != 1 || ds[0].Summary != "old" {
		t.Errorf("%v, %v", s, ds)
	}
	failed := &wirepb.Diagnostic{Severity: wirepb.Diagnostic_ERROR, Summary: "broken"}
	s, ds = described(t, 6, &wirepb.GetProviderSchema_Response{Diagnostics: []*wirepb.Diagnostic{warning, failed}}).Schemas(context.Background())
	if s != nil || len(ds) != 2 {
		t.Errorf("%v, %v", s, ds)
	}
}

// TestIdentitiesMayBeMissing checks that a provider that does not implement identities is accepted. Other failures of
// the call are errors.
func TestIdentitiesMayBeMissing(t *testing.T) {
	for code, want := range map[codes.Code]bool{codes.Unimplemented: true, codes.Internal: false, codes.Unavailable: false} {
		for _, major := range []int{5, 6} {
			p := open(t, &wiretest.Server{Major: major, Provider: &providertest.Fake{}, Handlers: map[string]wiretest.Handler{
				"GetResourceIdentitySchemas": wiretest.Fail(code, "no"),
			}}, wire.Options{})
			s, ds := p.Schemas(context.Background())
			if (s != nil) != want || (len(ds) == 0) != want {
				t.Errorf("%s: %v, %v", code, s, ds)
			}
		}
	}
}

func TestUnusableIdentity(t *testing.T) {
	p := open(t, &wiretest.Server{Major: 6, Provider: &providertest.Fake{}, Handlers: map[string]wiretest.Handler{
		"GetResourceIdentitySchemas": wiretest.Answer(&wirepb.GetResourceIdentitySchemas_Response{
			IdentitySchemas: map[string]*wirepb.ResourceIdentitySchema{"x": {IdentityAttributes: []*wirepb.ResourceIdentitySchema_IdentityAttribute{{Name: "id"}}}},
			Diagnostics:     []*wirepb.Diagnostic{{Severity: wirepb.Diagnostic_WARNING, Summary: "careful"}},
		}),
	}}, wire.Options{})
	s, ds := p.Schemas(context.Background())
	if s == nil || len(ds) != 1 {
		t.Fatalf("%v, %v", s, ds)
	}
	if _, err := s.Identity("x"); err == nil || !strings.Contains(err.Error(), `attribute "id": no type`) {
		t.Error(err)
	}
}

// counted counts the calls for schemas, which handler answers.
func counted(t *testing.T, n *atomic.Int32, handler wiretest.Handler) provider.Provider {
	return open(t, &wiretest.Server{Major: 6, Provider: &providertest.Fake{}, Handlers: map[string]wiretest.Handler{
		"GetProviderSchema": func(ctx context.Context, q []byte) ([]byte, error) {
			n.Add(1)
			return handler(ctx, q)
		},
	}}, wire.Options{})
}

// TestAskedOnce checks that the process gets one call for the schemas from any number of callers, whether it fails or
// not.
func TestAskedOnce(t *testing.T) {
	for name, handler := range map[string]wiretest.Handler{
		"answer": wiretest.Answer(&wirepb.GetProviderSchema_Response{}), "failure": wiretest.Fail(codes.Internal, "no"),
	} {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int32
			p := counted(t, &n, handler)
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() { p.Schemas(context.Background()) })
			}
			wg.Wait()
			if n.Load() != 1 {
				t.Errorf("asked %d times", n.Load())
			}
		})
	}
}

// TestGivingUpIsNotKept checks that the failure of a cancelled call is not kept: the next call requests the schemas
// again.
func TestGivingUpIsNotKept(t *testing.T) {
	var n atomic.Int32
	p := counted(t, &n, func(ctx context.Context, _ []byte) ([]byte, error) {
		if n.Load() == 1 {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for n.Load() == 0 {
		}
		cancel()
	}()
	if s, ds := p.Schemas(ctx); s != nil || len(ds) != 1 || ds[0].Summary != "Request cancelled" {
		t.Fatalf("%v, %v", s, ds)
	}
	if s, ds := p.Schemas(ctx); s != nil || len(ds) != 1 || ds[0].Summary != "Request cancelled" {
		t.Fatalf("%v, %v", s, ds)
	}
	if s, ds := p.Schemas(context.Background()); s == nil || ds != nil {
		t.Fatalf("%v, %v", s, ds)
	}
}

// shelf stores bytes and counts the calls.
type shelf struct {
	book           []byte
	loads, written int
}

func (s *shelf) Load() []byte   { s.loads++; return s.book }
func (s *shelf) Store(b []byte) { s.written++; s.book = b }

// TestKept checks that the schemas and identities are stored, so that the next client makes no call. The client makes
// the call if the stored bytes are for the other protocol or broken. An answer is not stored if it has a warning, or if
// the provider relies on the call.
func TestKept(t *testing.T) {
	optional := &wirepb.ServerCapabilities{GetProviderSchemaOptional: true}
	schemas := func(c *wirepb.ServerCapabilities, ds ...*wirepb.Diagnostic) *wirepb.GetProviderSchema_Response {
		return &wirepb.GetProviderSchema_Response{ServerCapabilities: c, Diagnostics: ds,
			ResourceSchemas: map[string]*wirepb.Schema{"acme_thing": oneType(&wirepb.Schema_Attribute{Name: "a", Type: []byte(`"string"`), Optional: true})}}
	}
	var asked atomic.Int32
	ask := func(t *testing.T, major int, kept wire.Kept, m *wirepb.GetProviderSchema_Response) {
		t.Helper()
		raw, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		p := open(t, &wiretest.Server{Major: major, Provider: &providertest.Fake{}, Handlers: map[string]wiretest.Handler{
			"GetProviderSchema": func(context.Context, []byte) ([]byte, error) { asked.Add(1); return raw, nil },
			"GetResourceIdentitySchemas": wiretest.Answer(&wirepb.GetResourceIdentitySchemas_Response{IdentitySchemas: map[string]*wirepb.ResourceIdentitySchema{
				"acme_thing": {IdentityAttributes: []*wirepb.ResourceIdentitySchema_IdentityAttribute{{Name: "id", Type: []byte(`"string"`), RequiredForImport: true}}},
			}}),
		}}, wire.Options{Kept: kept})
		s, ds := p.Schemas(context.Background())
		if s == nil || ds.HasErrors() {
			t.Fatalf("%v, %v", s, ds)
		}
		typ, err := s.Type(addr.Managed, "acme_thing")
		id, err2 := s.Identity("acme_thing")
		if err != nil || err2 != nil || typ.Attr("a") == nil || id == nil || len(id.Attrs) != 1 {
			t.Fatalf("%v, %v; %v, %v", typ, err, id, err2)
		}
	}
	for name, c := range map[string]struct {
		first, second int // the major versions of the protocol of both clients
		answer        *wirepb.GetProviderSchema_Response
		spoil         func(*shelf)
		asks, stores  int
	}{
		"the same":       {6, 6, schemas(optional), nil, 1, 1},
		"the same, 5":    {5, 5, schemas(optional), nil, 1, 1},
		"other protocol": {5, 6, schemas(optional), nil, 2, 2},
		"emptied":        {6, 6, schemas(optional), func(s *shelf) { s.book = nil }, 2, 2},
		"cut off":        {6, 6, schemas(optional), func(s *shelf) { s.book = s.book[:len(s.book)-3] }, 2, 2},
		"broken inside":  {6, 6, schemas(optional), func(s *shelf) { s.book[5] = 0xff }, 2, 2},
		"must be asked":  {6, 6, schemas(nil), nil, 2, 0},
		"with a warning": {6, 6, schemas(optional, &wirepb.Diagnostic{Severity: wirepb.Diagnostic_WARNING, Summary: "Old"}), nil, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			asked.Store(0)
			kept := new(shelf)
			ask(t, c.first, kept, c.answer)
			if c.spoil != nil {
				c.spoil(kept)
			}
			ask(t, c.second, kept, c.answer)
			if int(asked.Load()) != c.asks || kept.written != c.stores {
				t.Errorf("asked %d times, stored %d times; want %d and %d", asked.Load(), kept.written, c.asks, c.stores)
			}
		})
	}
}

// TestPart checks that a part of a description contains the requested types and all data without a type. It must not
// depend on the order of the answer.
func TestPart(t *testing.T) {
	str := &wirepb.Schema_Attribute{Name: "a", Type: []byte(`"string"`), Optional: true}
	one := &wirepb.GetProviderSchema_Response{
		Provider:        oneType(str),
		ResourceSchemas: map[string]*wirepb.Schema{},
		Functions:       map[string]*wirepb.Function{"f": {Return: &wirepb.Function_Return{Type: []byte(`"string"`)}}},
	}
	ids := &wirepb.GetResourceIdentitySchemas_Response{IdentitySchemas: map[string]*wirepb.ResourceIdentitySchema{}}
	for _, name := range []string{"acme_a", "acme_b", "acme_c", "acme_d"} {
		one.ResourceSchemas[name] = oneType(str)
		ids.IdentitySchemas[name] = &wirepb.ResourceIdentitySchema{IdentityAttributes: []*wirepb.ResourceIdentitySchema_IdentityAttribute{{Name: "id", Type: []byte(`"string"`), RequiredForImport: true}}}
	}
	one.DataSourceSchemas = map[string]*wirepb.Schema{"acme_a": oneType(str)}
	for _, major := range []int{5, 6} {
		var part []byte
		for range 5 { // the order of a Go map changes from run to run
			p := open(t, &wiretest.Server{Major: major, Provider: &providertest.Fake{}, Handlers: map[string]wiretest.Handler{
				"GetProviderSchema": wiretest.Answer(one), "GetResourceIdentitySchemas": wiretest.Answer(ids),
			}}, wire.Options{})
			s, ds := p.Schemas(context.Background())
			if ds != nil {
				t.Fatal(ds)
			}
			got := s.Part(func(m addr.Mode, typ string) bool { return m == addr.Managed && (typ == "acme_a" || typ == "acme_c") })
			if part != nil && string(part) != string(got) {
				t.Fatalf("%d: %q and then %q", major, part, got)
			}
			part = got
		}
		s := wire.Described(part, addr.Provider{Host: "example.com", Namespace: "acme", Type: "acme"})
		if s == nil {
			t.Fatalf("%d: %q is of no use", major, part)
		}
		if got := strings.Join(s.Types(addr.Managed), " ") + "|" + strings.Join(s.Types(addr.Data), " ") + "|" + strings.Join(s.Identities(), " "); got != "acme_a acme_c||acme_a acme_c" {
			t.Errorf("%d: got %s", major, got)
		}
		if typ, err := s.Type(addr.Managed, "acme_c"); err != nil || typ.Attr("a") == nil || s.Config.Attr("a") == nil || s.Functions["f"] == nil {
			t.Errorf("%d: %v, %v, %v", major, typ, err, s)
		}
		for _, bad := range [][]byte{nil, part[:len(part)-1], []byte("no"), {8, 7}} {
			if wire.Described(bad, addr.Provider{}) != nil {
				t.Errorf("%d: %q is of use", major, bad)
			}
		}
	}
}

// TestPrime checks that Prime makes the call and ignores the answer.
func TestPrime(t *testing.T) {
	var n atomic.Int32
	p := counted(t, &n, func(context.Context, []byte) ([]byte, error) { return []byte("\xff no schemas"), nil })
	if ds := p.(provider.Primer).Prime(context.Background()); ds != nil || n.Load() != 1 {
		t.Errorf("%v, %d calls", ds, n.Load())
	}
	p = counted(t, &n, wiretest.Fail(codes.Internal, "no"))
	if ds := p.(provider.Primer).Prime(context.Background()); len(ds) != 1 || ds[0].Severity != diag.Error {
		t.Errorf("got %v", ds)
	}
}

func TestMalformedSchemas(t *testing.T) {
	for _, raw := range []string{"\xff", "\x12\x05abc", "\x12\x02\xff\xff", "\x12\x03\x0a\x01\xff", "\x22\x02\xff\xff", "\x32\x02\xff\xff", "\x0b"} {
		var n atomic.Int32
		p := counted(t, &n, func(context.Context, []byte) ([]byte, error) { return []byte(raw), nil })
		s, ds := p.Schemas(context.Background())
		if s != nil || len(ds) != 1 {
			t.Fatalf("%q: %v, %v", raw, s, ds)
		}
		checkDiagnostic(t, ds[0], "Plugin error", "GetProviderSchema", "acme/playground", "malformed")
	}
}

// wide returns the schemas of a provider with the given number of types, each with 40 attributes.
func wide(types int) *provider.Schemas {
	s := provider.NewSchemas(&schema.Schema{Block: &schema.Block{}})
	var attrs []*schema.Attr
	for i := range 40 {
		attrs = append(attrs, &schema.Attr{
			Name: fmt.Sprintf("attribute_%02d", i), Type: []cty.Type{cty.String, cty.Number, cty.List(cty.String), cty.Map(cty.Bool)}[i%4],
			Optional: true, Computed: i%2 == 0, Description: strings.Repeat("What this attribute is for. ", 4),
		})
	}
	for i := range types {
		s.Add(addr.Managed, fmt.Sprintf("wide_type_%04d", i), func() (*schema.Schema, error) {
			return &schema.Schema{Block: &schema.Block{Attrs: attrs}}, nil
		})
	}
	return s
}

// BenchmarkSchemas reads 1,500 schemas and uses 20 of them. The cost has a part for the answer and a part for each used
// type.
func BenchmarkSchemas(b *testing.B) {
	m, err := serve.SchemaAnswer(6, wide(1500))
	if err != nil {
		b.Fatal(err)
	}
	conn := (&wiretest.Server{Major: 6, Provider: &providertest.Fake{}, Handlers: map[string]wiretest.Handler{
		"GetProviderSchema": wiretest.Answer(m),
	}}).Dial(b)
	b.SetBytes(int64(proto.Size(m)))
	b.ReportAllocs()
	for b.Loop() {
		p := wire.Client(conn, 6, playground, wire.Options{})
		s, ds := p.Schemas(context.Background())
		if ds != nil {
			b.Fatal(ds)
		}
		for i := range 20 {
			if _, err := s.Type(addr.Managed, fmt.Sprintf("wide_type_%04d", i*7)); err != nil {
				b.Fatal(err)
			}
		}
	}
}
