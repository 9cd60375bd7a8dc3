package wire

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
)

// diags are the provider's own diagnostics; nil for none. A severity that is not a warning is an
// error, also one that we do not know: Terraform and OpenTofu drop those and go on.
func (c *client) diags(from []*wirepb.Diagnostic) provider.Diags {
	if len(from) == 0 {
		return nil
	}
	out := make(provider.Diags, len(from))
	for i, d := range from {
		out[i] = diag.Diagnostic{
			Severity: diag.Error,
			Foreign:  true,
			Summary:  d.GetSummary(),
			Detail:   d.GetDetail(),
			Path:     fromPath(d.GetAttribute()),
		}
		if d.GetSeverity() == wirepb.Diagnostic_WARNING {
			out[i].Severity = diag.Warning
		}
		if out[i].Summary == "" {
			out[i].Summary = "Message without a title from " + c.String()
		}
	}
	return out
}

// fromPath is the path inside an object; nil for none. A step that names nothing ends it: the
// container is a better place to point at than none.
func fromPath(p *wirepb.AttributePath) cty.Path {
	steps := p.GetSteps()
	if len(steps) == 0 {
		return nil
	}
	path := make(cty.Path, 0, len(steps))
	for _, s := range steps {
		switch s := s.GetSelector().(type) {
		case *wirepb.AttributePath_Step_AttributeName:
			path = append(path, cty.GetAttrStep{Name: s.AttributeName})
		case *wirepb.AttributePath_Step_ElementKeyString:
			path = append(path, cty.IndexStep{Key: cty.StringVal(s.ElementKeyString)})
		case *wirepb.AttributePath_Step_ElementKeyInt:
			path = append(path, cty.IndexStep{Key: cty.NumberIntVal(s.ElementKeyInt)})
		default:
			return path
		}
	}
	return path
}

func fromPaths(from []*wirepb.AttributePath) []cty.Path {
	if len(from) == 0 {
		return nil
	}
	out := make([]cty.Path, len(from))
	for i, p := range from {
		out[i] = fromPath(p)
	}
	return out
}
