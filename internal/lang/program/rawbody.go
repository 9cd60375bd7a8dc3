package program

import (
	"cmp"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/zclconf/go-cty/cty"
)

// AllowedRefs says which symbols an expression may use beside the declarations of its module.
type AllowedRefs struct {
	Count bool // the block has count, and the expression is evaluated once per instance
	Each  bool // the same with for_each
	Self  bool
	Names []string // what values come from outside for, with the evaluation
	Vary  bool     // static evaluation may call functions whose result changes from run to run: it is used once
}

// given are the names from outside, as names of loops are: the innermost meaning of a name counts.
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

// locals are names that a loop or a dynamic block gives to what it goes through: what a for expression goes
// over, where that is a reference to something whole, else nil.
type locals map[string]*expr.Ref

// RawBody is a body compiled without a schema: its expressions are, which of them are arguments
// and blocks is not yet known to be right. Bodies in JSON stay as they are until a schema says
// what their properties mean.
type RawBody struct {
	Attrs    []rawAttr // in the order of the source
	Blocks   []rawBlock
	missing  hcl.Range // where something is missing
	json     hcl.Body
	fromJSON bool // it was in JSON before it was held against a schema
	why      Use
	place    AllowedRefs
	locals   []locals
	content  int       // contents of dynamic blocks around
	meant    string    // a required argument that is there under a wrong name
	at       hcl.Range // all of it, in native syntax
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
	Dynamic *expr.Dynamic // nil for a block written out; body is its content otherwise
}

func (b *RawBody) attr(name string) *rawAttr {
	for i := range b.Attrs {
		if b.Attrs[i].Name == name {
			return &b.Attrs[i]
		}
	}
	return nil
}

// Where is the place in a body, which is that of a block at some place: where what the path names is written, or
// inside of the block that does not have it, so that messages say which one that is.
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

// blockAt finds the block that a path goes into: the n-th of its type where all are written out.
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
