package declared

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// Use is how an object gets to its provider.
type Use struct {
	Instance addr.ProviderInstance
	Decl     program.Decl // its configuration, if that is declared
	Declared bool         // false: there is no provider block and no resource that uses it, only objects in the state
}

// UseOf is the provider that a declared resource uses.
func UseOf(prog *program.Program, d *program.Declaration, key addr.Key) Use {
	c := prog.ProviderOf(d.ID)
	return Use{Decl: c, Declared: true, Instance: addr.ProviderInstance{ProviderConfig: prog.Decls()[c].Provider, Key: key}}
}
