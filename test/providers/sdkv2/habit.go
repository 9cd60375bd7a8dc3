package sdkv2

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"

	"github.com/lethe-iac/lethe/test/providers/cloud"
)

// habit has behaviour that is common in real providers of this SDK, but violates ignore_changes and approved plans.
func habit() *schema.Resource {
	hash := func(v any) string {
		sum := sha1.Sum([]byte(v.(string)))
		return hex.EncodeToString(sum[:])
	}
	return &schema.Resource{
		Description:   "Stores hashes, works out arguments while planning, and decides late about replacement.",
		CreateContext: createHabit,
		ReadContext:   func(context.Context, *schema.ResourceData, any) diag.Diagnostics { return nil },
		UpdateContext: updateHabit,
		DeleteContext: func(context.Context, *schema.ResourceData, any) diag.Diagnostics { return nil },
		CustomizeDiff: planHabit,
		Importer:      &schema.ResourceImporter{StateContext: schema.ImportStatePassthroughContext},
		Schema: map[string]*schema.Schema{
			"name": {Type: schema.TypeString, Optional: true},
			// The hash of a hash differs from it, so the stored value is not a valid argument.
			"body":  {Type: schema.TypeString, Optional: true, StateFunc: hash},
			"image": {Type: schema.TypeString, Optional: true, ForceNew: true, StateFunc: hash},
			"s":     {Type: schema.TypeString, Optional: true},
			// CustomizeDiff replaces the object when n grows.
			"n": {Type: schema.TypeInt, Optional: true},
			// CustomizeDiff computes these attributes, as mode specifies.
			"mode":  {Type: schema.TypeString, Optional: true, Description: "A list of: new, computed, always, refuse, gone, other."},
			"calc":  {Type: schema.TypeString, Computed: true},
			"given": {Type: schema.TypeString, Optional: true, Computed: true},
			"part": {Type: schema.TypeList, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
				"key":  {Type: schema.TypeString, Optional: true},
				"body": {Type: schema.TypeString, Optional: true, StateFunc: hash},
			}}},
		},
	}
}

func planHabit(_ context.Context, d *schema.ResourceDiff, _ any) error {
	mode := d.Get("mode").(string)
	if strings.Contains(mode, "refuse") && d.Id() != "" && d.HasChange("s") {
		return errors.New("cannot be changed in place")
	}
	if old, now := d.GetChange("n"); d.Id() != "" && now.(int) > old.(int) {
		if err := d.ForceNew("n"); err != nil {
			return err
		}
	}
	switch {
	case strings.Contains(mode, "always"), strings.Contains(mode, "computed") && d.HasChange("s"):
		return d.SetNewComputed("calc")
	case strings.Contains(mode, "new"):
		if err := d.SetNew("given", "given-"+d.Get("s").(string)); err != nil {
			return err
		}
		return d.SetNew("calc", "calc-"+d.Get("s").(string))
	}
	return nil
}

func createHabit(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
	d.SetId("habit-" + cloud.Random(12))
	return settleHabit(d)
}

// updateHabit loses the object if mode requests it, like providers that read an object at the end of an update and do
// not find it yet.
func updateHabit(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
	if strings.Contains(d.Get("mode").(string), "gone") {
		d.SetId("")
		return nil
	}
	return settleHabit(d)
}

func settleHabit(d *schema.ResourceData) diag.Diagnostics {
	if strings.Contains(d.Get("mode").(string), "other") {
		if err := d.Set("s", "changed by the provider"); err != nil {
			return diag.FromErr(err)
		}
	}
	return diag.FromErr(d.Set("calc", "calc-"+d.Get("s").(string)))
}
