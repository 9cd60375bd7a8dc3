// Command terraform-provider-null replaces hashicorp/null 3.1.0, which the suite of terraform-exec needs and which is
// not available as a Go module. It has the same schema, descriptions and behaviour.
package main

import (
	"context"
	"math/rand/v2"
	"strconv"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
	"github.com/hashicorp/terraform-plugin-sdk/v2/plugin"
)

func init() { schema.DescriptionKind = schema.StringMarkdown }

func main() {
	plugin.Serve(&plugin.ServeOpts{ProviderFunc: func() *schema.Provider {
		return &schema.Provider{
			ResourcesMap:   map[string]*schema.Resource{"null_resource": resource()},
			DataSourcesMap: map[string]*schema.Resource{"null_data_source": source()},
		}
	}})
}

func number() string { return strconv.Itoa(rand.Int()) }

func resource() *schema.Resource {
	nothing := func(context.Context, *schema.ResourceData, any) diag.Diagnostics { return nil }
	return &schema.Resource{
		Description: "The `null_resource` resource implements the standard resource lifecycle but takes no further action.\n\n" +
			"The `triggers` argument allows specifying an arbitrary set of values that, when changed, will cause the resource to be replaced.",
		CreateContext: func(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
			d.SetId(number())
			return nil
		},
		ReadContext:   nothing,
		DeleteContext: nothing,
		Schema: map[string]*schema.Schema{
			"triggers": {
				Type: schema.TypeMap, Optional: true, ForceNew: true,
				Description: "A map of arbitrary strings that, when changed, will force the null resource to be replaced, re-running any associated provisioners.",
			},
			"id": {Type: schema.TypeString, Computed: true, Description: "This is set to a random value at create time."},
		},
	}
}

func source() *schema.Resource {
	return &schema.Resource{
		DeprecationMessage: "Locals do the same.",
		Description: "The `null_data_source` data source implements the standard data source lifecycle but does not\ninteract with any external APIs.\n\n" +
			"Historically, the `null_data_source` was typically used to construct intermediate values to re-use elsewhere in configuration. The\n" +
			"same can now be achieved using [locals](https://www.terraform.io/docs/language/values/locals.html).\n",
		ReadContext: func(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
			d.SetId("static")
			if d.Get("has_computed_default") == "" {
				if err := d.Set("has_computed_default", "default"); err != nil {
					return diag.FromErr(err)
				}
			}
			if err := d.Set("random", number()); err != nil {
				return diag.FromErr(err)
			}
			return diag.FromErr(d.Set("outputs", d.Get("inputs")))
		},
		Schema: map[string]*schema.Schema{
			"inputs": {
				Type: schema.TypeMap, Optional: true,
				Description: "A map of arbitrary strings that is copied into the `outputs` attribute, and accessible directly for interpolation.",
			},
			"outputs": {
				Type: schema.TypeMap, Computed: true,
				Description: "After the data source is \"read\", a copy of the `inputs` map.",
			},
			"random": {
				Type: schema.TypeString, Computed: true,
				Description: "A random value. This is primarily for testing and has little practical use; prefer the [hashicorp/random provider](https://registry.terraform.io/providers/hashicorp/random) for more practical random number use-cases.",
			},
			"has_computed_default": {
				Type: schema.TypeString, Optional: true, Computed: true,
				Description: "If set, its literal value will be stored and returned. If not, its value defaults to `\"default\"`. This argument exists primarily for testing and has little practical use.",
			},
			"id": {
				Type: schema.TypeString, Computed: true, Deprecated: "It is of no use.",
				Description: "This attribute is only present for some legacy compatibility issues and should not be used. It will be removed in a future version.",
			},
		},
	}
}
