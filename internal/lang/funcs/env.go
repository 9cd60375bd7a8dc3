package funcs

import (
	"github.com/lethe-iac/lethe/internal/limits"
	"time"

	"github.com/zclconf/go-cty/cty"
)

// Env is what functions see of the world. It is read at each call, from many goroutines, and must
// not be changed while calls run.
type Env struct {
	// BaseDir is the directory that relative paths of file functions start from; "" is the
	// working directory of the process.
	BaseDir string
	// PlanTime is what plantimestamp returns; zero makes it unknown, as while validating.
	PlanTime time.Time
	// Pure is set while validating and planning: uuid, timestamp and bcrypt give unknown results.
	Pure bool
	// Observe gets what file functions and templatefile found, so that plan and apply can be
	// compared. Arguments and result carry their marks. It is called only with known results, from any
	// goroutine; nil: nothing is observed. The call fails with the error.
	Observe func(name string, args []cty.Value, result cty.Value) error
	// Limits are the budgets of one call, as they are when Table is called.
	Limits limits.Limits
	// Console adds the function type.
	Console bool
}
