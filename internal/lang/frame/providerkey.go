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

// ProviderKey evaluates the key of the provider instance that a resource instance uses. k is the key of the resource
// instance. face selects the prior values (Before) or the planned values (After) for the evaluation.
//
// The provider argument of the resource can contain the key, as in provider = aws.x[key], and so can the providers
// argument of a module call above the resource. If neither contains a key, ProviderKey returns NoKey and OK. Otherwise
// it returns one of these results:
//
//   - If the key is not a known string without marks, or the provider configuration has no instance with this key,
//     ProviderKey adds an error to bag and returns Broken. If the keys of the provider configuration are not known, it
//     accepts each key.
//   - If the expression cannot be evaluated, the status is the status of the evaluation. Failed means that a value to
//     which the expression refers has failed and that its error is already reported.
//   - During validation, an unknown key is NoKey and OK, and a known key is not compared with the instances.
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
// instance with this key. d and k are the declaration that contains e (the resource or a module call) and its instance
// key, for count and each. If no instance has the key, chosenKey adds an error and returns Broken. It does not compare
// the key with the instances during validation, if the resource has no provider configuration, or if the keys of the
// instances are not known.
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
// be a known value without marks that can be converted to a string, and not null; otherwise providerKey adds an error
// and returns Broken. During validation it returns NoKey and OK for an unknown key. If the evaluation fails, it returns
// the status of the evaluation.
func providerKey(f *Frame, e hclsyntax.Expression, d *program.Def, k addr.Key, face Face, bag *diag.Bag) (addr.Key, Status) {
	s := newScope(f, face, bag).of(d, k)
	defer s.release()
	key, _ := s.providerKey(e)
	return key, s.outcome()
}

// providerKey evaluates a key expression. It returns false if the key cannot be evaluated or is invalid.
func (s *scope) providerKey(e hclsyntax.Expression) (addr.Key, bool) {
	v := s.Eval(e)
	if s.outcome() != OK {
		return addr.NoKey, false
	}
	fail := func(detail string) (addr.Key, bool) {
		s.Error(s.WithValues(diag.Errorf("Invalid provider instance key", "%s", detail).At(e.Range()), e, s.Ctx))
		return addr.NoKey, false
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
		if s.f.w.o.Validate {
			return addr.NoKey, true
		}
		return fail("The key of a provider instance must be known during plan.")
	}
	return addr.StringKey(str.AsString()), true
}
