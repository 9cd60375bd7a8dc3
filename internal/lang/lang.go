package lang

import (
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Compile gives a configuration its meaning and checks what needs no schema (program.Compile, vet.Structure). The
// program is there after mistakes, too, so that the rest can be reported.
func Compile(tree *config.Tree, bag *diag.Bag) (*Program, bool) {
	p, ok := compileTree(tree, bag)
	return p, Structure(p, bag) && ok
}

// Vet holds a program against the schemas of its providers, which it has to be before there are frames (vet.Check).
func Vet(p *Program, s Schemas, o CheckOptions, bag *diag.Bag) bool { return Against(p, s, o, bag) }
