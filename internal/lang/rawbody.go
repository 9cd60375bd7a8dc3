package lang

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/zclconf/go-cty/cty"
)

// rawBody is a body compiled without a schema: its expressions are, which of them are arguments
// and blocks is not yet known to be right. Bodies in JSON stay as they are until a schema says
// what their properties mean.
type rawBody struct {
	attrs    []rawAttr // in the order of the source
	blocks   []rawBlock
	missing  hcl.Range // where something is missing
	json     hcl.Body
	fromJSON bool // it was in JSON before it was held against a schema
	why      Use
	place    place
	locals   []locals
	meant    string // a required argument that is there under a wrong name
}

type rawAttr struct {
	name   string
	expr   hclsyntax.Expression // compiled
	source hclsyntax.Expression // as written
	nameAt hcl.Range
	at     hcl.Range
}

type rawBlock struct {
	typ      string
	labels   []string
	labelsAt []hcl.Range
	typeAt   hcl.Range
	openAt   hcl.Range
	body     *rawBody
	dynamic  *dynamic // nil for a block written out; body is its content otherwise
}

func (b *rawBody) attr(name string) *rawAttr {
	for i := range b.attrs {
		if b.attrs[i].name == name {
			return &b.attrs[i]
		}
	}
	return nil
}

// dynamic is what makes the blocks of a dynamic block.
type dynamic struct {
	forEach  hclsyntax.Expression
	iterator string
	labels   []hclsyntax.Expression
	at       hcl.Range
}

// where is the place in a body, which is that of a block at some place.
func (raw *rawBody) where(at hcl.Range, path cty.Path) hcl.Range {
	for i := 0; i < len(path); i++ {
		name, ok := path[i].(cty.GetAttrStep)
		if !ok {
			continue
		}
		if a := raw.attr(name.Name); a != nil {
			return insideExpr(a.source, a.source.Range(), path[i+1:])
		}
		block := blockAt(raw, name.Name, path[i+1:])
		if block == nil {
			return at
		}
		at, raw = block.typeAt, block.body
	}
	return at
}

// blockAt finds the block that a path goes into: the n-th of its type where all are written out.
func blockAt(raw *rawBody, name string, rest cty.Path) *rawBlock {
	var all []*rawBlock
	static := true
	for i := range raw.blocks {
		if raw.blocks[i].typ == name {
			all = append(all, &raw.blocks[i])
			static = static && raw.blocks[i].dynamic == nil
		}
	}
	if len(all) == 0 {
		return nil
	}
	if len(rest) > 0 {
		if ix, ok := rest[0].(cty.IndexStep); ok {
			k, _ := addr.KeyOf(ix.Key)
			if n, isInt := k.Int(); isInt && static && n < len(all) {
				return all[n]
			}
			if label, isStr := k.Str(); isStr {
				for _, b := range all {
					if len(b.labels) > 0 && b.labels[0] == label {
						return b
					}
				}
			}
		}
	}
	return all[0]
}
