package project

import (
	"math"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
)

// limitsVariable names the environment variable that changes limits of the language, and
// templateVariable one of them, as OpenTofu names it. docs/limits.md describes both.
const (
	limitsVariable   = "LETHE_LIMITS"
	templateVariable = "TF_TEMPLATE_RECURSION_DEPTH"
)

// ReadLimits takes the limits from the environment.
func ReadLimits(c *base.Call) (limits.Limits, bool) {
	var l limits.Limits
	if depth := c.Getenv(templateVariable); depth != "" {
		n, ok := limits.Amount(depth)
		if !ok {
			c.Bag.Add(diag.Errorf("Invalid "+templateVariable, "The environment variable %s says how deep templates may call templates, as a whole number above zero, and not %q.", templateVariable, depth))
			return l, false
		}
		l.Templates = int(min(n, math.MaxInt))
	}
	if err := l.Parse(c.Getenv(limitsVariable)); err != nil {
		c.Bag.Add(diag.Errorf("Invalid "+limitsVariable, "The environment variable %s changes limits of the language: %s.", limitsVariable, err))
		return l, false
	}
	return l, true
}
