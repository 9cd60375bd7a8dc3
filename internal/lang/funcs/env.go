package funcs

import (
	"time"

	"github.com/zclconf/go-cty/cty"
)

// Env is what functions see of the world. It is read at each call, from many goroutines, and must
// not be changed while calls run.
type Env struct {
	// BaseDir is the directory that relative paths of file functions start from; "" is the
	// working directory of the process.
	BaseDir string
	// ModuleDir is where the module is, for messages. Functions themselves do not use it.
	ModuleDir string
	// PlanTime is what plantimestamp returns; zero makes it unknown, as while validating.
	PlanTime time.Time
	// Pure is set while validating and planning: uuid, timestamp and bcrypt give unknown results.
	Pure bool
	// Observe is told what file functions and templatefile found, so that plan and apply can be
	// compared. Arguments and result carry their marks. It is called only with known results, from any
	// goroutine; nil: nobody wants to know. The call fails with the error.
	Observe func(name string, args []cty.Value, result cty.Value) error
	// Limits are the budgets of one call, as they are when Table is called.
	Limits Limits
	// Console adds the function type.
	Console bool
}

// Limits bound what one call of a function may read and make. A zero field has its default. They
// exist so that a mistake or an attack is an error instead of a machine without memory.
type Limits struct {
	MaxElements   int   // elements of collections, nested ones included, in an argument or result; default 1,000,000
	MaxBytes      int64 // bytes of a file read or of a string made; default 256 MiB
	MaxDepth      int   // nesting of JSON, YAML and template text; default 1,000
	TemplateDepth int   // templates that call templates; default 1,024, as TF_TEMPLATE_RECURSION_DEPTH sets
	MaxCost       int   // the cost of bcrypt, which doubles the time with each step; default 16
}

// The defaults of Limits.
const (
	defaultElements      = 1_000_000
	defaultBytes         = 256 << 20
	defaultDepth         = 1_000
	defaultTemplateDepth = 1_024
	defaultCost          = 16
)

// filled gives l with its defaults in place.
func (l Limits) filled() Limits {
	fill(&l.MaxElements, defaultElements)
	fill(&l.MaxBytes, defaultBytes)
	fill(&l.MaxDepth, defaultDepth)
	fill(&l.TemplateDepth, defaultTemplateDepth)
	fill(&l.MaxCost, defaultCost)
	return l
}

func fill[T int | int64](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}
