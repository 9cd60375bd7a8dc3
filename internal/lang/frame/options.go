package frame

import (
	"path/filepath"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/zclconf/go-cty/cty"
)

// Face is one of the two times that every value has.
type Face uint8

// The faces.
const (
	Before Face = iota // what is there
	After              // what will be
)

// Status says what is known of a value or of keys; Outcome how an evaluation went.
type Status uint8

// Outcome is a Status: Failed means the same in both.
type Outcome = Status

// The outcomes.
const (
	Known   Status = iota // of keys: decided
	Unknown               // of keys: depends on what is not known yet
	Failed                // something it needs failed; nothing was reported here
	Broken                // a diagnostic is in the bag
	OK      = Known
)

// Options say what a walk is for.
type Options struct {
	Variables map[string]Given // root variables as set
	Workspace string
	Applying  bool                    // terraform.applying
	PlanTime  time.Time               // plantimestamp(); zero: unknown
	Pure      bool                    // planning: uuid() and the like are unknown
	RootDir   string                  // the root module: path.root and path.module are relative to it; "": as that module says
	Cwd       string                  // path.cwd
	BaseDir   string                  // where relative paths of file functions begin; "": RootDir
	Validate  bool                    // everything that is not literal is unknown
	Run       Run                     // nil: NoRun
	Steady    func(program.Decl) bool // declarations whose two faces are one; nil: none
	Limits    limits.Limits
	Console   bool         // there is a function type
	Closed    shortcut.Set // what is not to be taken
}

// Given is the value of a root variable as the user set it.
type Given struct {
	Value  cty.Value
	Text   string
	IsText bool   // Text is to be read by the variable's type
	From   string // "-var", "TF_VAR_x", a file name
	Range  diag.Range
}

// in fills in what follows from the root module's directory, and what was left out.
func (o Options) in(dir string) Options {
	if o.RootDir == "" {
		o.RootDir = dir
	}
	if o.Run == nil {
		o.Run = NoRun{}
	}
	if o.BaseDir == "" {
		o.BaseDir = o.RootDir
	}
	return o
}

// shown is a module's directory as path.module has it: relative to the root module's, so that it
// is the same wherever the configuration lies.
func (o *Options) shown(dir string) string {
	if filepath.IsAbs(dir) {
		if rel, err := filepath.Rel(o.RootDir, dir); err == nil {
			dir = rel
		}
	}
	return filepath.ToSlash(dir)
}
