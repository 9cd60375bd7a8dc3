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

// SameUse returns the use of a stored provider instance. It returns false if the program has no such configuration.
func SameUse(prog *program.Program, stored addr.ProviderInstance) (Use, bool) {
	c, ok := prog.ProviderFor(stored.Module, stored.Provider, stored.Alias)
	if !ok {
		return Use{}, false
	}
	return Use{Decl: c, Declared: true, Instance: addr.ProviderInstance{ProviderConfig: prog.Decls()[c].Provider, Key: stored.Key}}, true
}

// FormerUse returns the use of the stored provider instance of a declared object, if the resource now has another block of
// the same provider, and the former block is still in the program. It returns false if the settings of the former block
// depend on resources, because no step of the object waits for these. fromResources reports whether a declaration depends
// on resources.
func FormerUse(prog *program.Program, fromResources func(program.Decl) bool, d *program.Declaration, stored addr.ProviderInstance) (Use, bool) {
	now := prog.Decls()[prog.ProviderOf(d.ID)]
	if stored.ProviderConfig == now.Provider { // most objects
		return Use{}, false
	}
	u, ok := SameUse(prog, stored)
	if !ok || u.Decl == now.ID || fromResources(u.Decl) {
		return Use{}, false
	}
	former := prog.Decls()[u.Decl]
	return u, former.Provider.Provider.Canon() == now.Provider.Provider.Canon() && stored.Key.IsNone() == (former.Repeat() == program.Once)
}

// MayHave reports whether the provider configuration of a declared object may have an instance with the key. It may not if
// for_each was added to the configuration, or removed from it, after the key was stored.
func MayHave(prog *program.Program, d *program.Declaration, key addr.Key) bool {
	return key.IsNone() == (prog.Decls()[prog.ProviderOf(d.ID)].Repeat() == program.Once)
}

// Fits reports whether the key of a stored provider instance belongs to the provider configuration of a declared object,
// and the configuration may have an instance with the key (see MayHave). Otherwise the key may mean an instance with other
// settings.
func Fits(prog *program.Program, d *program.Declaration, stored addr.ProviderInstance) bool {
	now := addr.ProviderInstance{ProviderConfig: prog.Decls()[prog.ProviderOf(d.ID)].Provider, Key: stored.Key}
	return MayHave(prog, d, stored.Key) && (stored.Key.IsNone() || SameInstance(now, stored))
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
