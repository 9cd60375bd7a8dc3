package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
)

// fault explains a call that got no answer, or one that could not be read. The titles are those
// that Terraform and OpenTofu use, since tests of providers match on them.
func (c *client) fault(ctx context.Context, m method, err error) diag.Diagnostic {
	call := fmt.Sprintf("the call %s of %s", c.methods.short(m), c)
	if bug := (*diag.Bug)(nil); errors.As(err, &bug) {
		return diag.Errorf("Internal error", "%s was not answered: %s", upper(call), bug)
	}
	st := status.Convert(err)
	var late *provider.LateError
	switch code := st.Code(); {
	case errors.Is(context.Cause(ctx), provider.ErrAbandoned):
		return diag.Errorf("Call abandoned", "%s had no answer yet when the command had to end at once, after a second interrupt or because its time was over.", upper(call))
	case code == codes.DeadlineExceeded && errors.As(context.Cause(ctx), &late):
		return diag.Errorf("Request cancelled", "%s was not answered within %s. %s=%s=%s in the environment gives it longer.", upper(call), late.Limit, provider.DeadlinesVariable, late.Name, 2*late.Limit)
	case code == codes.DeadlineExceeded:
		return diag.Errorf("Request cancelled", "%s was not answered in the time allowed for it.", upper(call))
	case code == codes.Canceled || ctx.Err() != nil:
		return diag.Errorf("Request cancelled", "%s was cancelled before it was answered.", upper(call))
	case code == codes.Unavailable:
		return diag.Errorf("Plugin did not respond", "%s", c.silence(call, st.Message(), m == openEphemeral))
	case code == codes.Unimplemented:
		return diag.Errorf("Unsupported plugin method", "The %s does not know the call %s. A newer version of the provider may.", c, c.methods.short(m))
	case code == codes.ResourceExhausted && strings.HasPrefix(st.Message(), "trying to send"):
		return diag.Errorf("Plugin error", "%s is larger than a message may be, %d MiB, and was not made.", upper(call), MaxMessage>>20)
	case code == codes.ResourceExhausted && strings.Contains(st.Message(), "larger than max"):
		return diag.Errorf("Plugin error", "The answer to %s is larger than a message may be, %d MiB.", call, MaxMessage>>20)
	case code == codes.Internal && strings.Contains(st.Message(), "unmarshal"):
		return diag.Errorf("Plugin error", "The answer to %s is malformed (%s). This is a bug in the provider.", call, st.Message())
	default:
		return diag.Errorf("Plugin error", "%s ended with an error instead of an answer: %s (gRPC status %s).", upper(call), st.Message(), code)
	}
}

// silent reports whether an error says that a call may have been carried out, and that no answer to
// it can be read.
func silent(err error) bool {
	st := status.Convert(err)
	switch st.Code() {
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded:
		return true
	case codes.ResourceExhausted:
		return strings.Contains(st.Message(), "larger than max") && !strings.HasPrefix(st.Message(), "trying to send")
	case codes.Internal:
		return strings.Contains(st.Message(), "unmarshal")
	}
	return false
}

// silence says why nothing came back: the process is gone, or the connection is. What the process was about to answer may
// be in what it says of its end, and be secret.
func (c *client) silence(call, why string, secret bool) string {
	const log = "What the provider wrote before is in the log (TF_LOG=error or lower)."
	if c.opts.Ended != nil {
		if how := c.opts.Ended(); how != "" {
			c.lost.Store(true)
			if how, why, said := strings.Cut(how, "\n"); said {
				if secret {
					why = withoutText(why)
				}
				return fmt.Sprintf("The provider's process ended (%s) before %s was answered: it crashed. It wrote:\n\n%s", how, call, why)
			}
			return fmt.Sprintf("The provider's process ended (%s) before %s was answered: it crashed or was killed. %s", how, call, log)
		}
	}
	return fmt.Sprintf("%s was not answered: %s. %s", upper(call), why, log)
}

// withoutText is what Go writes of the end of a program, without what may be any text. What the runtime says itself has
// types and numbers in it.
func withoutText(trace string) string {
	why, where, _ := strings.Cut(trace, "\ngoroutine ")
	if first, _, _ := strings.Cut(why, "\n"); strings.HasPrefix(first, "panic: runtime error: ") || strings.HasPrefix(first, "fatal error: ") {
		why = first
	} else {
		why = "panic: (not shown: what was to be opened may be in it)"
	}
	if where == "" {
		return why
	}
	return why + "\n\ngoroutine " + where
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

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
