package run

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/zclconf/go-cty/cty"
)

// Only the provider that was configured with a text may return this text in objects. The provider is the same under
// each of its registry hosts.
func TestEchoedSettingsBelongToOneProvider(t *testing.T) {
	var e echoedSettings
	mine := addr.Provider{Host: "registry.terraform.io", Namespace: "hashicorp", Type: "mine"}
	e.add(mine, cty.ObjectVal(map[string]cty.Value{"token": cty.StringVal("canary"), "tags": cty.MapVal(map[string]cty.Value{"key": cty.StringVal("v")})}))
	copied := mine
	copied.Host = "registry.opentofu.org"
	other := mine
	other.Type = "other"
	for _, c := range []struct {
		p    addr.Provider
		text string
		want bool
	}{{mine, "canary", true}, {mine, "key", true}, {copied, "canary", true}, {mine, "canar", false}, {other, "canary", false}} {
		if got := e.contain(c.p, c.text); got != c.want {
			t.Errorf("%s echoes %q: %v", c.p, c.text, got)
		}
	}
}
