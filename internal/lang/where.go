package lang

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
)

// Where is the place in the configuration where an attribute of a body is set: of the path's
// steps the last that is written out, the block itself if none is.
func (f *Frame) Where(d Decl, k addr.Key, path cty.Path) diag.Range {
	if f.w.p.at[d] == nil {
		return diag.Range{}
	}
	return f.where(f.local(d), path)
}

func (f *Frame) where(d *decl, path cty.Path) diag.Range {
	if d.body == nil {
		return d.at
	}
	return whereIn(d.body, d.at, path)
}

// whereIn is the place in a body, which is that of a block at some place.
func whereIn(raw *rawBody, at diag.Range, path cty.Path) diag.Range {
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

// insideExpr follows a path into object and tuple constructors.
func insideExpr(e hclsyntax.Expression, at hcl.Range, path cty.Path) hcl.Range {
	if len(path) == 0 {
		return at
	}
	switch e := e.(type) {
	case *objectCons:
		return insideExpr(e.ObjectConsExpr, at, path)
	case *hclsyntax.ObjectConsExpr:
		name := stepName(path[0])
		for _, item := range e.Items {
			if k, ok := itemName(item.KeyExpr); ok && k == name {
				return insideExpr(item.ValueExpr, item.ValueExpr.Range(), path[1:])
			}
		}
	case *hclsyntax.TupleConsExpr:
		if ix, ok := path[0].(cty.IndexStep); ok {
			if k, ok := addr.KeyOf(ix.Key); ok {
				if n, ok := k.Int(); ok && n < len(e.Exprs) {
					return insideExpr(e.Exprs[n], e.Exprs[n].Range(), path[1:])
				}
			}
		}
	case *hclsyntax.ParenthesesExpr:
		return insideExpr(e.Expression, e.SrcRange, path)
	}
	return at
}

func stepName(s cty.PathStep) string {
	switch s := s.(type) {
	case cty.GetAttrStep:
		return s.Name
	case cty.IndexStep:
		if k, ok := addr.KeyOf(s.Key); ok {
			name, _ := k.Str()
			return name
		}
	}
	return ""
}

func itemName(e hclsyntax.Expression) (string, bool) {
	if k, ok := e.(*hclsyntax.ObjectConsKeyExpr); ok && !k.ForceNonLiteral {
		if name := hcl.ExprAsKeyword(k.Wrapped); name != "" {
			return name, true
		}
	}
	v, diags := e.Value(nil)
	if diags.HasErrors() || v.Type() != cty.String || v.IsNull() || !v.IsKnown() {
		return "", false
	}
	return v.AsString(), true
}
