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
	Declared bool         // false if the program no longer has the provider configuration, so that only the state names it
}

// UseOf returns the provider instance that an object of the resource d uses. key is the key of the provider instance.
func UseOf(prog *program.Program, d *program.Declaration, key addr.Key) Use {
	c := prog.ProviderOf(d.ID)
	return Use{Decl: c, Declared: true, Instance: addr.ProviderInstance{ProviderConfig: prog.Decls()[c].Provider, Key: key}}
}

// SameUse returns the provider instance whose address the state stores. It returns false if the program no longer has
// this provider configuration.
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

// MayHave reports whether the provider configuration of the resource d may have an instance with the key: an instance
// without a key if the configuration has no for_each, and instances with keys otherwise.
func MayHave(prog *program.Program, d *program.Declaration, key addr.Key) bool {
	return key.IsNone() == (prog.Decls()[prog.ProviderOf(d.ID)].Repeat() == program.Once)
}

// Fits reports whether the key of a stored provider instance belongs to the provider configuration that the resource d
// now uses. This is so if the configuration may have an instance with the key (MayHave), and, for a key, if the stored
// configuration is the same. Otherwise the key may mean an instance with other settings.
func Fits(prog *program.Program, d *program.Declaration, stored addr.ProviderInstance) bool {
	now := addr.ProviderInstance{ProviderConfig: prog.Decls()[prog.ProviderOf(d.ID)].Provider, Key: stored.Key}
	return MayHave(prog, d, stored.Key) && (stored.Key.IsNone() || SameInstance(now, stored))
}

// SameInstance reports whether two addresses name the same provider instance. A provider is the same provider in the
// registries of Terraform and OpenTofu.
func SameInstance(a, b addr.ProviderInstance) bool {
	return a.ProviderConfig.Canon() == b.ProviderConfig.Canon() && a.Key == b.Key
}

// Early reports whether the key of the provider instance that an object of d uses depends on no managed resource, so
// that it is known before a plan or an apply runs its graph. steady reports whether a declaration depends on no managed
// resource.
func Early(prog *program.Program, steady func(program.Decl) bool, d *program.Declaration) bool {
	return !slices.ContainsFunc(ForKey(prog, d), func(to program.Decl) bool { return !steady(to) })
}

// ForKey returns the declarations to which these parts of the resource d refer: the key of its provider instance, and
// its count or for_each.
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
