package lang

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
)

// Where is the place in the configuration where an attribute of a body is set: of the path's
// steps the last that is written out, the block itself if none is.
func (f *Frame) Where(d Decl, k addr.Key, path cty.Path) diag.Range {
	if f.w.p.NodeOf(d) == nil {
		return diag.Range{}
	}
	return f.where(f.local(d), path)
}

func (f *Frame) where(d *decl, path cty.Path) diag.Range {
	if d.body == nil {
		return d.at
	}
	return d.body.where(d.at, path)
}
