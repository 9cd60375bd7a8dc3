package project

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/lang/funcs"
)

// limitsVariable names the environment variable that changes limits of the language, and
// templateVariable one of them, as OpenTofu names it. docs/limits.md describes both.
const (
	limitsVariable   = "LETHE_LIMITS"
	templateVariable = "TF_TEMPLATE_RECURSION_DEPTH"
)

// Limits are how much a configuration may ask for; zero fields have their defaults.
type Limits struct {
	Config    config.Limits
	Lang      lang.Limits
	Functions funcs.Limits
}

// FileSize is how many bytes of a file or a stream are read.
func (l *Limits) FileSize() int64 { return cmp.Or(l.Config.FileSize, config.DefaultLimits.FileSize) }

// limit is one of them: its name in the variable, and its field, an *int or *int64.
type limit struct {
	name  string
	field any
}

// all lists the limits in the order of docs/limits.md.
func (l *Limits) all() []limit {
	return []limit{
		{"file-size", &l.Config.FileSize}, {"tokens", &l.Config.Tokens}, {"nesting", &l.Config.Nesting}, {"chain", &l.Config.Chain},
		{"digits", &l.Config.Digits}, {"exponent", &l.Config.Exponent}, {"literal", &l.Config.Literal}, {"joins", &l.Config.Joins},
		{"module-depth", &l.Config.ModuleDepth}, {"modules", &l.Config.Modules},
		{"instances", &l.Lang.Instances}, {"depth", &l.Lang.Depth}, {"elements", &l.Lang.Elements}, {"work", &l.Lang.Work}, {"weight", &l.Lang.Weight}, {"kept", &l.Lang.Kept}, {"text", &l.Lang.Text},
		{"function-elements", &l.Functions.MaxElements}, {"function-bytes", &l.Functions.MaxBytes}, {"function-depth", &l.Functions.MaxDepth},
		{"template-depth", &l.Functions.TemplateDepth}, {"bcrypt-cost", &l.Functions.MaxCost},
	}
}

// parse reads a list such as `tokens=6000000,file-size=128M`.
func (l *Limits) parse(list string) error {
	all := l.all()
	for part := range strings.SplitSeq(list, ",") {
		name, text, _ := strings.Cut(strings.TrimSpace(part), "=")
		if name == "" && text == "" {
			continue
		}
		i := slices.IndexFunc(all, func(x limit) bool { return x.name == name })
		if i < 0 {
			return fmt.Errorf("there is no limit %q; there are: %s", name, strings.Join(namesOf(all), ", "))
		}
		n, ok := amount(text)
		if !ok {
			return fmt.Errorf("%s is to be a whole number above zero, with K, M or G behind it for bytes, and not %q", name, text)
		}
		all[i].set(n)
	}
	return nil
}

func (x limit) set(n int64) {
	switch f := x.field.(type) {
	case *int:
		*f = int(min(n, math.MaxInt))
	case *int64:
		*f = n
	}
}

func namesOf(all []limit) []string {
	names := make([]string, len(all))
	for i, x := range all {
		names[i] = x.name
	}
	return names
}

// amount reads 5000, 64M and the like.
func amount(text string) (int64, bool) {
	unit := int64(1)
	if text != "" {
		if i := strings.IndexByte("KMG", text[len(text)-1]); i >= 0 {
			unit, text = 1<<(10*(i+1)), text[:len(text)-1]
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/unit {
		return 0, false
	}
	return n * unit, true
}

// ReadLimits takes the limits from the environment.
func ReadLimits(c *base.Call) (Limits, bool) {
	var l Limits
	if depth := c.Getenv(templateVariable); depth != "" {
		n, ok := amount(depth)
		if !ok {
			c.Bag.Add(diag.Errorf("Invalid "+templateVariable, "The environment variable %s says how deep templates may call templates, as a whole number above zero, and not %q.", templateVariable, depth))
			return l, false
		}
		l.Functions.TemplateDepth = int(min(n, math.MaxInt))
	}
	if err := l.parse(c.Getenv(limitsVariable)); err != nil {
		c.Bag.Add(diag.Errorf("Invalid "+limitsVariable, "The environment variable %s changes limits of the language: %s.", limitsVariable, err))
		return l, false
	}
	return l, true
}
