package schema

import (
	"fmt"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// The benchmarks use objects of two sizes: of smallBlock, and of wideBlock, which resembles a cloud resource with forty
// attributes, most of them null, and three blocks.

func smallBlock() (*Block, cty.Value) {
	b := &Block{Attrs: []*Attr{
		{Name: "id", Type: cty.String, Computed: true},
		{Name: "name", Type: cty.String, Optional: true},
		{Name: "refs", Type: cty.List(cty.String), Optional: true},
		{Name: "secret_wo", Type: cty.String, Optional: true, WriteOnly: true},
		{Name: "secret_wo_version", Type: cty.Number, Optional: true},
		{Name: "tags", Type: cty.Map(cty.String), Optional: true},
		{Name: "text", Type: cty.String, Optional: true},
		{Name: "value", Type: cty.String, Computed: true},
	}}
	return b, cty.ObjectVal(map[string]cty.Value{
		"id":                cty.StringVal("id-000000000017"),
		"name":              cty.StringVal("item-17"),
		"refs":              cty.NullVal(cty.List(cty.String)),
		"secret_wo":         cty.NullVal(cty.String),
		"secret_wo_version": cty.NumberIntVal(1),
		"tags":              cty.MapVal(map[string]cty.Value{"a": cty.StringVal("1"), "b": cty.StringVal("2")}),
		"text":              cty.StringVal("some text"),
		"value":             cty.StringVal("value-000000000017"),
	})
}

func wideBlock() (*Block, cty.Value) {
	b := &Block{}
	vals := map[string]cty.Value{}
	add := func(a *Attr, v cty.Value) { b.Attrs = append(b.Attrs, a); vals[a.Name] = v }
	for i := range 38 {
		a := &Attr{Name: fmt.Sprintf("attribute_number_%02d", i), Optional: true, Computed: i%3 == 0}
		var v cty.Value
		switch i % 8 {
		case 4:
			a.Type, v = cty.Bool, cty.True
		case 5:
			a.Type, v = cty.Number, cty.NumberIntVal(int64(i*100))
		case 6:
			a.Type, v = cty.List(cty.String), cty.ListVal([]cty.Value{cty.StringVal("x"), cty.StringVal("y")})
		case 7:
			a.Type, v = cty.Map(cty.String), cty.MapVal(map[string]cty.Value{"k": cty.StringVal("v"), "l": cty.StringVal("w")})
		default:
			a.Type, v = cty.String, cty.StringVal(fmt.Sprintf("the value of attribute number %d", i))
		}
		add(a, v)
	}
	add(&Attr{Name: "id", Type: cty.String, Computed: true}, cty.StringVal("id-17"))
	add(&Attr{Name: "name", Type: cty.String, Optional: true}, cty.StringVal("name-17"))
	inner := &Block{}
	in := map[string]cty.Value{}
	for j := range 6 {
		name := fmt.Sprintf("nested_attr_%d", j)
		inner.Attrs = append(inner.Attrs, &Attr{Name: name, Type: cty.String, Optional: true})
		in[name] = cty.StringVal("nested value")
	}
	for i := range 3 {
		n := &Nested{Name: fmt.Sprintf("setting_%d", i), Block: inner, Nesting: List}
		b.Blocks = append(b.Blocks, n)
		vals[n.Name] = cty.ListVal([]cty.Value{cty.ObjectVal(in), cty.ObjectVal(in)})
	}
	return b, cty.ObjectVal(vals)
}

func shapes(b *testing.B, run func(b *testing.B, s *Block, v cty.Value)) {
	for _, shape := range []struct {
		name string
		make func() (*Block, cty.Value)
	}{{"small", smallBlock}, {"wide", wideBlock}} {
		s, v := shape.make()
		b.Run(shape.name, func(b *testing.B) {
			b.ReportAllocs()
			run(b, s, v)
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	shapes(b, func(b *testing.B, s *Block, v cty.Value) {
		for b.Loop() {
			s.Encode(v)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	shapes(b, func(b *testing.B, s *Block, v cty.Value) {
		data, _ := s.Encode(v)
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			s.Decode(data)
		}
	})
}

func BenchmarkEncodeJSON(b *testing.B) {
	shapes(b, func(b *testing.B, s *Block, v cty.Value) {
		for b.Loop() {
			s.EncodeJSON(v)
		}
	})
}

func BenchmarkDecodeJSON(b *testing.B) {
	shapes(b, func(b *testing.B, s *Block, v cty.Value) {
		data, _ := s.EncodeJSON(v)
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			s.DecodeJSON(data)
		}
	})
}

// BenchmarkRules measures the rules that every planned object passes.
func BenchmarkRules(b *testing.B) {
	rules := map[string]func(s *Block, prior, config cty.Value){
		"propose":   func(s *Block, prior, config cty.Value) { s.Propose(prior, config) },
		"plan":      func(s *Block, prior, config cty.Value) { s.PlanBreaches(prior, config, prior) },
		"apply":     func(s *Block, prior, _ cty.Value) { s.ApplyBreaches(prior, prior) },
		"sensitive": func(s *Block, prior, _ cty.Value) { s.SensitivePaths(prior) },
		"writeonly": func(s *Block, prior, _ cty.Value) { s.NullWriteOnly(prior) },
	}
	shapes(b, func(b *testing.B, s *Block, v cty.Value) {
		vals := v.AsValueMap()
		for _, a := range s.Attrs {
			if a.Computed {
				vals[a.Name] = cty.NullVal(a.Type)
			}
		}
		config := cty.ObjectVal(vals)
		for _, name := range sortedKeys(rules) {
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					rules[name](s, v, config)
				}
			})
		}
	})
}
