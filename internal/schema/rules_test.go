package schema

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

// The tests of this file check properties of any schema.

// TestProposalIsValid checks that a proposal is a valid plan, even with unknown values for computed attributes, and
// that the filled plan is a valid result of the apply.
func TestProposalIsValid(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			b := genBlock(t, 2)
			prior := b.Null()
			if rapid.Bool().Draw(t, "exists") {
				prior = source{}.of(t, b)
			}
			config := source{config: true, unknown: true}.of(t, b)
			proposed := b.Propose(prior, config)
			if !proposed.Type().Equals(config.Type()) {
				t.Fatalf("the proposal is of another type: %#v", proposed.Type())
			}
			if bad := b.PlanBreaches(prior, config, proposed); len(bad) > 0 {
				t.Fatalf("%v", bad)
			}
			planned := b.Placeholder(config)
			if bad := b.PlanBreaches(prior, config, planned); len(bad) > 0 {
				t.Fatalf("%v", bad)
			}
			if bad := b.ApplyBreaches(planned, filled(t, planned)); len(bad) > 0 {
				t.Fatalf("%v", bad)
			}
		})
	})
}

// TestProposeSettles checks that the result of a configuration is proposed unchanged for the same configuration.
func TestProposeSettles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := genBlock(t, 2)
		config := source{config: true}.of(t, b)
		made := filled(t, b.Propose(b.Null(), config))
		if again := b.Propose(made, config); !again.RawEquals(made) {
			t.Fatalf("config %#v\n got %#v\nwant %#v", config, again, made)
		}
		if !b.ConfigEqual(made, config) {
			t.Fatalf("%#v\nis not of its own configuration\n%#v", made, config)
		}
	})
}

// TestConfigEqualSeesChanges checks that ConfigEqual detects a change of any configured value.
func TestConfigEqualSeesChanges(t *testing.T) {
	b := &Block{
		Attrs: []*Attr{
			{Name: "a", Type: cty.String, Optional: true},
			{Name: "both", Type: cty.String, Optional: true, Computed: true},
			{Name: "id", Type: cty.String, Computed: true},
		},
		Blocks: []*Nested{{Name: "f", Nesting: Set, Block: &Block{Attrs: []*Attr{
			{Name: "k", Type: cty.String, Required: true}, {Name: "v", Type: cty.String, Computed: true},
		}}}},
	}
	object := func(a, both, id cty.Value, f ...cty.Value) cty.Value {
		set := cty.SetValEmpty(b.Blocks[0].Block.Type())
		if len(f) > 0 {
			set = cty.SetVal(f)
		}
		return cty.ObjectVal(map[string]cty.Value{"a": a, "both": both, "id": id, "f": set})
	}
	elem := func(k string, v cty.Value) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"k": cty.StringVal(k), "v": v})
	}
	null, x := cty.NullVal(cty.String), cty.StringVal("x")
	stored := object(x, x, x, elem("1", x), elem("2", x))
	for _, c := range []struct {
		name   string
		config cty.Value
		want   bool
	}{
		{"same", object(x, x, null, elem("1", null), elem("2", null)), true},
		{"provider's choice", object(x, null, null, elem("1", null), elem("2", null)), true},
		{"changed", object(cty.StringVal("y"), x, null, elem("1", null), elem("2", null)), false},
		{"removed", object(null, x, null, elem("1", null), elem("2", null)), false},
		{"choice overridden", object(x, cty.StringVal("y"), null, elem("1", null), elem("2", null)), false},
		{"one block less", object(x, x, null, elem("1", null)), false},
		{"other block", object(x, x, null, elem("1", null), elem("3", null)), false},
		{"unknown", object(cty.UnknownVal(cty.String), x, null, elem("1", null), elem("2", null)), false},
	} {
		if got := b.ConfigEqual(stored, c.config); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func TestNothingWriteOnlyIsLeft(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			b := genBlock(t, 2)
			v := source{config: true, unknown: true}.of(t, b)
			for _, p := range b.WriteOnly(v) {
				if inner, err := p.Apply(v); err == nil && inner.IsNull() {
					t.Fatalf("%s is null", pathText(p))
				}
				if !b.IsWriteOnly(p) && !throughSet(b, p) {
					t.Fatalf("%s is not write-only", pathText(p))
				}
			}
			out := b.NullWriteOnly(v)
			if left := b.WriteOnly(out); len(left) > 0 {
				t.Fatalf("%s is left in %#v", pathText(left[0]), out)
			}
			if !b.HasWriteOnly() && !out.RawEquals(v) {
				t.Fatal("changed without need")
			}
		})
	})
}

// throughSet reports whether a path leads to or into a set of blocks or nested attributes.
func throughSet(b *Block, p cty.Path) bool {
	s := b.shape()
	for _, step := range p {
		if get, ok := step.(cty.GetAttrStep); ok {
			n := s.node(get.Name)
			if n.nesting == Set {
				return true
			}
			s = n.inner
		}
	}
	return false
}

func TestSensitivePathsLead(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			b := genBlock(t, 2)
			v := source{}.of(t, b)
			for _, p := range b.SensitivePaths(v) {
				if _, err := p.Apply(v); err != nil {
					t.Fatalf("%s leads nowhere: %s", pathText(p), err)
				}
			}
		})
	})
}

func TestCoerceKeepsWhatIsRight(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			b := genBlock(t, 2)
			v := source{unknown: true}.of(t, b)
			got, err := b.Coerce(v)
			if err != nil {
				t.Fatal(err)
			}
			if !got.RawEquals(v) {
				t.Fatalf("\n got %#v\nwant %#v", got, v)
			}
			if empty, err := b.Coerce(cty.EmptyObjectVal); err != nil || !empty.RawEquals(b.Empty()) {
				t.Fatalf("of nothing: %#v, %v", empty, err)
			}
		})
	})
}

// TestCodecKeepsObjects checks that a decoded object is encoded to the same bytes. (The values may differ: floats are
// rounded as decimal text.)
func TestCodecKeepsObjects(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			b := genBlock(t, 2)
			v := source{unknown: true}.of(t, b)
			data, err := b.Encode(v)
			if err != nil {
				t.Fatal(err)
			}
			back, err := b.Decode(data)
			if err != nil {
				t.Fatalf("%s: %#v", err, v)
			}
			if again, err := b.Encode(back); err != nil || !bytes.Equal(again, data) {
				t.Fatalf("%v\n got %x\nwant %x", err, again, data)
			}
			if data, err = b.EncodeJSON(source{}.of(t, b)); err != nil {
				t.Fatal(err)
			}
			if back, err = b.DecodeJSON(data); err != nil {
				t.Fatalf("%s: %s", err, data)
			}
			if again, err := b.EncodeJSON(back); err != nil || !bytes.Equal(again, data) {
				t.Fatalf("%v\n got %s\nwant %s", err, again, data)
			}
		})
	})
}

// TestEqualIsRawEquals checks that equal and RawEquals agree, except for refinements of unknown values and marks.
func TestEqualIsRawEquals(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			g := gen{dynamic: true, unknown: true, null: true}
			ty := g.typ(t, 2)
			a, b := g.value(t, ty), g.value(t, ty)
			if equal(a, b) != a.RawEquals(b) {
				t.Fatalf("%#v\n%#v\nequal: %t", a, b, equal(a, b))
			}
			if !equal(a, a) {
				t.Fatalf("%#v is not itself", a)
			}
			if a.IsWhollyKnown() && b.IsWhollyKnown() && a.Type().Equals(b.Type()) {
				if same := string(appendKey(nil, a)) == string(appendKey(nil, b)); equal(a, b) && !same {
					t.Fatalf("%#v\n%#v\nsame key: %t", a, b, same)
				}
			}
		})
	})
}

// BenchmarkSets measures the time for each element of a set, which must not grow with the number of elements.
func BenchmarkSets(b *testing.B) {
	block := &Block{Blocks: []*Nested{{Name: "rule", Nesting: Set, Block: &Block{Attrs: []*Attr{
		{Name: "id", Type: cty.String, Computed: true},
		{Name: "name", Type: cty.String, Required: true},
	}}}}}
	for _, n := range []int{100, 1000, 10000} {
		prior, config := ruleSet(n, cty.StringVal("x")), ruleSet(n, cty.NullVal(cty.String))
		planned := ruleSet(n, cty.UnknownVal(cty.String))
		b.Run(fmt.Sprintf("propose/%d", n), func(b *testing.B) {
			for b.Loop() {
				block.Propose(prior, config)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/elem")
		})
		b.Run(fmt.Sprintf("apply/%d", n), func(b *testing.B) {
			for b.Loop() {
				if bad := block.ApplyBreaches(planned, prior); len(bad) > 0 {
					b.Fatal(bad[0])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/elem")
		})
	}
}

func ruleSet(n int, id cty.Value) cty.Value {
	var rules []cty.Value
	for i := range n {
		rules = append(rules, cty.ObjectVal(map[string]cty.Value{"id": id, "name": cty.StringVal(fmt.Sprint("rule-", i))}))
	}
	return cty.ObjectVal(map[string]cty.Value{"rule": cty.SetVal(rules)})
}
