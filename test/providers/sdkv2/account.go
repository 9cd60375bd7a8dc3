package sdkv2

import (
	"context"
	"os"

	"github.com/hashicorp/go-cty/cty"
	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/validation"
)

// EnvAccount names the variable that adds the type playground5_account, if it is not empty.
const EnvAccount = "PLAYGROUND_ACCOUNT"

// account returns a resource with a stored secret, and a write-only argument for this secret whose name does not follow
// the convention. Only a warning of the validation shows that the arguments belong together. A new version of its token
// replaces the object.
func account() *schema.Resource {
	keep := func(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
		d.SetId("account-" + d.Get("name").(string))
		return nil
	}
	return &schema.Resource{
		Description:   "An account with a secret.",
		CreateContext: keep,
		UpdateContext: keep,
		ReadContext:   func(context.Context, *schema.ResourceData, any) diag.Diagnostics { return nil },
		DeleteContext: func(context.Context, *schema.ResourceData, any) diag.Diagnostics { return nil },
		ValidateRawResourceConfigFuncs: []schema.ValidateRawResourceConfigFunc{
			validation.PreferWriteOnlyAttribute(cty.GetAttrPath("pin"), cty.GetAttrPath("set_pin")),
		},
		Schema: map[string]*schema.Schema{
			"name":             {Type: schema.TypeString, Required: true},
			"pin":              {Type: schema.TypeString, Optional: true, Sensitive: true, ConflictsWith: []string{"set_pin"}},
			"set_pin":          {Type: schema.TypeString, Optional: true, WriteOnly: true},
			"set_pin_revision": {Type: schema.TypeInt, Optional: true},
			"token":            {Type: schema.TypeString, Optional: true, Sensitive: true},
			"token_wo":         {Type: schema.TypeString, Optional: true, WriteOnly: true},
			"token_wo_version": {Type: schema.TypeInt, Optional: true, ForceNew: true},
		},
	}
}

// withAccount reports whether the environment asks for the type.
func withAccount() bool { return os.Getenv(EnvAccount) != "" }
