package lang

import (
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
)

// Compile compiles a configuration (program.Compile), and runs the checks that need no provider schema (vet.Structure).
// If it adds errors to bag, it returns false, and also the program, so that later checks can report their errors, too.
func Compile(tree *config.Tree, bag *diag.Bag) (*program.Program, bool) {
	p, ok := program.Compile(tree, bag)
	return p, vet.Structure(p, bag) && ok
}
