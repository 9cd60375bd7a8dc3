package sdkv2

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"

	"github.com/lethe-iac/lethe/test/providers/calls"
	"github.com/lethe-iac/lethe/test/providers/cloud"
	"github.com/lethe-iac/lethe/test/providers/trouble"
)

// oldThing is a deprecated resource, which exists only in the state.
func oldThing() *schema.Resource {
	set := func(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
		d.SetId(d.Get("name").(string))
		return nil
	}
	nothing := func(context.Context, *schema.ResourceData, any) diag.Diagnostics { return nil }
	return &schema.Resource{
		DeprecationMessage: "Use playground5_thing instead.",
		CreateContext:      set,
		ReadContext:        nothing,
		UpdateContext:      nothing,
		DeleteContext:      nothing,
		Importer:           &schema.ResourceImporter{StateContext: schema.ImportStatePassthroughContext},
		Schema: map[string]*schema.Schema{
			"name": {Type: schema.TypeString, Required: true, ForceNew: true},
			"size": {Type: schema.TypeInt, Optional: true},
		},
	}
}

// legacy violates every rule that only the legacy type system may violate. Its plan contradicts the configuration, and
// its result contradicts the plan.
func legacy() *schema.Resource {
	apply := func(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
		name := d.Get("name").(string)
		d.SetId("legacy-" + name)
		return diag.FromErr(d.Set("chosen", "changed by the provider"))
	}
	return &schema.Resource{
		Description:   "Answers that contradict the plan, as the legacy type system lets them.",
		CreateContext: apply,
		UpdateContext: apply,
		ReadContext:   func(context.Context, *schema.ResourceData, any) diag.Diagnostics { return nil },
		DeleteContext: func(context.Context, *schema.ResourceData, any) diag.Diagnostics { return nil },
		Schema: map[string]*schema.Schema{
			"name": {Type: schema.TypeString, Required: true},
			"chosen": {
				Type: schema.TypeString, Optional: true, Computed: true,
				DiffSuppressFunc: func(_, old, _ string, _ *schema.ResourceData) bool { return old != "" },
			},
		},
	}
}

// nullData copies its inputs to its outputs, like the former data source of that name.
func nullData() *schema.Resource {
	return &schema.Resource{
		ReadContext: readNull,
		Schema: map[string]*schema.Schema{
			"inputs":               {Type: schema.TypeMap, Optional: true, Elem: &schema.Schema{Type: schema.TypeString}},
			"outputs":              {Type: schema.TypeMap, Computed: true, Elem: &schema.Schema{Type: schema.TypeString}},
			"rand":                 {Type: schema.TypeString, Computed: true},
			"has_computed_default": {Type: schema.TypeString, Optional: true, Computed: true},
			"name":                 {Type: schema.TypeString, Optional: true, Description: "How the log calls it."},
			"fail_on":              {Type: schema.TypeString, Optional: true, Description: "Where to fail: read."},
			"delay":                {Type: schema.TypeString, Optional: true, Description: "How long reading takes."},
		},
	}
}

func readNull(ctx context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
	key := d.Get("name").(string)
	err := trouble.Wait(ctx, d.Get("delay").(string), "read", key)
	if err == nil {
		err = trouble.Fail(d.Get("fail_on").(string), "read", key)
	}
	if err == nil {
		err = d.Set("outputs", d.Get("inputs"))
	}
	if err == nil {
		err = d.Set("rand", cloud.Random(16))
	}
	if _, ok := d.GetOk("has_computed_default"); !ok && err == nil {
		err = d.Set("has_computed_default", "default")
	}
	d.SetId("static")
	return diag.FromErr(err)
}

// thingData finds a thing of either provider in the cloud by its ID. A missing thing is an error.
func thingData() *schema.Resource {
	return &schema.Resource{
		ReadContext: func(ctx context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
			id := d.Get("thing_id").(string)
			calls.Key(ctx, id)
			o, err := cloud.Here().Get(kind, id)
			if err != nil {
				return diag.FromErr(fmt.Errorf("thing %s: %w", id, err))
			}
			d.SetId(id)
			return overlay(d, o)
		},
		Schema: map[string]*schema.Schema{
			"thing_id": {Type: schema.TypeString, Required: true},
			"name":     {Type: schema.TypeString, Computed: true},
			"size":     {Type: schema.TypeInt, Computed: true},
			"comment":  {Type: schema.TypeString, Computed: true},
			"tags":     {Type: schema.TypeMap, Computed: true, Elem: &schema.Schema{Type: schema.TypeString}},
		},
	}
}
