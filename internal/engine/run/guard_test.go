package run

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/object/guard"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/zclconf/go-cty/cty"
)

// The value of an ephemeral root variable is a secret as a whole. In other modules, only the sensitive parts of the
// value of such a variable are masked in output, and these parts may be stored.
func TestGuardOfVariables(t *testing.T) {
	child := addr.ModuleInstance{}.Child("m", addr.NoKey)
	for name, c := range map[string]struct {
		at             addr.ModuleInstance
		value          cty.Value
		stored, hidden bool
	}{
		"of the root":            {addr.ModuleInstance{}, cty.StringVal("canary-one"), false, true},
		"of a module":            {child, cty.StringVal("canary-one"), true, false},
		"of a module, sensitive": {child, mark.With(cty.StringVal("canary-one"), mark.Sensitive, nil), true, true},
	} {
		secrets := &secret.Set{}
		(&registrar{secrets, &object.Walk{Guard: &guard.Guard{Secrets: secrets}}}).variable(c.at, "v", c.value)
		if _, refused := secrets.Check("canary-one", "", nil); refused == c.stored {
			t.Errorf("%s: refused %v", name, refused)
		}
		if hidden := secrets.Scrub("canary-one") != "canary-one"; hidden != c.hidden {
			t.Errorf("%s: hidden %v", name, hidden)
		}
	}
}

// A provider's function may return a secret that was in its ephemeral arguments, and no other secret.
func TestFunctionMayNotLeakSecrets(t *testing.T) {
	secrets := &secret.Set{}
	secrets.Add("canary-two", secret.Origin{Kind: secret.EphemeralVariable})
	plain, ephemeral := cty.StringVal("a"), mark.With(cty.StringVal("canary-two"), mark.Ephemeral, nil)
	results := []cty.Value{
		cty.ListVal([]cty.Value{cty.StringVal("x"), cty.StringVal("canary-two")}),
		cty.NullVal(cty.Object(map[string]cty.Type{"canary-two": cty.String})),
		cty.MapVal(map[string]cty.Value{"canary-two": cty.NullVal(cty.String)}),
	}
	for name, c := range map[string]struct {
		secrets  *secret.Set
		function string
		arg      cty.Value
		leaks    bool
	}{
		"from the provider's settings":  {secrets, "provider::t::f", plain, true},
		"from an ephemeral argument":    {secrets, "provider::t::f", ephemeral, false},
		"of a function of the language": {secrets, "file", plain, false},
		"without secrets":               {&secret.Set{}, "provider::t::f", plain, false},
		"without a guard":               {nil, "provider::t::f", plain, false},
	} {
		for _, result := range results {
			if err := leaks(c.secrets, c.function, []cty.Value{c.arg}, result); (err != nil) != c.leaks {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
