package lang

import (
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
)

// Compile compiles a configuration and runs the checks that need no schema (program.Compile, vet.Structure). If it adds
// errors to bag, it returns false, and the program nevertheless, so that later checks can report their errors, too.
func Compile(tree *config.Tree, bag *diag.Bag) (*program.Program, bool) {
	p, ok := program.Compile(tree, bag)
	return p, vet.Structure(p, bag) && ok
}
