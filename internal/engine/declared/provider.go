package declared

import (
	"slices"

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

// MayHave reports whether the provider configuration of a declared object may have an instance with the key. It may not if
// for_each was added to the configuration, or removed from it, after the key was stored.
func MayHave(prog *program.Program, d *program.Declaration, key addr.Key) bool {
	return key.IsNone() == (prog.Decls()[prog.ProviderOf(d.ID)].Repeat() == program.Once)
}

// Fits reports whether the key of a stored provider instance may be used with the provider configuration of a declared
// object. It returns false in these cases:
//
//   - the configuration cannot have an instance with the key (see MayHave);
//   - the key is from a configuration of another provider, with another alias or in another module, and the key in the
//     declaration can be computed early (see Early).
func Fits(prog *program.Program, steady func(program.Decl) bool, d *program.Declaration, stored addr.ProviderInstance) bool {
	now := addr.ProviderInstance{ProviderConfig: prog.Decls()[prog.ProviderOf(d.ID)].Provider, Key: stored.Key}
	same := stored.Key.IsNone() || SameInstance(now, stored)
	return MayHave(prog, d, stored.Key) && (same || !Early(prog, steady, d))
}

// SameInstance reports whether two addresses name the same provider instance, possibly with different registries.
func SameInstance(a, b addr.ProviderInstance) bool {
	a.Provider, b.Provider = a.Provider.Canon(), b.Provider.Canon()
	return a == b
}

// Early reports whether the provider key of a declared object depends on no resource.
func Early(prog *program.Program, steady func(program.Decl) bool, d *program.Declaration) bool {
	return !slices.ContainsFunc(ForKey(prog, d), func(to program.Decl) bool { return !steady(to) })
}

// ForKey returns the declarations to which the provider key and the instance keys of a declared object refer.
func ForKey(prog *program.Program, d *program.Declaration) (out []program.Decl) {
	uses := program.ByProvider | program.ByRepeat
	if _, passed := prog.PassedKey(d.ID); passed {
		uses |= program.ByModule
	}
	for _, ref := range prog.Refs(d.ID) {
		if ref.Use&uses != 0 && prog.Decls()[ref.To].Kind != program.Provider {
			out = append(out, ref.To)
		}
	}
	return out
}
