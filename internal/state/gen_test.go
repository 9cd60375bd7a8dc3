package state

import (
	"encoding/json"
	"fmt"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

// This file generates addresses, entries and snapshots. It uses few names, so that equal ones are frequent.

var (
	genText = rapid.StringOf(rapid.RuneFrom([]rune("ab0-_.\"\\/<>&[]{}:, \n\t\u00e9\u2028\u2029\U0001f600")))

	genKey = rapid.Custom(func(t *rapid.T) addr.Key {
		switch rapid.IntRange(0, 2).Draw(t, "key kind") {
		case 1:
			return addr.IntKey(rapid.IntRange(0, 12).Draw(t, "index"))
		case 2:
			return addr.StringKey(genText.Draw(t, "each"))
		}
		return addr.NoKey
	})

	genModule = rapid.Custom(func(t *rapid.T) addr.ModuleInstance {
		var m addr.ModuleInstance
		for range rapid.IntRange(0, 2).Draw(t, "depth") {
			m = m.Child(rapid.SampledFrom([]string{"a", "b", "a-b"}).Draw(t, "module"), genKey.Draw(t, "module key"))
		}
		return m
	})

	genResource = rapid.Custom(func(t *rapid.T) addr.AbsResource {
		return addr.AbsResource{
			Module: genModule.Draw(t, "in"),
			Mode:   rapid.SampledFrom([]addr.Mode{addr.Managed, addr.Managed, addr.Data}).Draw(t, "mode"),
			Type:   rapid.SampledFrom([]string{"x_a", "x_b", "x"}).Draw(t, "type"),
			Name:   rapid.SampledFrom([]string{"n", "m", "n-1"}).Draw(t, "name"),
		}
	})

	genObject = rapid.Custom(func(t *rapid.T) addr.Object {
		o := addr.Object{Instance: genResource.Draw(t, "resource").Instance(genKey.Draw(t, "instance"))}
		if o.Mode == addr.Managed && rapid.IntRange(0, 4).Draw(t, "deposed?") == 0 {
			o.Deposed = fmt.Sprintf("%08x", rapid.IntRange(0, 3).Draw(t, "deposed"))
		}
		return o
	})

	genRecorded = rapid.Custom(func(t *rapid.T) []addr.Resource {
		var out []addr.Resource
		for range rapid.IntRange(0, 4).Draw(t, "dependencies") {
			r := genResource.Draw(t, "dependency").Resource()
			if rapid.IntRange(0, 9).Draw(t, "ephemeral?") == 0 {
				r.Mode = addr.Ephemeral
			}
			out = append(out, r)
		}
		return out
	})

	genValue = rapid.Custom(func(t *rapid.T) cty.Value { return drawValue(t, 2) })

	genEntry = rapid.Custom(func(t *rapid.T) *Entry {
		attrs, err := json.Marshal(map[string]any{"id": genText.Draw(t, "id"), "n": []any{rapid.Int().Draw(t, "n"), nil, true, map[string]any{}, []any{}}})
		if err != nil {
			t.Fatal(err)
		}
		e := &Entry{
			Attrs: attrs, Schema: rapid.Int64Range(0, 9).Draw(t, "schema"), Provider: genProvider,
			Recorded:    genRecorded.Draw(t, "recorded"),
			CreateFirst: rapid.Bool().Draw(t, "create first"), SkipDestroy: rapid.Bool().Draw(t, "skip"), Protected: rapid.Bool().Draw(t, "protected"), Tainted: rapid.Bool().Draw(t, "tainted"),
		}
		if rapid.Bool().Draw(t, "flat") {
			e.Attrs, e.Flatmap = nil, map[string]string{"id": genText.Draw(t, "flat id")}
		}
		if rapid.Bool().Draw(t, "more") {
			e.Private = []byte(genText.Draw(t, "private") + "x")
			e.Identity, e.IdentitySchema = []byte(`{"id":1}`), 3
			e.Extra = []byte(`{"unknown":[1,{"a":"<"}]}`)
			e.Sensitive = []cty.Path{cty.GetAttrPath("a").IndexInt(3).IndexString(genText.Draw(t, "path")), cty.GetAttrPath("b")}
		}
		return e
	})

	genProvider = addr.ProviderInstance{ProviderConfig: addr.ProviderConfig{Provider: addr.Provider{Host: addr.TerraformHost, Namespace: "hashicorp", Type: "x"}}}

	genSnapshot = rapid.Custom(func(t *rapid.T) *Snapshot {
		e := (*Snapshot)(nil).Edit()
		for range rapid.IntRange(0, 12).Draw(t, "objects") {
			e.Put(genObject.Draw(t, "object"), genEntry.Draw(t, "entry"))
		}
		for range rapid.IntRange(0, 3).Draw(t, "outputs") {
			v := genValue.Draw(t, "output")
			o := Output{Value: mark.Plain(v), Type: v.Type(), Sensitive: rapid.Bool().Draw(t, "sensitive"), Deprecated: genText.Draw(t, "deprecated")}
			if o.Sensitive {
				o.Value.Marks = []mark.At{{Tag: mark.Sensitive}}
			}
			e.Output(genText.Draw(t, "output name"), o)
		}
		h := e.Head()
		h.Lineage, h.Serial, h.Version = "l", rapid.Uint64().Draw(t, "serial"), "1.12.0"
		if rapid.Bool().Draw(t, "extra") {
			h.Extra = []byte(`{"new_field":{"a":[]}}`)
		}
		if rapid.Bool().Draw(t, "checks") {
			h.Checks = []Check{
				{Kind: "check", Addr: "check.c", Status: Unknown},
				{Kind: "resource", Addr: "x_a.n", Status: Fail, Objects: []CheckedObject{{Addr: "x_a.n[0]", Status: Fail, Failures: []string{genText.Draw(t, "failure")}}}},
			}
		}
		return e.Done()
	})
)

func drawValue(t *rapid.T, depth int) cty.Value {
	switch n := rapid.IntRange(0, 6).Draw(t, "kind"); {
	case n == 0:
		return cty.NullVal(cty.DynamicPseudoType)
	case n == 1:
		return cty.BoolVal(rapid.Bool().Draw(t, "bool"))
	case n == 2:
		return cty.NumberIntVal(rapid.Int64().Draw(t, "number"))
	case n == 3 || depth == 0:
		return cty.StringVal(genText.Draw(t, "string"))
	case n == 4:
		return cty.TupleVal([]cty.Value{drawValue(t, depth-1), drawValue(t, depth-1)})
	case n == 5:
		return cty.ObjectVal(map[string]cty.Value{"a": drawValue(t, depth-1)})
	}
	return cty.SetVal([]cty.Value{cty.StringVal("a"), cty.StringVal(genText.Draw(t, "element"))})
}

func markPlain(v cty.Value) mark.Value { return mark.Plain(v) }
