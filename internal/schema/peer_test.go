package schema

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
)

// This file compares the rules with recorded answers of Terraform; see testdata/README.md.

type seen struct {
	Schemas map[string]json.RawMessage
	Propose []struct {
		Schema                  string
		Prior, Config, Proposed []byte
	}
	Plan []struct {
		Schema                 string
		Prior, Config, Planned []byte
		Breaches               []string
	}
	Apply []struct {
		Schema          string
		Planned, Actual []byte
		Breaches        []string
	}
	Read []struct {
		Schema      string
		Given, Kept []byte
	}
	blocks map[string]*Block
}

func loadSeen(t testing.TB) *seen {
	t.Helper()
	data, err := os.ReadFile("testdata/terraform-1.11.4.json")
	if err != nil {
		t.Fatal(err)
	}
	var s seen
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	s.blocks = map[string]*Block{}
	for name, raw := range s.Schemas {
		s.blocks[name] = parseBlock(t, raw)
	}
	return &s
}

// jsonBlock decodes the JSON form of a schema.
type jsonBlock struct {
	Attributes map[string]jsonAttr
	BlockTypes map[string]struct {
		Nesting  string `json:"nesting_mode"`
		Min, Max int
		Block    json.RawMessage
	} `json:"block_types"`
}

type jsonAttr struct {
	Type                                    cty.Type
	Nested                                  *jsonNested `json:"nested_type"`
	Required, Optional, Computed, Sensitive bool
	WriteOnly                               bool `json:"write_only"`
}

type jsonNested struct {
	Attributes map[string]jsonAttr
	Nesting    string `json:"nesting_mode"`
}

func parseBlock(t testing.TB, raw []byte) *Block {
	var j jsonBlock
	if err := json.Unmarshal(raw, &j); err != nil {
		t.Fatal(err)
	}
	b := &Block{Attrs: parseAttrs(j.Attributes)}
	for _, name := range sortedKeys(j.BlockTypes) {
		n := j.BlockTypes[name]
		b.Blocks = append(b.Blocks, &Nested{Name: name, Nesting: parseNesting(n.Nesting), Block: parseBlock(t, n.Block)})
	}
	return b
}

func parseAttrs(js map[string]jsonAttr) (attrs []*Attr) {
	for _, name := range sortedKeys(js) {
		j := js[name]
		a := &Attr{
			Name: name, Type: j.Type, Required: j.Required, Optional: j.Optional, Computed: j.Computed,
			Sensitive: j.Sensitive, WriteOnly: j.WriteOnly,
		}
		if j.Nested != nil {
			a.Object = &Object{Attrs: parseAttrs(j.Nested.Attributes), Nesting: parseNesting(j.Nested.Nesting)}
			a.Type = typeOf(a.Object)
		}
		attrs = append(attrs, a)
	}
	return attrs
}

func parseNesting(s string) Nesting {
	for n := Single; n <= Map; n++ {
		if n.String() == s {
			return n
		}
	}
	panic("nesting " + s)
}

// typeOf returns the type of a nested attribute.
func typeOf(o *Object) cty.Type {
	atys := map[string]cty.Type{}
	for _, a := range o.Attrs {
		atys[a.Name] = a.Type
	}
	switch ty := cty.Object(atys); o.Nesting {
	case List:
		return cty.List(ty)
	case Set:
		return cty.Set(ty)
	case Map:
		return cty.Map(ty)
	default:
		return ty
	}
}

// bothWays runs a test twice: with direct access to the memory of values, and with the functions of cty.
func bothWays(t *testing.T, test func(t *testing.T)) {
	if !ctyvalue.Direct {
		t.Error("this version of cty lays values out in another way: package ctyvalue does nothing any more")
	}
	t.Run("direct", test)
	defer func(was bool) { ctyvalue.Direct = was }(ctyvalue.Direct)
	ctyvalue.Direct = false
	t.Run("front door", test)
}

func mustDecode(t testing.TB, b *Block, data []byte) cty.Value {
	t.Helper()
	v, err := b.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestProposeLikeTerraform(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		s := loadSeen(t)
		for i, c := range s.Propose {
			b := s.blocks[c.Schema]
			got := b.Propose(mustDecode(t, b, c.Prior), mustDecode(t, b, c.Config))
			if want := mustDecode(t, b, c.Proposed); !got.RawEquals(want) {
				t.Errorf("case %d, %s:\n got %#v\nwant %#v", i, c.Schema, got, want)
			}
			if data, err := b.Encode(got); err != nil || string(data) != string(c.Proposed) {
				t.Errorf("case %d, %s: encoded %x, %v, not %x", i, c.Schema, data, err, c.Proposed)
			}
		}
	})
}

func TestPlanBreachesLikeTerraform(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		s := loadSeen(t)
		for i, c := range s.Plan {
			b := s.blocks[c.Schema]
			got := b.PlanBreaches(mustDecode(t, b, c.Prior), mustDecode(t, b, c.Config), mustDecode(t, b, c.Planned))
			if d := cmp.Diff(c.Breaches, texts(got)); d != "" {
				t.Errorf("case %d, %s: %s", i, c.Schema, d)
			}
		}
	})
}

func TestApplyBreachesLikeTerraform(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		s := loadSeen(t)
		for i, c := range s.Apply {
			b := s.blocks[c.Schema]
			got := b.ApplyBreaches(mustDecode(t, b, c.Planned), mustDecode(t, b, c.Actual))
			if d := cmp.Diff(c.Breaches, texts(got)); d != "" {
				t.Errorf("case %d, %s: %s", i, c.Schema, d)
			}
		}
	})
}

// texts formats breaches as they were recorded. Terraform writes keys of nested maps like attributes.
func texts(found []Breach) (out []string) {
	for _, b := range found {
		text := breachText(b)
		if rest, ok := strings.CutPrefix(text, ": Root"); ok {
			text = "Root" + rest + ": "
		}
		path, rest, _ := strings.Cut(text, ": ")
		out = append(out, keyLike.ReplaceAllString(path, ".$1")+": "+rest)
	}
	slices.Sort(out)
	return out
}

var keyLike = regexp.MustCompile(`\["([a-z]+)"\]`)
