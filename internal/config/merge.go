package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/lethe-iac/lethe/internal/config/native"
)

// Two bodies are merged in two ways:
//
//   - Overriding: each argument of the second body replaces the argument of the same name, and the nested blocks of a
//     type replace all blocks of that type. Arguments inside lifecycle blocks are overridden one by one.
//   - Escaping: the content of `_ {}` is added to the content around it.
//
// The merge of two bodies in native syntax is a body in native syntax. JSON cannot distinguish arguments from blocks
// without a schema. If JSON is involved, a mergedBody keeps both bodies, and reads both when it receives a schema.

// override returns base with the arguments and blocks of overriding in the place of the same arguments and blocks of
// base.
func override(base, overriding hcl.Body) hcl.Body {
	b, bok := base.(*hclsyntax.Body)
	o, ook := overriding.(*hclsyntax.Body)
	if bok && ook {
		return overrideNative(b, o, true)
	}
	return &mergedBody{base: base, overriding: overriding, replace: true, deep: true}
}

func overrideNative(base, overriding *hclsyntax.Body, deep bool) *hclsyntax.Body {
	attrs := maps.Clone(base.Attributes)
	if attrs == nil {
		attrs = hclsyntax.Attributes{}
	}
	if overriding.Attributes["count"] != nil || overriding.Attributes["for_each"] != nil {
		delete(attrs, "count") // an overriding count replaces for_each, and an overriding for_each replaces count
		delete(attrs, "for_each")
	}
	maps.Copy(attrs, overriding.Attributes)
	return &hclsyntax.Body{Attributes: attrs, Blocks: overrideBlocks(base.Blocks, overriding.Blocks, deep), SrcRange: base.SrcRange, EndRange: base.EndRange}
}

func overrideBlocks(base, overriding hclsyntax.Blocks, deep bool) hclsyntax.Blocks {
	return replaceBlocks(base, overriding, deep, func(b *hclsyntax.Block) string { return generates(b.Type, b.Labels) }, func(base, overriding *hclsyntax.Block) *hclsyntax.Block {
		m := *base
		m.Body = overrideNative(base.Body, overriding.Body, false)
		return &m
	})
}

// replaceBlocks returns the blocks of base whose type does not occur in overriding, and then the blocks of overriding.
// typ returns the type of a block. If deep is true, the function merge merges the lifecycle blocks of both.
func replaceBlocks[B comparable](base, overriding []B, deep bool, typ func(B) string, merge func(base, overriding B) B) []B {
	replaced := map[string]B{}
	for _, b := range overriding {
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
	return append(out, slices.DeleteFunc(slices.Clone(overriding), func(b B) bool { return merged[b] })...)
}

// generates returns the type of the blocks that a block defines. For a dynamic block this is its label. For any other
// block it is typ.
func generates(typ string, labels []string) string {
	if typ == "dynamic" && len(labels) == 1 {
		return labels[0]
	}
	return typ
}

// escape returns a body with the content of two bodies: of the body rest, and of the block `_ {}` in it (esc). The
// caller must report arguments that occur in both (see clashes).
func escape(rest, esc hcl.Body) hcl.Body {
	r, rok := rest.(*hclsyntax.Body)
	e, eok := esc.(*hclsyntax.Body)
	if !rok || !eok {
		return &mergedBody{base: rest, overriding: esc}
	}
	attrs := maps.Clone(r.Attributes)
	maps.Copy(attrs, e.Attributes)
	blocks := append(hclsyntax.Blocks(nil), r.Blocks...)
	return &hclsyntax.Body{Attributes: attrs, Blocks: append(blocks, e.Blocks...), SrcRange: r.SrcRange, EndRange: r.EndRange}
}

// remains returns the part of a body that remains after its content for a schema was read. In native syntax this is a
// new body without this content, not a body with hidden fields.
func remains(whole, rest hcl.Body, merged *hcl.BodyContent, schema *hcl.BodySchema) hcl.Body {
	b, ok := whole.(*hclsyntax.Body)
	switch {
	case !ok:
		return rest
	case len(merged.Attributes) == 0 && len(merged.Blocks) == 0:
		return b
	}
	return without(b, schema)
}

// without returns a copy of b without the arguments and blocks of a schema.
func without(b *hclsyntax.Body, meta *hcl.BodySchema) *hclsyntax.Body {
	out := &hclsyntax.Body{Attributes: maps.Clone(b.Attributes), SrcRange: b.SrcRange, EndRange: b.EndRange}
	used := map[string]bool{}
	for _, a := range meta.Attributes {
		delete(out.Attributes, a.Name)
	}
	for _, t := range meta.Blocks {
		used[t.Type] = true
	}
	for _, block := range b.Blocks {
		if !used[block.Type] {
			out.Blocks = append(out.Blocks, block)
		}
	}
	return out
}

// clashes returns the first argument that is both in an escape block `_ {}` and around it, or nil if none exists.
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

// IsJSON reports whether a body, or a part of it, is in JSON syntax, where only a schema distinguishes arguments from
// blocks.
func IsJSON(b hcl.Body) bool {
	if l, ok := b.(*mergedBody); ok {
		return IsJSON(l.base) || IsJSON(l.overriding)
	}
	return json.IsJSONBody(b)
}

// mergedBody is the merge of two bodies. It merges them only when it is read, with the schema of the reader.
type mergedBody struct {
	base, overriding hcl.Body
	replace          bool // arguments and blocks of overriding replace the same arguments and blocks of base; false: overriding is added to base
	deep             bool // merge lifecycle blocks instead of replacing them
}

// Content merges both bodies with the schema (method of hcl.Body). Content that the schema lacks is an error.
func (l *mergedBody) Content(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	loose := withoutRequired(schema)
	base, ds := l.base.Content(loose)
	overriding, more := l.overriding.Content(loose)
	content := l.join(base, overriding)
	return content, append(append(ds, more...), missing(schema, content)...)
}

// PartialContent merges the content that the schema names. The body in the result has the rest (method of hcl.Body).
func (l *mergedBody) PartialContent(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	loose := withoutRequired(schema)
	base, baseRest, ds := l.base.PartialContent(loose)
	overriding, overrideRest, more := l.overriding.PartialContent(loose)
	content := l.join(base, overriding)
	rest := &mergedBody{base: baseRest, overriding: overrideRest, replace: l.replace, deep: l.deep}
	return content, rest, append(append(ds, more...), missing(schema, content)...)
}

// JustAttributes returns all arguments of both bodies (method of hcl.Body). It returns blocks in native syntax as
// arguments, in the form that JSON syntax has for blocks. So callers find the references in these blocks, too.
func (l *mergedBody) JustAttributes() (hcl.Attributes, hcl.Diagnostics) {
	out, ds := likeJSON(l.base)
	overriding, more := likeJSON(l.overriding)
	maps.Copy(out, overriding)
	return out, append(ds, more...)
}

// MissingItemRange returns the range for errors about missing arguments (method of hcl.Body).
func (l *mergedBody) MissingItemRange() hcl.Range { return l.base.MissingItemRange() }

func (l *mergedBody) join(base, overriding *hcl.BodyContent) *hcl.BodyContent {
	out := &hcl.BodyContent{Attributes: base.Attributes, MissingItemRange: base.MissingItemRange}
	if l.replace && (overriding.Attributes["count"] != nil || overriding.Attributes["for_each"] != nil) {
		delete(out.Attributes, "count")
		delete(out.Attributes, "for_each")
	}
	maps.Copy(out.Attributes, overriding.Attributes)
	if !l.replace {
		out.Blocks = append(base.Blocks, overriding.Blocks...)
		return out
	}
	out.Blocks = replaceBlocks(base.Blocks, overriding.Blocks, l.deep, func(b *hcl.Block) string { return generates(b.Type, b.Labels) }, func(base, overriding *hcl.Block) *hcl.Block {
		m := *base
		m.Body = &mergedBody{base: base.Body, overriding: overriding.Body, replace: true}
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

// likeJSON returns the arguments of a body, and its blocks as arguments in the form that JSON syntax has for blocks.
func likeJSON(b hcl.Body) (hcl.Attributes, hcl.Diagnostics) {
	n, ok := b.(*hclsyntax.Body)
	if !ok {
		return b.JustAttributes()
	}
	attrs, _ := n.JustAttributes() // ignore the errors: they are about blocks, which are converted below
	for _, block := range n.Blocks {
		if _, taken := attrs[block.Type]; taken || isHidden(n, block) {
			continue
		}
		attrs[block.Type] = blocksLikeJSON(n, block.Type)
	}
	return attrs, nil
}

// isHidden reports whether the body hides the blocks with the type of block, because an earlier call of PartialContent
// has returned them.
func isHidden(b *hclsyntax.Body, block *hclsyntax.Block) bool {
	content, _, ds := b.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: block.Type, LabelNames: block.Labels}}})
	return len(content.Blocks) == 0 && len(ds) == 0
}

// blocksLikeJSON returns an argument whose value is a tuple with one object for each block of a type. Each label adds
// one level of objects.
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
			e = native.Object(e.Range(), native.Key(block.Labels[i], block.LabelRanges[i]), e)
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
		obj.Items = append(obj.Items, hclsyntax.ObjectConsItem{KeyExpr: native.Key(a.Name, a.NameRange), ValueExpr: a.Expr.(hclsyntax.Expression)})
	}
	return obj
}
