package lethe

import (
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

func describe(what string, attrs ...*schema.Attr) *schema.Schema {
	b := schema.Arguments(attrs...)
	b.Description = what
	return &schema.Schema{Block: b}
}

func computed(name string, ty cty.Type, what string) *schema.Attr {
	return &schema.Attr{Name: name, Type: ty, Computed: true, Description: what}
}

func optionalComputed(name string, ty cty.Type, what string) *schema.Attr {
	return &schema.Attr{Name: name, Type: ty, Optional: true, Computed: true, Description: what}
}

// duration returns the value of an argument such as "90s" or "5m". If the argument is not set or unknown, duration
// returns usual. ok is false if the argument is known and is not a duration greater than zero.
func duration(obj cty.Value, name string, usual time.Duration) (d time.Duration, ok bool) {
	v, set := schema.Argument(obj, name)
	if !set {
		return usual, true
	}
	d, err := time.ParseDuration(v.AsString())
	return d, err == nil && d > 0
}

// refused returns an error about the argument with the name name.
func refused(name, summary, format string, a ...any) diag.Diagnostic {
	return diag.Errorf(summary, format, a...).In(cty.GetAttrPath(name))
}

func badDuration(name string) diag.Diagnostic {
	return refused(name, "Invalid duration", `%s must be a duration greater than zero, such as "90s", "5m" or "1h30m".`, name)
}

func fails(d diag.Diagnostic) provider.Diags { return provider.Diags{d} }
