package file

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/plan"
)

// Contents is all that a saved plan holds.
type Contents struct {
	Plan    *plan.Plan
	Config  []ConfigModule           // in any order; kept
	Lock    []byte                   // the dependency lock file
	Version string                   // of the program that wrote it
	Schemas map[addr.Provider][]byte // see provider.Schemas.Part; some may be missing
}

// ConfigModule is one module of the configuration, with its files by name. Source and Version are
// as modules.json has them; the key of the root is "".
type ConfigModule struct {
	Key, Source, Version, Dir string
	Files                     map[string][]byte
}

// Titles of what can be wrong with a saved plan.
const (
	badFile     = "Invalid plan file"
	badProgram  = "Unsupported plan file"
	stale       = "Saved plan is stale"
	wrongPlace  = "Saved plan is for another workspace"
	memberPlan  = "tfplan"
	memberState = "tfstate"
	memberPrev  = "tfstate-prev"
	memberList  = "tfconfig/modules.json"
	memberLock  = ".terraform.lock.hcl"
	configDir   = "tfconfig/m-"
	schemaDir   = "schemas/"
)

func broken(format string, a ...any) *diag.Diagnostic {
	d := diag.Errorf(badFile, "The file cannot be used as a saved plan: "+format+". Make a new plan.", a...)
	return &d
}
