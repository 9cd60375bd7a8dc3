package lang

import (
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
)

// Compile gives a configuration its meaning and checks what needs no schema (program.Compile, vet.Structure). The
// program is there after mistakes, too, so that the rest can be reported.
func Compile(tree *config.Tree, bag *diag.Bag) (*program.Program, bool) {
	p, ok := program.Compile(tree, bag)
	return p, vet.Structure(p, bag) && ok
}
