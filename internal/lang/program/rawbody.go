package program

import (
	"cmp"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/zclconf/go-cty/cty"
)

// AllowedRefs tells which symbols an expression may use besides the declarations of its module.
type AllowedRefs struct {
	Count bool     // count may be used: the block has it, and the expression is evaluated for each instance
	Each  bool     // each may be used: the block has for_each, and the expression is evaluated for each instance
	Keys  bool     // of each, only each.key may be used: a removed block has no for_each, and its objects have keys
	Self  bool     // self may be used, or caller in an action
	Names []string // additional names, whose values the caller passes to the evaluation
	Vary  bool     // a static evaluation may call functions such as uuid, because its result is used only once
}

// given returns Names in the form of local names (such as loop variables), or nil if Names is empty. Inside a loop that
// defines the same name, the name means the loop's variable.
func (a AllowedRefs) given() []locals {
	if len(a.Names) == 0 {
		return nil
	}
	out := locals{}
	for _, name := range a.Names {
		out[name] = nil
	}
	return []locals{out}
}

// locals has the local names of a loop or a dynamic block. The value is the declaration over which the loop iterates,
// or nil if the loop iterates over anything other than a whole declaration.
type locals map[string]*expr.Ref

// RawBody is a body without a schema: its expressions are compiled, but its arguments and blocks are not compared with
// a schema yet. A JSON body stays uncompiled until a schema tells which of its properties are blocks.
type RawBody struct {
	Attrs    []rawAttr // in the order of the source
	Blocks   []rawBlock
	missing  hcl.Range // the range for errors about missing arguments
	json     hcl.Body  // a JSON body that is not compiled yet; nil for native syntax
	fromJSON bool      // the body was JSON before jsonContent decoded it

	// For a JSON body: the settings of the rewriter that will compile its expressions.
	why     Use
	place   AllowedRefs
	locals  []locals
	content int // the number of dynamic blocks around the body

	meant string    // a required argument that is probably present under a misspelt name
	at    hcl.Range // the range of the whole body; only in native syntax
}

type rawAttr struct {
	Name   string
	Expr   hclsyntax.Expression // the compiled expression
	source hclsyntax.Expression // the expression as in the source
	NameAt hcl.Range
	at     hcl.Range
}

type rawBlock struct {
	typ     string
	labels  []string
	typeAt  hcl.Range
	Body    *RawBody
	Dynamic *expr.Dynamic // nil for an ordinary block; if set, Body is the content of the dynamic block
}

func (b *RawBody) attr(name string) *rawAttr {
	for i := range b.Attrs {
		if b.Attrs[i].Name == name {
			return &b.Attrs[i]
		}
	}
	return nil
}

// Where returns the range of the text that sets the value at a path. The parameter at is the range of the block with
// this body. If no text sets an attribute on the path, Where returns the range for missing arguments of the innermost
// block on the path, so that messages identify the block.
func (raw *RawBody) Where(at hcl.Range, path cty.Path) hcl.Range {
	if len(path) == 0 {
		return cmp.Or(raw.missing, at)
	}
	for i := 0; i < len(path); i++ {
		name, ok := path[i].(cty.GetAttrStep)
		if !ok {
			continue
		}
		if a := raw.attr(name.Name); a != nil {
			return expr.InsideExpr(a.source, a.source.Range(), path[i+1:])
		}
		block := blockAt(raw, name.Name, path[i+1:])
		if block == nil {
			return cmp.Or(raw.missing, at)
		}
		at, raw = block.typeAt, block.Body
	}
	return at
}

// blockAt returns the block to which a path leads, or nil if the body has no block of that type. rest is the path
// inside the collection of these blocks. If rest begins with a number and no block of the type is dynamic, blockAt
// returns the block with this index. If it begins with a string, blockAt returns the block with this label. Otherwise
// it returns the first block.
func blockAt(raw *RawBody, name string, rest cty.Path) *rawBlock {
	var all []*rawBlock
	static := true
	for i := range raw.Blocks {
		if raw.Blocks[i].typ == name {
			all = append(all, &raw.Blocks[i])
			static = static && raw.Blocks[i].Dynamic == nil
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
