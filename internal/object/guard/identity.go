package guard

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// agrees reports whether two resource identities are identities of the same object. The first is the planned identity,
// and the second is the identity after apply. A null attribute of the planned identity matches any value, because
// providers with old SDKs plan attributes as null that are known only after the creation.
func agrees(was, is cty.Value) bool {
	if was.IsNull() || is.IsNull() || !was.Type().IsObjectType() || !is.Type().IsObjectType() {
		return was.RawEquals(is)
	}
	for name, v := range was.AsValueMap() {
		if !v.IsNull() && !(is.Type().HasAttribute(name) && is.GetAttr(name).RawEquals(v)) {
			return false
		}
	}
	return true
}

// identitySteady returns false and reports an error if the identity in the answer differs from the planned identity. It
// returns true if one identity is missing or not wholly known.
func (a *admission) identitySteady() bool {
	was, is := a.terms.Identity, a.out.Identity
	if was == cty.NilVal || is == cty.NilVal || !was.IsWhollyKnown() || !is.IsWhollyKnown() || agrees(was, is) {
		return true
	}
	hidden := SensitiveTexts(a.of.Type.Marked(a.out.Value, a.terms.Config))
	a.of.breach("Unexpected Identity Change", "%s changed the identity of %s while it was applied: %s. This is a bug in the provider. Report it to its developers.",
		a.of.Who(), a.of.Object, strings.Join(identityChanges(was, is, hidden), "; "))
	return false
}

// identityChanges describes the attributes of an identity that differ from the planned attributes. It ignores
// attributes that were planned to be null. If one of the two identities is null or no object, it describes each
// identity as a whole. hidden has the sensitive texts, which are masked.
func identityChanges(was, is cty.Value, hidden map[string]bool) []string {
	describe := func(what string, was, is cty.Value) string {
		return what + " was planned to be " + IdentityText(was, hidden) + ", and is now " + IdentityText(is, hidden)
	}
	if was.IsNull() || is.IsNull() || !was.Type().IsObjectType() || !is.Type().IsObjectType() {
		return []string{describe("it", was, is)}
	}
	var out []string
	before, after := was.AsValueMap(), is.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(before)) {
		now, ok := after[name]
		if !ok {
			now = cty.NullVal(before[name].Type())
		}
		if !before[name].IsNull() && !now.RawEquals(before[name]) {
			out = append(out, describe(name, before[name], now))
		}
	}
	return out
}

// IdentityText formats a part of an identity for messages. If the part contains a text in hidden, it returns the mask
// for sensitive values instead. A text in hidden of less than shortestHidden bytes counts only if it equals a whole
// string in the part.
func IdentityText(v cty.Value, hidden map[string]bool) string {
	hide := false
	secret.Leaves(v, func(_ cty.Path, _ cty.Value, text string) { hide = hide || mentions(text, hidden) })
	switch {
	case hide:
		return mark.Sensitive.Mask()
	case v.IsNull():
		return "null"
	case v.Type() == cty.String:
		return strconv.Quote(v.AsString())
	}
	text, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		return "something else"
	}
	return string(text)
}

// mentions reports whether a text equals a text in hidden, or contains a text in hidden of at least shortestHidden
// bytes.
func mentions(text string, hidden map[string]bool) bool {
	if hidden[text] {
		return true
	}
	for part := range hidden {
		if len(part) >= shortestHidden && strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// shortestHidden is the length, in bytes, of the shortest sensitive text that is masked if a name or an identity
// contains it in messages. A longer name may contain a shorter text, such as a number, by chance.
const shortestHidden = 6

// SensitiveTexts returns the texts (strings and numbers) in the sensitive parts of a value, except the empty text.
func SensitiveTexts(v mark.Value) map[string]bool {
	out := map[string]bool{}
	for _, p := range v.PathsOf(mark.Sensitive) {
		if part, err := p.Apply(v.Raw); err == nil {
			secret.Leaves(part, func(_ cty.Path, _ cty.Value, text string) { out[text] = true })
		}
	}
	delete(out, "")
	return out
}

// identifiesNothing reports whether an identity is null or has only null attributes.
func identifiesNothing(identity cty.Value) bool {
	if identity.IsNull() {
		return true
	}
	for _, v := range identity.AsValueMap() {
		if !v.IsNull() {
			return false
		}
	}
	return true
}
