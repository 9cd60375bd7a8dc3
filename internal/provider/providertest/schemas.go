package providertest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/zclconf/go-cty/cty"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
)

// Contract describes a transport (the code between a caller and a provider) that Run tests.
type Contract struct {
	// Open returns the transport under test as a provider, which passes its calls to the provider far.
	Open func(t *testing.T, far provider.Provider) provider.Provider
	// FlatTypes is true if the transport cannot describe nested attributes (protocol 5).
	FlatTypes bool
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, Compare); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

var (
	someAddr = addr.Provider{Host: addr.DefaultHost, Namespace: "acme", Type: "playground"}
	secret   = []byte("\x00private\xff")
	someTime = time.Date(2031, 2, 3, 4, 5, 6, 789, time.UTC)
	bothWays = provider.Dynamic{Msgpack: []byte("\x81\xa1a\xc0"), JSON: []byte(`{"a":null}`)}
)

// schemas checks that all parts of a provider's schemas arrive, and that they are requested only once.
func (c Contract) schemas(t *testing.T) {
	types := everyShape(c.FlatTypes)
	far := &Fake{Address: someAddr, Describe: func() (*provider.Schemas, provider.Diags) {
		s := provider.NewSchemas(types["settings"])
		s.Meta = types["meta"]
		s.Capabilities = provider.Capabilities{PlanDestroy: true, SchemaOptional: true, Move: true}
		for _, m := range []addr.Mode{addr.Managed, addr.Data, addr.Ephemeral, addr.List, addr.Action} {
			for name, ty := range types {
				s.Add(m, m.String()+"_"+name, func() (*schema.Schema, error) { return ty, nil })
			}
		}
		s.AddIdentity("managed_flat", func() (*provider.Identity, error) { return &someIdentity, nil })
		s.Functions["reverse"] = &someFunction
		return s, nil
	}}
	p := c.Open(t, far)
	got, ds := p.Schemas(context.Background())
	if got == nil || ds != nil {
		t.Fatalf("no schemas: %v", ds)
	}
	equal(t, "settings", got.Config, types["settings"])
	equal(t, "meta", got.Meta, types["meta"])
	equal(t, "capabilities", got.Capabilities, provider.Capabilities{PlanDestroy: true, SchemaOptional: true, Move: true})
	for _, m := range []addr.Mode{addr.Managed, addr.Data, addr.Ephemeral, addr.List, addr.Action} {
		if n := len(got.Types(m)); n != len(types) {
			t.Errorf("%d %s types of %d", n, m, len(types))
		}
		for name, want := range types {
			s, err := got.Type(m, m.String()+"_"+name)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			equal(t, name, s, want)
		}
	}
	if s, err := got.Type(addr.Managed, "none"); s != nil || err != nil {
		t.Errorf("a type that does not exist: %v, %v", s, err)
	}
	id, err := got.Identity("managed_flat")
	equal(t, "identity", id, &someIdentity)
	if err != nil {
		t.Error(err)
	}
	equal(t, "identities", got.Identities(), []string{"managed_flat"})
	equal(t, "functions", got.Functions, map[string]*provider.Function{"reverse": &someFunction})

	again, _ := p.Schemas(context.Background())
	if again != got {
		t.Error("asked twice, got two answers")
	}
}

var someIdentity = provider.Identity{Version: 3, Attrs: []provider.IdentityAttr{
	{Name: "account", Type: cty.String, Optional: true, Description: "whose"},
	{Name: "ids", Type: cty.List(cty.Number), Required: true},
}}

var someFunction = provider.Function{
	Params: []provider.Param{
		{Name: "text", Type: cty.String, Description: "*what*", Markdown: true, AllowNull: true},
		{Name: "any", Type: cty.DynamicPseudoType, AllowUnknown: true},
	},
	Variadic:           &provider.Param{Name: "more", Type: cty.Map(cty.List(cty.Bool))},
	Return:             cty.Object(map[string]cty.Type{"a": cty.Tuple([]cty.Type{cty.String, cty.Number})}),
	Summary:            "turns round",
	Description:        "Turns **round**.",
	Markdown:           true,
	DeprecationMessage: "do it yourself",
}

// everyShape returns schemas that contain each kind of attribute and block. If flat is true, they have no nested
// attributes.
func everyShape(flat bool) map[string]*schema.Schema {
	attrs := []*schema.Attr{
		{Name: "computed", Type: cty.Bool, Computed: true},
		{Name: "deep", Type: cty.Map(cty.Object(map[string]cty.Type{"a": cty.Set(cty.String), "b": cty.DynamicPseudoType})), Optional: true},
		{Name: "dynamic", Type: cty.DynamicPseudoType, Optional: true, Computed: true},
		{Name: "old", Type: cty.Number, Optional: true, Deprecated: true, Deprecation: "use new"},
		{Name: "required", Type: cty.String, Required: true, Description: "*needed*", Markdown: true},
		{Name: "secret", Type: cty.String, Optional: true, Sensitive: true, WriteOnly: true},
	}
	blocks := []*schema.Nested{
		{Name: "group", Nesting: schema.Group, Block: &schema.Block{Attrs: attrs}},
		{Name: "list", Nesting: schema.List, Min: 1, Max: 3, Block: &schema.Block{
			Description: "inner", Deprecated: true, Deprecation: "gone soon",
			Blocks: []*schema.Nested{{Name: "inner", Nesting: schema.Single, Block: &schema.Block{Attrs: attrs[:1]}}},
		}},
		{Name: "map", Nesting: schema.Map, Block: &schema.Block{}},
		{Name: "set", Nesting: schema.Set, Block: &schema.Block{Attrs: attrs[:1]}},
		{Name: "single", Nesting: schema.Single, Block: &schema.Block{Attrs: attrs[4:5]}},
	}
	out := map[string]*schema.Schema{
		"settings": {Block: &schema.Block{Attrs: attrs[4:5], Description: "# Settings", Markdown: true}},
		"meta":     {Block: &schema.Block{Attrs: attrs[:1]}},
		"empty":    {Version: 1, Block: &schema.Block{}},
		"flat":     {Version: 12, Block: &schema.Block{Attrs: attrs}},
		"blocks":   {Block: &schema.Block{Attrs: attrs[:2], Blocks: blocks}},
	}
	if !flat {
		out["nested"] = &schema.Schema{Block: &schema.Block{Attrs: nestedAttrs(attrs)}}
	}
	return out
}

// nestedAttrs returns nested attributes in every nesting, up to two levels deep.
func nestedAttrs(inside []*schema.Attr) []*schema.Attr {
	plain := []*schema.Attr{inside[0], inside[4], inside[5]}
	inner := cty.Object(map[string]cty.Type{"computed": cty.Bool, "required": cty.String, "secret": cty.String})
	deep := cty.Object(map[string]cty.Type{"more": cty.List(inner)})
	return []*schema.Attr{
		{Name: "in_list", Type: cty.List(inner), Optional: true, Object: &schema.Object{Nesting: schema.List, Attrs: plain}},
		{Name: "in_map", Type: cty.Map(inner), Required: true, Object: &schema.Object{Nesting: schema.Map, Attrs: plain}},
		{Name: "in_set", Type: cty.Set(deep), Computed: true, Object: &schema.Object{Nesting: schema.Set, Attrs: []*schema.Attr{
			{Name: "more", Type: cty.List(inner), Optional: true, Object: &schema.Object{Nesting: schema.List, Attrs: plain}},
		}}},
		{Name: "in_single", Type: inner, Optional: true, WriteOnly: true, Deprecated: true, Deprecation: "no more", Object: &schema.Object{Nesting: schema.Single, Attrs: plain}},
	}
}

// Compare has the options of package cmp with which tests compare requests and answers of providers. Nil and empty
// slices and maps are equal.
var Compare = cmp.Options{
	cmp.Comparer(func(a, b cty.Type) bool {
		if a == cty.NilType || b == cty.NilType {
			return a == cty.NilType && b == cty.NilType
		}
		return a.Equals(b)
	}),
	cmp.Comparer(func(a, b cty.PathStep) bool { return cty.Path{a}.Equals(cty.Path{b}) }),
	cmpopts.IgnoreUnexported(schema.Block{}),
	cmpopts.IgnoreFields(diag.Diagnostic{}, "Foreign"), // the code that passes a diagnostic on sets Foreign, so it may differ
	cmpopts.EquateEmpty(),
}
