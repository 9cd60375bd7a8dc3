package program

import (
	"cmp"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/zclconf/go-cty/cty"
)

// AllowedRefs specifies which symbols an expression may use besides the declarations of its module.
type AllowedRefs struct {
	Count bool // the block has count, and the expression is evaluated once per instance
	Each  bool // the same with for_each
	Self  bool
	Names []string // names whose values the caller passes to the evaluation
	Vary  bool     // static evaluation may call functions whose result changes from run to run, because the result is used once
}

// given returns Names as local names, or nil if Names is empty. As with loops, the innermost meaning of a name counts.
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

// locals maps the local names of a loop or a dynamic block to the declaration that the loop iterates over. The
// declaration is nil if the loop iterates over anything but a whole declaration.
type locals map[string]*expr.Ref

// RawBody is a body compiled without a schema: its expressions are compiled, but its arguments and blocks are not yet
// checked. A JSON body stays uncompiled until a schema defines its properties.
type RawBody struct {
	Attrs    []rawAttr // in the order of the source
	Blocks   []rawBlock
	missing  hcl.Range // the range for errors about missing arguments
	json     hcl.Body
	fromJSON bool // the body was JSON before jsonContent decoded it
	why      Use
	place    AllowedRefs
	locals   []locals
	content  int       // depth of contents of dynamic blocks
	meant    string    // a required argument that is present under a wrong name
	at       hcl.Range // the range of the whole body, in native syntax only
}

type rawAttr struct {
	Name   string
	Expr   hclsyntax.Expression // compiled
	source hclsyntax.Expression // as written
	NameAt hcl.Range
	at     hcl.Range
}

type rawBlock struct {
	typ     string
	labels  []string
	typeAt  hcl.Range
	Body    *RawBody
	Dynamic *expr.Dynamic // nil for an ordinary block; otherwise Body is the content of the dynamic block
}

func (b *RawBody) attr(name string) *rawAttr {
	for i := range b.Attrs {
		if b.Attrs[i].Name == name {
			return &b.Attrs[i]
		}
	}
	return nil
}

// Where returns the range of the text that path leads to. The range of the block with this body is at. If an attribute
// of the path is not set, Where returns the range for missing arguments of the innermost block, so that messages
// identify the block.
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

// blockAt returns the block that a path leads to, or nil if the body has no block of that type. It finds the n-th block
// if no block of the type is dynamic, or the block with a label, and the first block otherwise.
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
