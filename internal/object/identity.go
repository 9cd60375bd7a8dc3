package object

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

// agrees reports whether two identities are of one object. What the first does not say yet, as old
// SDKs do before an object is created, may still become anything.
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

// steadyIdentity refuses an identity of an object, whose value is v, that is not the one that was
// planned.
func steadyIdentity(t *Tools, was, is cty.Value, v mark.Value) bool {
	if was == cty.NilVal || is == cty.NilVal || !was.IsWhollyKnown() || !is.IsWhollyKnown() || agrees(was, is) {
		return true
	}
	t.breach("Unexpected Identity Change", "%s changed the identity of %s while it was applied: %s. This is a bug in the provider, to be reported there.",
		t.who(), t.Object, strings.Join(identityChanges(was, is, hushed(v)), "; "))
	return false
}

// identityChanges says what of an identity is not as it was planned.
func identityChanges(was, is cty.Value, hidden map[string]bool) []string {
	say := func(what string, was, is cty.Value) string {
		return what + " was planned to be " + identityText(was, hidden) + ", and is now " + identityText(is, hidden)
	}
	if was.IsNull() || is.IsNull() || !was.Type().IsObjectType() || !is.Type().IsObjectType() {
		return []string{say("it", was, is)}
	}
	var out []string
	before, after := was.AsValueMap(), is.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(before)) {
		now, ok := after[name]
		if !ok {
			now = cty.NullVal(before[name].Type())
		}
		if !before[name].IsNull() && !now.RawEquals(before[name]) {
			out = append(out, say(name, before[name], now))
		}
	}
	return out
}

// identityText is a part of an identity as messages show values, or a mask where a hidden text is in it.
func identityText(v cty.Value, hidden map[string]bool) string {
	hide := false
	secret.Leaves(v, func(_ cty.Path, _ cty.Value, text string) { hide = hide || hidden[text] })
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

// hushed are the texts of what is sensitive in a value.
func hushed(v mark.Value) map[string]bool {
	out := map[string]bool{}
	for _, p := range v.PathsOf(mark.Sensitive) {
		if part, err := p.Apply(v.Raw); err == nil {
			secret.Leaves(part, func(_ cty.Path, _ cty.Value, text string) { out[text] = true })
		}
	}
	delete(out, "")
	return out
}
