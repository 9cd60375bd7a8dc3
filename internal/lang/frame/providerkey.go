package frame

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// ProviderKey evaluates the key of the provider instance that a resource instance uses. The provider argument of the
// resource can contain the key, and so can the providers argument of a module call above the resource. If neither
// contains a key, ProviderKey returns NoKey and OK. If the key cannot be evaluated, is not a known string without
// marks, or the provider configuration has no instance with this key, ProviderKey returns a status other than OK.
func (f *Frame) ProviderKey(d program.Decl, k addr.Key, face Face, bag *diag.Bag) (addr.Key, Status) {
	ld := f.local(d)
	if ld.ProviderKey != nil {
		return chosenKey(f, d, ld.ProviderKey, ld, k, face, bag)
	}
	at, ok := f.w.p.PassedKey(d)
	if !ok {
		return addr.NoKey, OK
	}
	below := f
	for range at.Up {
		below = below.parent
	}
	call := below.parent.u.Defs[below.n.Call]
	return chosenKey(below.parent, d, call.Inputs.PassedKeys[at.Entry], call, below.key, face, bag)
}

// chosenKey evaluates the key expression e in f, and checks that the provider configuration of the resource has an
// instance with this key. If it has none, chosenKey adds an error and returns Broken. During validation, only
// providerKey checks the key.
func chosenKey(f *Frame, resource program.Decl, e hclsyntax.Expression, d *program.Def, k addr.Key, face Face, bag *diag.Bag) (addr.Key, Status) {
	key, o := providerKey(f, e, d, k, face, bag)
	used := f.w.p.ProviderOf(resource)
	if o != OK || f.w.o.Validate || used == program.NoDecl || f.w.p.NodeOf(used) == nil {
		return key, o
	}
	home := f
	for home.n != f.w.p.NodeOf(used) {
		home = home.parent
	}
	keys := home.keys(home.local(used), face, bag)
	if keys.Status == Known && !keys.has(key) {
		bag.Add(diag.Errorf("Invalid provider instance key", "There is no instance %s of the provider configuration %q.", key, home.local(used).Src.Prov.ProviderName).At(e.Range()))
		return key, Broken
	}
	return key, o
}

// providerKey evaluates the key expression of a provider argument, such as key in provider = aws.x[key]. The key must
// be a known string without marks; otherwise providerKey adds an error. During validation it returns NoKey for an
// unknown key.
func providerKey(f *Frame, e hclsyntax.Expression, d *program.Def, k addr.Key, face Face, bag *diag.Bag) (addr.Key, Status) {
	s := newScope(f, face, bag).of(d, k)
	defer s.release()
	v := s.Eval(e)
	if s.outcome() != OK {
		return addr.NoKey, s.outcome()
	}
	fail := func(detail string) (addr.Key, Status) {
		s.Error(s.WithValues(diag.Errorf("Invalid provider instance key", "%s", detail).At(e.Range()), e, s.Ctx))
		return addr.NoKey, Broken
	}
	switch {
	case mark.Is(v, mark.Ephemeral):
		return fail("A provider instance key must not be derived from an ephemeral value." + cameFrom(v))
	case mark.Is(v, mark.Sensitive):
		return fail("A provider instance key must not be derived from a sensitive value.")
	}
	str, err := convert.To(v, cty.String)
	switch {
	case err != nil:
		return fail("The key of a provider instance must be a string: " + expr.ConversionText(err) + ".")
	case str.IsNull():
		return fail("The key of a provider instance must not be null.")
	case !str.IsKnown():
		if f.w.o.Validate {
			return addr.NoKey, OK
		}
		return fail("The key of a provider instance must be known during plan.")
	}
	return addr.StringKey(str.AsString()), OK
}
