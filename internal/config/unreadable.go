package config

import (
	"github.com/lethe-iac/lethe/internal/syntax"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// What of a module cannot be read may declare names, for all that is known.
// Before a name is reported as not declared, its place asks whether an unreadable part may declare it,
// because then one mistake would give two messages. A part may declare a name if its text has it as a
// word of its own, and not only behind a dot, where names are used and not declared.
//
// A block that was read with mistakes leaves nothing unknown in what is declared, but what else seems to be
// wrong with it may follow from them: see diag.Bag.Enough.

// unreadable are the parts of a module that could not be read.
type unreadable struct {
	all   bool            // nothing is known of what they declare
	words map[string]bool // nil: there are none
}

// mostScanned is how long a text may be to be looked through for words.
const mostScanned = 4 << 20

// MayDeclare reports whether a name may be declared in a part of the module that could not be read.
func (m *Module) MayDeclare(name string) bool { return m.unreadable.has(name) }

// Broken reports whether a mistake was found in the block at a place, so that not all of what it says may
// be known.
func (m *Module) Broken(at hcl.Range) bool {
	return m.broken.Has(at)
}

// Unreadable reports whether a part of the module could not be read.
func (m *Module) Unreadable() bool { return m.unreadable.all || m.unreadable.words != nil }

func (g *unreadable) has(name string) bool { return g.all || g.words[name] }

// text adds a text that could not be read; nil if there is none.
func (g *unreadable) text(src []byte) {
	if src == nil || len(src) > mostScanned {
		g.all = true
		return
	}
	if g.words == nil {
		g.words = map[string]bool{}
	}
	for i := 0; i < len(src); {
		if !syntax.IdentStart(src[i]) {
			i++
			continue
		}
		start := i
		for i < len(src) && syntax.IdentPart(src[i]) {
			i++
		}
		if start == 0 || src[start-1] != '.' {
			g.words[string(src[start:i])] = true
		}
	}
}

// name adds the name of a declaration that was not taken.
func (g *unreadable) name(s string) { g.text([]byte(s)) }

// unexpected adds what stands in a body beside what its schema describes.
func (l *loader) unexpected(b hcl.Body, s *hcl.BodySchema, src []byte) {
	body, native := b.(*hclsyntax.Body)
	if !native {
		l.mod.unreadable.text(src)
		return
	}
	for _, block := range body.Blocks {
		known := slices.ContainsFunc(s.Blocks, func(h hcl.BlockHeaderSchema) bool {
			return h.Type == block.Type && len(h.LabelNames) == len(block.Labels)
		})
		if !known {
			l.mod.unreadable.text(block.Range().SliceBytes(src))
		}
	}
	for _, a := range body.Attributes {
		if !slices.ContainsFunc(s.Attributes, func(h hcl.AttributeSchema) bool { return h.Name == a.Name }) {
			l.mod.unreadable.text(a.SrcRange.SliceBytes(src))
		}
	}
}

// extent is all of a block. In JSON syntax, whose blocks have no beginning of their own, it begins
// where the block is named.
func extent(b *hcl.Block) []hcl.Range {
	switch body := b.Body.(type) {
	case *hclsyntax.Body:
		return append(foreignRanges(body), spanning(b.DefRange, body.SrcRange))
	case *mergedBody:
		over := *b
		over.Body = body.over
		base := *b
		base.Body = body.base
		return append(extent(&base), extent(&over)...)
	}
	end := b.Body.MissingItemRange()
	start := b.TypeRange
	if n := len(b.LabelRanges); n > 0 {
		start = b.LabelRanges[n-1]
	}
	return []hcl.Range{spanning(start, end)}
}

// foreignRanges are the parts of a body that stand in another file: in an override file.
func foreignRanges(b *hclsyntax.Body) []hcl.Range {
	var out []hcl.Range
	for _, a := range b.Attributes {
		if a.SrcRange.Filename != b.SrcRange.Filename {
			out = append(out, a.SrcRange)
		}
	}
	for _, inner := range b.Blocks {
		if inner.DefRange().Filename != b.SrcRange.Filename {
			out = append(out, inner.Range())
		}
	}
	return out
}

// spanning is what two ranges cover, or the second where they are of two files: of a block that an
// override file has, or of bodies that were merged.
func spanning(a, b hcl.Range) hcl.Range {
	if a.Filename != b.Filename {
		return b
	}
	return hcl.RangeOver(a, b)
}
