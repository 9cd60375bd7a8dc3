package declared

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// Use is the provider instance that an object uses.
type Use struct {
	Instance addr.ProviderInstance
	Decl     program.Decl // the provider configuration, if Declared
	Declared bool         // false if only objects in the state use the provider, and the program does not
}

// UseOf returns the provider instance that a declared object uses. key is the key of the provider instance.
func UseOf(prog *program.Program, d *program.Declaration, key addr.Key) Use {
	c := prog.ProviderOf(d.ID)
	return Use{Decl: c, Declared: true, Instance: addr.ProviderInstance{ProviderConfig: prog.Decls()[c].Provider, Key: key}}
}

// Fits reports whether the provider configuration of a declared object may have an instance with the key. It may not if
// for_each was added to the configuration, or removed from it, after the key was stored.
func Fits(prog *program.Program, d *program.Declaration, key addr.Key) bool {
	return key.IsNone() == (prog.Decls()[prog.ProviderOf(d.ID)].Repeat() == program.Once)
}
