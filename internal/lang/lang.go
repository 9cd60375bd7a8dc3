package lang

import (
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
)

// Compile compiles a configuration and runs the checks that need no schema (program.Compile, vet.Structure). It returns
// a program even if it reports mistakes, so that the caller can report the mistakes of later checks, too. The result is
// false if there were mistakes.
func Compile(tree *config.Tree, bag *diag.Bag) (*program.Program, bool) {
	p, ok := program.Compile(tree, bag)
	return p, vet.Structure(p, bag) && ok
}
