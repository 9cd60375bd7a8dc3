package cli

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

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

// limits are how much a configuration may ask for; zero fields have their defaults.
type limits struct {
	config    config.Limits
	lang      lang.Limits
	functions funcs.Limits
}

// fileSize is how many bytes of a file or a stream are read.
func (l *limits) fileSize() int64 { return cmp.Or(l.config.FileSize, config.DefaultLimits.FileSize) }

// limit is one of them: its name in the variable, and its field, an *int or *int64.
type limit struct {
	name  string
	field any
}

// all lists the limits in the order of docs/limits.md.
func (l *limits) all() []limit {
	return []limit{
		{"file-size", &l.config.FileSize}, {"tokens", &l.config.Tokens}, {"nesting", &l.config.Nesting}, {"chain", &l.config.Chain},
		{"digits", &l.config.Digits}, {"exponent", &l.config.Exponent}, {"literal", &l.config.Literal}, {"joins", &l.config.Joins},
		{"module-depth", &l.config.ModuleDepth}, {"modules", &l.config.Modules},
		{"instances", &l.lang.Instances}, {"depth", &l.lang.Depth}, {"elements", &l.lang.Elements}, {"work", &l.lang.Work}, {"weight", &l.lang.Weight}, {"kept", &l.lang.Kept}, {"text", &l.lang.Text},
		{"function-elements", &l.functions.MaxElements}, {"function-bytes", &l.functions.MaxBytes}, {"function-depth", &l.functions.MaxDepth},
		{"template-depth", &l.functions.TemplateDepth}, {"bcrypt-cost", &l.functions.MaxCost},
	}
}

// parse reads a list such as `tokens=6000000,file-size=128M`.
func (l *limits) parse(list string) error {
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

// readLimits takes the limits from the environment.
func (c *call) readLimits() (limits, bool) {
	var l limits
	if depth := c.Getenv(templateVariable); depth != "" {
		n, ok := amount(depth)
		if !ok {
			c.bag.Add(diag.Errorf("Invalid "+templateVariable, "The environment variable %s says how deep templates may call templates, as a whole number above zero, and not %q.", templateVariable, depth))
			return l, false
		}
		l.functions.TemplateDepth = int(min(n, math.MaxInt))
	}
	if err := l.parse(c.Getenv(limitsVariable)); err != nil {
		c.bag.Add(diag.Errorf("Invalid "+limitsVariable, "The environment variable %s changes limits of the language: %s.", limitsVariable, err))
		return l, false
	}
	return l, true
}
