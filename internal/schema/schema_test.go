package schema

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

func TestCoerce(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		b := testBlock()
		secret := mark.With(cty.StringVal("s"), mark.Sensitive, nil)
		v, err := b.Coerce(cty.ObjectVal(map[string]cty.Value{
			"list":   cty.TupleVal([]cty.Value{cty.StringVal("1"), cty.NumberIntVal(2)}),
			"tags":   cty.ObjectVal(map[string]cty.Value{"a": secret, "n": cty.NumberIntVal(1)}),
			"nlist":  cty.TupleVal([]cty.Value{cty.EmptyObjectVal, cty.ObjectVal(map[string]cty.Value{"x": secret})}),
			"rule":   cty.TupleVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"port": cty.StringVal("80")})}),
			"uniq":   cty.NullVal(cty.DynamicPseudoType),
			"zone":   cty.ObjectVal(map[string]cty.Value{"k": cty.EmptyObjectVal}),
			"single": cty.DynamicVal,
		}))
		if err != nil {
			t.Fatal(err)
		}
		if !v.Type().Equals(b.Type()) && len(v.Type().TestConformance(b.Type())) > 0 {
			t.Fatalf("%#v", v.Type())
		}
		plain := mark.Split(v)
		var marks []string
		for _, m := range plain.Marks {
			marks = append(marks, pathText(m.Path))
		}
		if d := cmp.Diff([]string{`.nlist[1].x`, `.tags["a"]`}, sorted(marks)); d != "" {
			t.Error(d)
		}
		get := func(path ...any) cty.Value {
			v := plain.Raw
			for _, p := range path {
				switch p := p.(type) {
				case string:
					v = v.GetAttr(p)
				case int:
					v = v.Index(cty.NumberIntVal(int64(p)))
				}
			}
			return v
		}
		for _, c := range []struct {
			name      string
			got, want cty.Value
		}{
			{"converted list", get("list"), cty.ListVal([]cty.Value{cty.NumberIntVal(1), cty.NumberIntVal(2)})},
			{"absent attribute", get("nlist", 0, "x"), cty.NullVal(cty.String)},
			{"converted in a block", get("rule", 0, "port"), cty.NumberIntVal(80)},
			{"absent in a block", get("rule", 0, "name"), cty.NullVal(cty.String)},
			{"null blocks", get("uniq"), cty.SetValEmpty(b.Blocks[3].Block.Type())},
			{"unknown block", get("single"), cty.UnknownVal(b.Blocks[2].Type())},
			{"absent group", get("group"), b.Blocks[0].Block.Empty()},
		} {
			if !c.got.RawEquals(c.want) {
				t.Errorf("%s: %#v", c.name, c.got)
			}
		}
	})
}

func sorted(s []string) []string {
	m := map[string]bool{}
	for _, x := range s {
		m[x] = true
	}
	return sortedKeys(m)
}

func TestCoerceErrors(t *testing.T) {
	b := testBlock()
	for _, c := range []struct {
		name, path, text string
		v                cty.Value
	}{
		{"no object", "", "an object is required", cty.StringVal("x")},
		{"no such attribute", "", `unsupported attribute "nope"`, cty.ObjectVal(map[string]cty.Value{"nope": cty.True})},
		{"conversion", ".list[1]", "a number is required", cty.ObjectVal(map[string]cty.Value{"list": cty.ListVal([]cty.Value{cty.StringVal("1"), cty.StringVal("x")})})},
		{"no block", ".rule[0]", "an object is required", cty.ObjectVal(map[string]cty.Value{"rule": cty.ListVal([]cty.Value{cty.StringVal("x")})})},
		{"no list", ".rule", "a list is required", cty.ObjectVal(map[string]cty.Value{"rule": cty.True})},
		{"in a map", `.zone["k"].port`, "number", cty.ObjectVal(map[string]cty.Value{"zone": cty.MapVal(map[string]cty.Value{"k": cty.ObjectVal(map[string]cty.Value{"port": cty.StringVal("x")})})})},
	} {
		_, err := b.Coerce(c.v)
		perr, ok := err.(cty.PathError)
		if !ok || pathText(perr.Path) != c.path || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v at %s", c.name, err, pathText(perr.Path))
		}
	}
}

func TestPlaceholder(t *testing.T) {
	b := testBlock()
	v, err := b.Coerce(cty.ObjectVal(map[string]cty.Value{
		"nmap": cty.MapVal(map[string]cty.Value{"k": cty.ObjectVal(map[string]cty.Value{"x": cty.StringVal("a")})}),
	}))
	if err != nil {
		t.Fatal(err)
	}
	got := b.Placeholder(v)
	if id := got.GetAttr("id"); id.IsKnown() {
		t.Errorf("id: %#v", id)
	}
	k := got.GetAttr("nmap").Index(cty.StringVal("k"))
	if !k.GetAttr("x").RawEquals(cty.StringVal("a")) || k.GetAttr("y").IsKnown() {
		t.Errorf("nmap: %#v", k)
	}
	if tags := got.GetAttr("tags"); !tags.RawEquals(cty.NullVal(cty.Map(cty.String))) {
		t.Errorf("tags: %#v", tags)
	}
}

// TestUnsure checks that the attributes set in a block that may not exist are planned as unknown.
func TestUnsure(t *testing.T) {
	text := func(name string) *Attr { return &Attr{Name: name, Type: cty.String, Optional: true} }
	inner := &Block{Attrs: []*Attr{text("a")}}
	b := &Block{Attrs: []*Attr{text("a"), {Name: "c", Type: cty.String, Computed: true}}, Blocks: []*Nested{
		{Name: "one", Nesting: Single, Block: inner}, {Name: "list", Nesting: List, Block: inner}, {Name: "set", Nesting: Set, Block: inner},
	}}
	outer := &Block{Blocks: []*Nested{{Name: "b", Nesting: Single, Block: b}}}
	null, unknown := cty.NullVal(cty.String), cty.UnknownVal(cty.String)
	is := func(v cty.Value) cty.Value { return cty.ObjectVal(map[string]cty.Value{"a": v}) }
	of := func(a, one, list, set cty.Value) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"a": a, "c": null, "one": one, "list": list, "set": set})
	}
	none, empty := cty.NullVal(inner.Type()), cty.ListValEmpty(inner.Type())
	noSet := cty.SetValEmpty(inner.Type())
	for _, c := range []struct{ v, want cty.Value }{
		{of(cty.StringVal("x"), none, empty, noSet), of(unknown, none, empty, noSet)},
		{of(null, none, empty, noSet), of(null, none, empty, noSet)},
		{of(null, is(cty.StringVal("x")), empty, noSet), of(null, is(unknown), empty, noSet)},
		{of(cty.StringVal("x").Mark("m"), is(null), empty, noSet), of(unknown.Mark("m"), is(null), empty, noSet)},
		{of(unknown, none, cty.ListVal([]cty.Value{is(cty.StringVal("x"))}), noSet), of(unknown, none, cty.ListVal([]cty.Value{is(unknown)}), noSet)},
	} {
		got := b.Unsure(c.v)
		if !got.RawEquals(c.want) {
			t.Errorf("%#v\nbecomes %#v\nwant    %#v", c.v, got, c.want)
		}
		if plain, _ := got.UnmarkDeep(); c.want.GetAttr("list").LengthInt() == 0 {
			planned := cty.ObjectVal(map[string]cty.Value{"b": plain})
			if found := outer.ApplyBreaches(planned, cty.ObjectVal(map[string]cty.Value{"b": cty.NullVal(b.Type())})); len(found) > 0 {
				t.Errorf("no block in the end: %v", found)
			}
		}
	}
	known := cty.ObjectVal(map[string]cty.Value{"b": of(cty.StringVal("x"), none, empty, noSet)})
	if found := outer.ApplyBreaches(known, cty.ObjectVal(map[string]cty.Value{"b": cty.NullVal(b.Type())})); len(found) == 0 {
		t.Error("a block that is known vanished, and nobody said so")
	}
}

// secretBlock returns a block with sensitive and write-only attributes at all depths.
func secretBlock() *Block {
	s := &Attr{Name: "s", Type: cty.String, Optional: true, Sensitive: true}
	w := &Attr{Name: "w", Type: cty.String, Optional: true, WriteOnly: true}
	n := &Attr{Name: "n", Type: cty.String, Optional: true}
	nested := func(name string, nesting Nesting, attrs ...*Attr) *Attr {
		o := &Object{Attrs: attrs, Nesting: nesting}
		return &Attr{Name: name, Type: typeOf(o), Object: o, Optional: true}
	}
	whole := nested("whole", Single, n, s)
	whole.Sensitive = true
	all := nested("wo_all", List, n)
	all.WriteOnly = true
	return &Block{
		Attrs: []*Attr{
			nested("list", List, n, s, w), nested("map", Map, n, s, w), n, nested("none", Single, s, w),
			s, nested("set", Set, n, s), nested("single", Single, n, s, w), w, whole, all,
		},
		Blocks: []*Nested{
			{Name: "bempty", Nesting: Set, Block: &Block{Attrs: []*Attr{n, s}}},
			{Name: "bgroup", Nesting: Group, Block: &Block{Attrs: []*Attr{n, s, w}}},
			{Name: "blist", Nesting: List, Block: &Block{Attrs: []*Attr{n, s, w}}},
			{Name: "bmap", Nesting: Map, Block: &Block{Attrs: []*Attr{n, s, w}}},
			{Name: "bset", Nesting: Set, Block: &Block{Attrs: []*Attr{n, s}}},
		},
	}
}

func secretValue(t *testing.T, b *Block) cty.Value {
	t.Helper()
	o := cty.ObjectVal(map[string]cty.Value{"n": cty.StringVal("n"), "s": cty.StringVal("s"), "w": cty.UnknownVal(cty.String)})
	p := cty.ObjectVal(map[string]cty.Value{"n": cty.StringVal("n"), "s": cty.NullVal(cty.String)})
	unmarked := cty.ObjectVal(map[string]cty.Value{"n": cty.StringVal("n")})
	v, err := b.Coerce(cty.ObjectVal(map[string]cty.Value{
		"list": cty.TupleVal([]cty.Value{o, unmarked}), "map": cty.ObjectVal(map[string]cty.Value{"k": o}), "set": cty.TupleVal([]cty.Value{p}),
		"single": o, "w": cty.StringVal("w"), "whole": p, "wo_all": cty.TupleVal([]cty.Value{unmarked}),
		"bgroup": unmarked, "blist": cty.TupleVal([]cty.Value{unmarked, o}), "bmap": cty.ObjectVal(map[string]cty.Value{"k": unmarked}), "bset": cty.TupleVal([]cty.Value{p}),
	}))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func pathTexts(paths []cty.Path) (out []string) {
	for _, p := range paths {
		out = append(out, pathText(p))
	}
	return out
}

// TestSensitivePaths checks that the paths are the sensitive paths that Terraform 1.11 stores in the state.
func TestSensitivePaths(t *testing.T) {
	b := secretBlock()
	want := []string{
		`.bgroup.s`, `.blist[0].s`, `.blist[1].s`, `.bmap["k"].s`, `.bset`, `.list[0].s`, `.list[1].s`,
		`.map["k"].s`, `.s`, `.set`, `.single.s`, `.whole`, `.whole.s`,
	}
	if d := cmp.Diff(want, pathTexts(b.SensitivePaths(secretValue(t, b)))); d != "" {
		t.Error(d)
	}
	if got := b.SensitivePaths(b.Null()); got != nil {
		t.Errorf("null: %v", got)
	}
}

func TestWriteOnly(t *testing.T) {
	b := secretBlock()
	v := secretValue(t, b)
	want := []string{`.blist[1].w`, `.list[0].w`, `.map["k"].w`, `.single.w`, `.w`, `.wo_all`}
	if d := cmp.Diff(want, pathTexts(b.WriteOnly(v))); d != "" {
		t.Error(d)
	}
	for _, p := range b.WriteOnly(v) {
		if !b.IsWriteOnly(p) {
			t.Errorf("%s is not write-only", pathText(p))
		}
	}
	nulled := b.NullWriteOnly(v)
	if left := b.WriteOnly(nulled); len(left) > 0 {
		t.Errorf("left: %v", pathTexts(left))
	}
	if d := cmp.Diff(pathTexts(b.SensitivePaths(v)), pathTexts(b.SensitivePaths(nulled))); d != "" {
		t.Errorf("something else is gone: %s", d)
	}
}

func TestAttribute(t *testing.T) {
	b := secretBlock()
	idx := func(k cty.Value) cty.PathStep { return cty.IndexStep{Key: k} }
	get := func(n string) cty.PathStep { return cty.GetAttrStep{Name: n} }
	for _, c := range []struct {
		path cty.Path
		want string // the name of the found attribute; "" if none is expected
		wo   bool
	}{
		{cty.Path{get("n")}, "n", false},
		{cty.Path{get("w")}, "w", true},
		{cty.Path{get("map"), idx(cty.StringVal("k")), get("w")}, "w", true},
		{cty.Path{get("map"), idx(cty.StringVal("k"))}, "map", false},
		{cty.Path{get("blist"), idx(cty.Zero), get("s")}, "s", false},
		{cty.Path{get("blist"), idx(cty.Zero)}, "", false},
		{cty.Path{get("wo_all"), idx(cty.Zero), get("n")}, "n", true},
		{cty.Path{get("nope"), get("n")}, "", false},
		{nil, "", false},
	} {
		a := b.Attribute(c.path)
		if got := a != nil; got != (c.want != "") || got && a.Name != c.want {
			t.Errorf("%s: %v", pathText(c.path), a)
		}
		if b.IsWriteOnly(c.path) != c.wo {
			t.Errorf("%s: write-only: %t", pathText(c.path), !c.wo)
		}
	}
}

// TestBreachesHideSecrets checks that no text contains the value of a sensitive attribute, and Safe contains no values.
func TestBreachesHideSecrets(t *testing.T) {
	b := secretBlock()
	v := secretValue(t, b)
	with := func(text string) cty.Value {
		out, err := cty.Transform(v, func(p cty.Path, v cty.Value) (cty.Value, error) {
			if a := b.Attribute(p); a != nil && a.Name == "s" && v.Type() == cty.String {
				return cty.StringVal(text), nil
			}
			return v, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	config, planned := with("canary-1"), with("canary-2")
	for name, found := range map[string][]Breach{
		"plan":  b.PlanBreaches(b.Null(), config, planned),
		"apply": b.ApplyBreaches(planned, config),
	} {
		if len(found) < 5 {
			t.Errorf("%s: only %v", name, found)
		}
		for _, f := range found {
			if strings.Contains(breachText(f)+f.Safe, "canary") {
				t.Errorf("%s: %s / %s", name, f, f.Safe)
			}
		}
	}
	plain := testBlock()
	a, _ := plain.Coerce(cty.ObjectVal(map[string]cty.Value{"tags": cty.MapVal(map[string]cty.Value{"canary": cty.StringVal("canary")})}))
	other, _ := plain.Coerce(cty.ObjectVal(map[string]cty.Value{"tags": cty.MapVal(map[string]cty.Value{"b": cty.StringVal("canary")})}))
	for _, f := range append(plain.ApplyBreaches(a, other), plain.PlanBreaches(plain.Null(), a, other)...) {
		if strings.Contains(f.Safe, "canary") || !strings.Contains(f.Text, "canary") && !strings.Contains(f.Text, `"b"`) {
			t.Errorf("%s / %s", f, f.Safe)
		}
	}
	open := &Block{Attrs: []*Attr{{Name: "any", Type: cty.DynamicPseudoType, Optional: true}}}
	keyed := func(key string) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"any": cty.ObjectVal(map[string]cty.Value{key: cty.True})})
	}
	if found := open.ApplyBreaches(keyed("canary"), keyed("b")); len(found) != 1 || strings.Contains(found[0].Safe, "canary") || !strings.Contains(found[0].Text, "canary") {
		t.Errorf("%v", found)
	}
}

func TestGoString(t *testing.T) {
	for want, v := range map[string]cty.Value{
		`cty.StringVal("a")`: cty.StringVal("a"),
		`(ephemeral value)`:  cty.ListVal([]cty.Value{mark.With(cty.StringVal("a"), mark.Ephemeral, nil)}),
		`(sensitive value)`:  mark.With(cty.StringVal("a"), mark.Sensitive, nil),
	} {
		if got := GoString(v); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

func TestValid(t *testing.T) {
	if err := testBlock().Valid(UseManaged); err != nil {
		t.Error(err)
	}
	if err := secretBlock().Valid(UseManaged); err != nil {
		t.Error(err)
	}
	s := func(name string) *Attr { return &Attr{Name: name, Type: cty.String, Optional: true} }
	wo := func(name string) *Attr { a := s(name); a.WriteOnly = true; return a }
	nested := func(nesting Nesting, attrs ...*Attr) *Attr {
		o := &Object{Attrs: attrs, Nesting: nesting}
		return &Attr{Name: "n", Type: typeOf(o), Object: o, Optional: true}
	}
	attrs := func(as ...*Attr) *Block { return &Block{Attrs: as} }
	in := func(nesting Nesting, b *Block) *Block {
		return &Block{Blocks: []*Nested{{Name: "b", Nesting: nesting, Block: b}}}
	}
	limited := func(nesting Nesting, min, max int) *Block {
		b := in(nesting, attrs(s("a")))
		b.Blocks[0].Min, b.Blocks[0].Max = min, max
		return b
	}
	computed, partly, wholly, set := wo("a"), nested(Single, wo("a"), s("b")), nested(Single, wo("a")), nested(Set, s("a"))
	computed.Computed, partly.WriteOnly, wholly.WriteOnly, set.WriteOnly = true, true, true, true
	for _, c := range []struct {
		name  string
		block *Block
		want  string // the error; "" for a valid schema
	}{
		{"write-only in a set of blocks", in(Set, attrs(wo("a"))), "b.a: an attribute in a set"},
		{"write-only deep in a set of blocks", in(Set, in(Single, attrs(wo("a")))), "b.b.a: an attribute in a set"},
		{"write-only in a nested set", attrs(nested(Set, wo("a"))), "n.a: an attribute in a set"},
		{"write-only set", attrs(set), ""},
		{"write-only plain set", attrs(&Attr{Name: "a", Type: cty.Set(cty.String), Optional: true, WriteOnly: true}), ""},
		{"write-only in lists, maps, groups", in(List, in(Map, in(Group, attrs(wo("a"), nested(Map, wo("b")))))), ""},
		{"write-only and computed", attrs(computed), "a: the attribute cannot be both write-only and computed"},
		{"partly write-only", attrs(partly), "n: the attribute is write-only, so"},
		{"wholly write-only", attrs(wholly), ""},
		{"no kind", attrs(&Attr{Name: "a", Type: cty.String}), "a: the attribute is neither"},
		{"two kinds", attrs(&Attr{Name: "a", Type: cty.String, Required: true, Optional: true}), "a: the attribute cannot be both"},
		{"required and computed", attrs(&Attr{Name: "a", Type: cty.String, Required: true, Computed: true}), "a: the attribute cannot be both"},
		{"no type", attrs(&Attr{Name: "a", Optional: true}), "a: the attribute has no type"},
		{"name twice", &Block{Attrs: []*Attr{s("b")}, Blocks: []*Nested{{Name: "b", Nesting: List, Block: attrs(s("a"))}}}, "b: the name is used twice"},
		{"nested group", attrs(nested(Group, s("a"))), "n: invalid nesting mode"},
		{"dynamic in a nested list", attrs(nested(List, &Attr{Name: "a", Type: cty.DynamicPseudoType, Optional: true})), "n: a collection of nested attributes"},
		{"dynamic in a set", in(Set, attrs(&Attr{Name: "a", Type: cty.DynamicPseudoType, Optional: true})), "b: blocks in a set"},
		{"dynamic in a list", in(List, attrs(&Attr{Name: "a", Type: cty.DynamicPseudoType, Optional: true})), ""},
		{"limits", limited(List, 1, 3), ""},
		{"limits the wrong way round", limited(List, 3, 1), "b: at least 3"},
		{"limited map", limited(Map, 1, 0), "b: the number of blocks cannot be limited"},
		{"many singles", limited(Single, 0, 2), "b: there can be one"},
		{"required single", limited(Single, 1, 1), ""},
	} {
		err := c.block.Valid(UseManaged)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %s", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestValidUse(t *testing.T) {
	b := secretBlock()
	if err := b.Valid(UseManaged); err != nil {
		t.Error(err)
	}
	for _, use := range []Use{UseData, UseEphemeral, UseProvider} {
		err := b.Valid(use)
		if err == nil || !strings.Contains(err.Error(), "blist.w: the "+string(use)) {
			t.Errorf("%s: %v", use, err)
		}
		if err := testBlock().Valid(use); err != nil {
			t.Errorf("%s: %s", use, err)
		}
	}
}

func TestBlocksAsAttrs(t *testing.T) {
	object := cty.Object(map[string]cty.Type{
		"name": cty.String, "inner": cty.List(cty.Object(map[string]cty.Type{"x": cty.Number})),
	})
	nested := &Object{Nesting: List, Attrs: []*Attr{{Name: "x", Type: cty.String, Optional: true}}}
	b := &Block{Attrs: []*Attr{
		{Name: "computed", Type: cty.List(object), Computed: true},
		{Name: "maps", Type: cty.Map(object), Optional: true},
		{Name: "nested", Type: typeOf(nested), Object: nested, Optional: true},
		{Name: "rules", Type: cty.List(object), Optional: true, Computed: true},
		{Name: "strings", Type: cty.List(cty.String), Optional: true},
		{Name: "unique", Type: cty.Set(object), Optional: true},
	}}
	var got []string
	for _, n := range b.BlocksAsAttrs() {
		got = append(got, n.Name+" "+n.Nesting.String())
		for _, inner := range n.Block.BlocksAsAttrs() {
			got = append(got, n.Name+"."+inner.Name+" "+inner.Nesting.String())
		}
		if !n.Type().Equals(b.Attr(n.Name).Type) {
			t.Errorf("%s: %#v", n.Name, n.Type())
		}
	}
	if d := cmp.Diff([]string{"rules list", "rules.inner list", "unique set", "unique.inner list"}, got); d != "" {
		t.Error(d)
	}
}
