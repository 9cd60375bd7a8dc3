package declared

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// Use is the provider instance of an object.
type Use struct {
	Instance addr.ProviderInstance
	Decl     program.Decl // its configuration, if declared
	Declared bool         // false: no provider block and no resource uses the provider, only objects in the state
}

// UseOf returns the provider instance that a declared resource uses. key is the key of the provider instance.
func UseOf(prog *program.Program, d *program.Declaration, key addr.Key) Use {
	c := prog.ProviderOf(d.ID)
	return Use{Decl: c, Declared: true, Instance: addr.ProviderInstance{ProviderConfig: prog.Decls()[c].Provider, Key: key}}
}
