package project

import (
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
)

// unhonoured are environment variables that change what Terraform or OpenTofu does, and not what we do, with the reason. Those
// that only matter to what there is not here (the network, HCP Terraform, tracing) are not among them:
// a user who needs that gets an error.
var unhonoured = []struct{ name, unset, why string }{
	{"TF_WARN_OUTPUT_ERRORS", "0", "errors in outputs stay errors"},
	{"TF_SKIP_PROVIDER_VERIFY", "", "installed providers are always held against the dependency lock file"},
	{"OPENTOFU_STATEFILE_PROVIDER_ADDRESS_TRANSLATION", "1", "the registry hosts of Terraform and OpenTofu stand for one provider"},
	{"TF_FORCE_LOCAL_BACKEND", "", "operations are always local"},
	{"TOFU_X_EXPERIMENTAL_RUNTIME", "", "there is one runtime"},
}

// warnUnhonoured says which variables that are set have no effect.
func warnUnhonoured(c *base.Call) {
	for _, v := range unhonoured {
		if set := c.Getenv(v.name); set != "" && set != v.unset {
			c.Bag.Add(diag.Warningf("Environment variable without effect", "%s is set, and has no effect: %s.", v.name, v.why))
		}
	}
}
