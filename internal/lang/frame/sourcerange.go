package frame

import (
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/zclconf/go-cty/cty"
)

// Where is the place in the configuration where an attribute of a body is set: of the path's
// steps the last that is written out, the block itself if none is.
func (f *Frame) Where(d program.Decl, path cty.Path) diag.Range {
	if f.w.p.NodeOf(d) == nil {
		return diag.Range{}
	}
	return sourceRange(f.local(d), path)
}

func sourceRange(d *program.Def, path cty.Path) diag.Range {
	if d.Body == nil {
		return d.At
	}
	return d.Body.Where(d.At, path)
}
