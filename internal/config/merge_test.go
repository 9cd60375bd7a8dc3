package config

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
)

func TestIsJSON(t *testing.T) {
	native := &hclsyntax.Body{}
	f, _ := json.Parse([]byte(`{}`), "x.tf.json")
	for body, want := range map[hcl.Body]bool{native: false, f.Body: true, override(native, f.Body): true, override(native, native): false} {
		if IsJSON(body) != want {
			t.Errorf("%T: %v", body, !want)
		}
	}
}
