package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
)

// Two bodies become one in two ways. Overriding: what the second says replaces what the first
// says, argument by argument, and nested blocks of one type all together; the arguments inside
// lifecycle blocks are overridden one by one. Escaping: what stands in `_ {}` is added to what
// stands around it. Two bodies in native syntax give one in native syntax; where JSON is
// involved, which cannot tell arguments from blocks without a schema, the two are kept side by
// side and asked together.

// override is base with over on top of it.
func override(base, over hcl.Body) hcl.Body {
	b, bok := base.(*hclsyntax.Body)
	o, ook := over.(*hclsyntax.Body)
	if bok && ook {
		return overrideNative(b, o, true)
	}
	return &mergedBody{base: base, over: over, replace: true, deep: true}
}

func overrideNative(base, over *hclsyntax.Body, deep bool) *hclsyntax.Body {
	attrs := maps.Clone(base.Attributes)
	if attrs == nil {
		attrs = hclsyntax.Attributes{}
	}
	if over.Attributes["count"] != nil || over.Attributes["for_each"] != nil {
		delete(attrs, "count") // one kind of repetition replaces the other
		delete(attrs, "for_each")
	}
	maps.Copy(attrs, over.Attributes)
	return &hclsyntax.Body{Attributes: attrs, Blocks: overrideBlocks(base.Blocks, over.Blocks, deep), SrcRange: base.SrcRange, EndRange: base.EndRange}
}

func overrideBlocks(base, over hclsyntax.Blocks, deep bool) hclsyntax.Blocks {
	return replaceBlocks(base, over, deep, func(b *hclsyntax.Block) string { return generates(b.Type, b.Labels) }, func(base, over *hclsyntax.Block) *hclsyntax.Block {
		m := *base
		m.Body = overrideNative(base.Body, over.Body, false)
		return &m
	})
}

// replaceBlocks are the blocks of the base that no block of over with that type replaces, and those of over. If deep
// says so, lifecycle blocks are merged instead.
func replaceBlocks[B comparable](base, over []B, deep bool, typ func(B) string, merge func(base, over B) B) []B {
	replaced := map[string]B{}
	for _, b := range over {
		replaced[typ(b)] = b
	}
	var out []B
	merged := map[B]bool{}
	for _, b := range base {
		by, is := replaced[typ(b)]
		switch {
		case !is:
			out = append(out, b)
		case deep && typ(b) == "lifecycle":
			out = append(out, merge(b, by))
			merged[by] = true
		}
	}
	return append(out, slices.DeleteFunc(slices.Clone(over), func(b B) bool { return merged[b] })...)
}

// generates is the type of the blocks that a block stands for: its own, or what a dynamic block
// makes.
func generates(typ string, labels []string) string {
	if typ == "dynamic" && len(labels) == 1 {
		return labels[0]
	}
	return typ
}

// escape is a body with what its `_ {}` block says added to it. Names that both have are mistakes
// for the caller to report: see clashes.
func escape(rest, esc hcl.Body) hcl.Body {
	r, rok := rest.(*hclsyntax.Body)
	e, eok := esc.(*hclsyntax.Body)
	if !rok || !eok {
		return &mergedBody{base: rest, over: esc}
	}
	attrs := maps.Clone(r.Attributes)
	maps.Copy(attrs, e.Attributes)
	blocks := append(hclsyntax.Blocks(nil), r.Blocks...)
	return &hclsyntax.Body{Attributes: attrs, Blocks: append(blocks, e.Blocks...), SrcRange: r.SrcRange, EndRange: r.EndRange}
}

// remains is what is left of a body when a schema has taken its content out of it. In native
// syntax that is a body of its own, rather than one that hides a part of its fields.
func remains(whole, rest hcl.Body, taken *hcl.BodyContent, schema *hcl.BodySchema) hcl.Body {
	b, ok := whole.(*hclsyntax.Body)
	switch {
	case !ok:
		return rest
	case len(taken.Attributes) == 0 && len(taken.Blocks) == 0:
		return b
	}
	return without(b, schema)
}

// without is a body without what a schema describes.
func without(b *hclsyntax.Body, meta *hcl.BodySchema) *hclsyntax.Body {
	out := &hclsyntax.Body{Attributes: maps.Clone(b.Attributes), SrcRange: b.SrcRange, EndRange: b.EndRange}
	taken := map[string]bool{}
	for _, a := range meta.Attributes {
		delete(out.Attributes, a.Name)
	}
	for _, t := range meta.Blocks {
		taken[t.Type] = true
	}
	for _, block := range b.Blocks {
		if !taken[block.Type] {
			out.Blocks = append(out.Blocks, block)
		}
	}
	return out
}

// clashes finds the arguments that stand both in an escape block and around it.
func clashes(rest, esc hcl.Body) (again, first *hcl.Attribute) {
	outer, _ := rest.JustAttributes()
	inner, _ := esc.JustAttributes()
	for _, a := range byPlace(inner) {
		if o := outer[a.Name]; o != nil && a.Name != "//" {
			return a, o
		}
	}
	return nil, nil
}

// IsJSON reports whether a body, or part of it, is in JSON syntax, where only a schema says what
// is an argument and what is a block.
func IsJSON(b hcl.Body) bool {
	if l, ok := b.(*mergedBody); ok {
		return IsJSON(l.base) || IsJSON(l.over)
	}
	return json.IsJSONBody(b)
}

// mergedBody is two bodies asked together.
type mergedBody struct {
	base, over hcl.Body
	replace    bool // over replaces what base says; otherwise it adds to it
	deep       bool // lifecycle blocks are merged
}

// Content implements hcl.Body.
func (l *mergedBody) Content(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	loose := withoutRequired(schema)
	base, ds := l.base.Content(loose)
	over, more := l.over.Content(loose)
	content := l.join(base, over)
	return content, append(append(ds, more...), missing(schema, content)...)
}

// PartialContent implements hcl.Body.
func (l *mergedBody) PartialContent(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	loose := withoutRequired(schema)
	base, baseRest, ds := l.base.PartialContent(loose)
	over, overRest, more := l.over.PartialContent(loose)
	content := l.join(base, over)
	rest := &mergedBody{base: baseRest, over: overRest, replace: l.replace, deep: l.deep}
	return content, rest, append(append(ds, more...), missing(schema, content)...)
}

// JustAttributes implements hcl.Body. Blocks in native syntax show as the arguments that JSON
// syntax would write for them, so that references in them are found, too.
func (l *mergedBody) JustAttributes() (hcl.Attributes, hcl.Diagnostics) {
	out, ds := likeJSON(l.base)
	over, more := likeJSON(l.over)
	maps.Copy(out, over)
	return out, append(ds, more...)
}

// MissingItemRange implements hcl.Body.
func (l *mergedBody) MissingItemRange() hcl.Range { return l.base.MissingItemRange() }

func (l *mergedBody) join(base, over *hcl.BodyContent) *hcl.BodyContent {
	out := &hcl.BodyContent{Attributes: base.Attributes, MissingItemRange: base.MissingItemRange}
	if l.replace && (over.Attributes["count"] != nil || over.Attributes["for_each"] != nil) {
		delete(out.Attributes, "count")
		delete(out.Attributes, "for_each")
	}
	maps.Copy(out.Attributes, over.Attributes)
	if !l.replace {
		out.Blocks = append(base.Blocks, over.Blocks...)
		return out
	}
	out.Blocks = replaceBlocks(base.Blocks, over.Blocks, l.deep, func(b *hcl.Block) string { return generates(b.Type, b.Labels) }, func(base, over *hcl.Block) *hcl.Block {
		m := *base
		m.Body = &mergedBody{base: base.Body, over: over.Body, replace: true}
		return &m
	})
	return out
}

func withoutRequired(s *hcl.BodySchema) *hcl.BodySchema {
	out := &hcl.BodySchema{Attributes: make([]hcl.AttributeSchema, len(s.Attributes)), Blocks: s.Blocks}
	for i, a := range s.Attributes {
		a.Required = false
		out.Attributes[i] = a
	}
	return out
}

func missing(s *hcl.BodySchema, c *hcl.BodyContent) (ds hcl.Diagnostics) {
	for _, a := range s.Attributes {
		if a.Required && c.Attributes[a.Name] == nil {
			ds = append(ds, &hcl.Diagnostic{
				Severity: hcl.DiagError,
				Summary:  "Missing required argument",
				Detail:   fmt.Sprintf("The argument %q is required, but no definition was found.", a.Name),
				Subject:  c.MissingItemRange.Ptr(),
			})
		}
	}
	return ds
}

// likeJSON lists what a body says as arguments.
func likeJSON(b hcl.Body) (hcl.Attributes, hcl.Diagnostics) {
	n, ok := b.(*hclsyntax.Body)
	if !ok {
		return b.JustAttributes()
	}
	attrs, _ := n.JustAttributes() // what it says against blocks does not apply
	for _, block := range n.Blocks {
		if _, taken := attrs[block.Type]; taken || isHidden(n, block) {
			continue
		}
		attrs[block.Type] = blocksLikeJSON(n, block.Type)
	}
	return attrs, nil
}

// isHidden reports whether an earlier PartialContent has taken blocks of that type.
func isHidden(b *hclsyntax.Body, block *hclsyntax.Block) bool {
	content, _, ds := b.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: block.Type, LabelNames: block.Labels}}})
	return len(content.Blocks) == 0 && len(ds) == 0
}

// blocksLikeJSON is an argument whose value is a tuple of objects, one for each block of a type,
// with an object level for each label.
func blocksLikeJSON(b *hclsyntax.Body, typ string) *hcl.Attribute {
	var list []hclsyntax.Expression
	var first *hclsyntax.Block
	for _, block := range b.Blocks {
		if block.Type != typ {
			continue
		}
		if first == nil {
			first = block
		}
		e := objectLikeJSON(block.Body)
		for i := len(block.Labels) - 1; i >= 0; i-- {
			e = objectOf(e.Range(), textKey(block.Labels[i], block.LabelRanges[i]), e)
		}
		list = append(list, e)
	}
	return &hcl.Attribute{
		Name:      typ,
		Expr:      &hclsyntax.TupleConsExpr{Exprs: list, SrcRange: first.Range(), OpenRange: first.OpenBraceRange},
		Range:     first.Range(),
		NameRange: first.TypeRange,
	}
}

func objectLikeJSON(b *hclsyntax.Body) hclsyntax.Expression {
	attrs, _ := likeJSON(b)
	obj := &hclsyntax.ObjectConsExpr{SrcRange: b.SrcRange, OpenRange: b.SrcRange}
	for _, a := range byPlace(attrs) {
		obj.Items = append(obj.Items, hclsyntax.ObjectConsItem{KeyExpr: textKey(a.Name, a.NameRange), ValueExpr: a.Expr.(hclsyntax.Expression)})
	}
	return obj
}
