package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
)

// fault returns the error about a call that was not answered, or whose answer cannot be decoded. The titles of the
// errors are the same as in Terraform and OpenTofu, because tests of providers compare them.
func (c *client) fault(ctx context.Context, m method, err error) diag.Diagnostic {
	call := fmt.Sprintf("the call %s of %s", c.methods.short(m), c)
	if bug := (*diag.Bug)(nil); errors.As(err, &bug) {
		return diag.Errorf("Internal error", "%s was not answered: %s", upper(call), bug)
	}
	st := status.Convert(err)
	var crashed *provider.DeadlineError
	switch code := st.Code(); {
	case errors.Is(context.Cause(ctx), provider.ErrAbandoned):
		return diag.Errorf("Call abandoned", "%s was not answered before the command had to stop, because of a second interrupt or its time limit.", upper(call))
	case code == codes.DeadlineExceeded && errors.As(context.Cause(ctx), &crashed):
		return diag.Errorf("Request cancelled", "%s was not answered within %s. To wait longer, set %s=%s=%s in the environment.", upper(call), crashed.Limit, provider.DeadlinesVariable, crashed.Name, 2*crashed.Limit)
	case code == codes.DeadlineExceeded:
		return diag.Errorf("Request cancelled", "%s was not answered in the time allowed for it.", upper(call))
	case code == codes.Canceled || ctx.Err() != nil:
		return diag.Errorf("Request cancelled", "%s was cancelled before it was answered.", upper(call))
	case code == codes.Unavailable:
		return diag.Errorf("Plugin did not respond", "%s", c.silence(call, st.Message(), m == openEphemeral))
	case code == codes.Unimplemented:
		return diag.Errorf("Unsupported plugin method", "The %s does not support the call %s. Use a newer version of the provider.", c, c.methods.short(m))
	case code == codes.ResourceExhausted && strings.HasPrefix(st.Message(), "trying to send"):
		return diag.Errorf("Plugin error", "%s was not sent, because it is larger than the limit of %d MiB.", upper(call), MaxMessage>>20)
	case code == codes.ResourceExhausted && strings.Contains(st.Message(), "larger than max"):
		return diag.Errorf("Plugin error", "The answer to %s is larger than the limit of %d MiB.", call, MaxMessage>>20)
	case code == codes.Internal && strings.Contains(st.Message(), "unmarshal"):
		return diag.Errorf("Plugin error", "The answer to %s is malformed (%s). This is a bug in the provider.", call, st.Message())
	default:
		return diag.Errorf("Plugin error", "%s ended with an error instead of an answer: %s (gRPC status %s).", upper(call), st.Message(), code)
	}
}

// tooLargeAnswer replaces the error of a provider that could not send its answer, because the answer is too large. That
// error has the same text as the error for a request that is too large, but its size is not the size of req.
// tooLargeAnswer returns other errors unchanged.
func tooLargeAnswer(err error, req proto.Message) error {
	var size, most int
	n, _ := fmt.Sscanf(status.Convert(err).Message(), "trying to send message larger than max (%d vs. %d)", &size, &most)
	if n < 2 || size == proto.Size(req) {
		return err
	}
	return status.Errorf(codes.ResourceExhausted, "grpc: received message larger than max (%d vs. %d)", size, most)
}

// silent reports whether a call with this error may have had an effect, although no answer was decoded. The status of an
// error does not exclude an effect: a provider may return an error after it has created an object, or may fail to encode
// its answer. Only two errors exclude it: the provider does not have the call, or the request was too large to be sent.
func silent(err error) bool {
	st := status.Convert(err)
	unsent := st.Code() == codes.ResourceExhausted && strings.HasPrefix(st.Message(), "trying to send")
	return st.Code() != codes.Unimplemented && !unsent
}

// silence returns a text that explains why no answer came: the process or the connection has ended. If the process has
// ended, silence sets c.crashed. If secret is true, the last output of the process may contain the answer, so silence
// does not show texts from that output.
func (c *client) silence(call, why string, secret bool) string {
	const log = "The output of the provider is in the log (TF_LOG=error or lower)."
	if c.opts.Ended != nil {
		if how := c.opts.Ended(); how != "" {
			c.crashed.Store(true)
			if how, why, more := strings.Cut(how, "\n"); more {
				if secret {
					why = withoutText(why)
				}
				return fmt.Sprintf("The provider crashed (%s) before %s was answered. Its output:\n\n%s", how, call, why)
			}
			return fmt.Sprintf("The provider crashed or was killed (%s) before %s was answered. %s", how, call, log)
		}
	}
	where := log
	if c.opts.Attached {
		where = "Its output is where it was started."
	}
	return fmt.Sprintf("%s was not answered: %s. %s", upper(call), why, where)
}

// withoutText returns the trace of a crashed Go program without texts of the program. It keeps the lines of the Go
// runtime, which contain only types and numbers.
func withoutText(trace string) string {
	why, where, _ := strings.Cut(trace, "\ngoroutine ")
	if first, _, _ := strings.Cut(why, "\n"); strings.HasPrefix(first, "panic: runtime error: ") || strings.HasPrefix(first, "fatal error: ") {
		why = first
	} else {
		why = "panic: (not shown, because it may contain values of the ephemeral resource)"
	}
	if where == "" {
		return why
	}
	return why + "\n\ngoroutine " + where
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// diags converts the provider's diagnostics. It returns nil for an empty list. Each severity except warning counts as
// an error, even an unknown severity. Terraform and OpenTofu drop diagnostics with unknown severities. If a diagnostic
// has no summary, diags adds one that names the provider.
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

// fromPath converts a path inside an object. It returns nil for an empty path. If a step has no selector, the path ends
// before it, and so points to the container.
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
