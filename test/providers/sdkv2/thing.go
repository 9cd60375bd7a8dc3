package sdkv2

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-cty/cty"
	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"

	"github.com/lethe-iac/lethe/test/providers/calls"
	"github.com/lethe-iac/lethe/test/providers/cloud"
	"github.com/lethe-iac/lethe/test/providers/framework"
	"github.com/lethe-iac/lethe/test/providers/trouble"
)

// kind is the type of objects in the cloud. Things of protocol 6 have the same type, so that a thing can be moved from
// one provider to the other.
const kind = "playground_thing"

// thing has the typical oddities of providers of this SDK. A comment describes each.
func thing() *schema.Resource {
	return &schema.Resource{
		Description:    "A thing of protocol 5.",
		SchemaVersion:  1,
		StateUpgraders: []schema.StateUpgrader{{Version: 0, Type: thingType0(), Upgrade: upgradeThing}},
		CreateContext:  createThing,
		ReadContext:    readThing,
		UpdateContext:  updateThing,
		DeleteContext:  deleteThing,
		CustomizeDiff:  planThing,
		Importer:       &schema.ResourceImporter{StateContext: importThing},
		Timeouts: &schema.ResourceTimeout{
			Create: schema.DefaultTimeout(time.Minute),
			Update: schema.DefaultTimeout(time.Minute),
			Delete: schema.DefaultTimeout(time.Minute),
		},
		Identity: &schema.ResourceIdentity{SchemaFunc: func() map[string]*schema.Schema {
			return map[string]*schema.Schema{
				"id": {Type: schema.TypeString, RequiredForImport: true},
			}
		}},
		Schema: thingSchema(),
	}
}

func thingSchema() map[string]*schema.Schema {
	return map[string]*schema.Schema{
		"name":  {Type: schema.TypeString, Required: true},
		"size":  {Type: schema.TypeInt, Optional: true, Default: 10},
		"ratio": {Type: schema.TypeFloat, Optional: true},
		"tags":  {Type: schema.TypeMap, Optional: true, Elem: &schema.Schema{Type: schema.TypeString}},
		"kind":  {Type: schema.TypeString, Optional: true, ForceNew: true},
		"value": {Type: schema.TypeString, Computed: true},

		// The provider sets these attributes to the zero value if the configuration has null: the planned value is null, and
		// the applied value is "", 0 or false.
		"comment": {Type: schema.TypeString, Optional: true},
		"weight":  {Type: schema.TypeInt, Optional: true},
		"enabled": {Type: schema.TypeBool, Optional: true},

		// The value is stored in upper case, so the plan differs from the configuration.
		"shout": {Type: schema.TypeString, Optional: true, StateFunc: func(v any) string { return strings.ToUpper(v.(string)) }},

		// A change of case is no change: the plan keeps the stored value.
		"email": {Type: schema.TypeString, Optional: true, DiffSuppressFunc: func(_, old, now string, _ *schema.ResourceData) bool {
			return strings.EqualFold(old, now)
		}},

		// CustomizeDiff replaces the object if this value decreases.
		"generation": {Type: schema.TypeInt, Optional: true},
		// CustomizeDiff makes the value unknown when name, size, tags, comment or generation changes.
		"etag": {Type: schema.TypeString, Computed: true},

		// A block that can be written as an attribute. The provider sets it if it is not configured.
		"rule": {Type: schema.TypeList, Optional: true, Computed: true, ConfigMode: schema.SchemaConfigModeAttr, Elem: &schema.Resource{
			Schema: map[string]*schema.Schema{
				"port":  {Type: schema.TypeInt, Required: true},
				"proto": {Type: schema.TypeString, Optional: true, Default: "tcp"},
			},
		}},

		// A set of blocks with a set of blocks in each.
		"network": {Type: schema.TypeSet, Optional: true, Elem: &schema.Resource{
			Schema: map[string]*schema.Schema{
				"cidr":   {Type: schema.TypeString, Required: true},
				"labels": {Type: schema.TypeSet, Optional: true, Elem: &schema.Schema{Type: schema.TypeString}},
				"peer": {Type: schema.TypeSet, Optional: true, Elem: &schema.Resource{
					Schema: map[string]*schema.Schema{
						"name": {Type: schema.TypeString, Required: true},
						"port": {Type: schema.TypeInt, Optional: true, Default: 22},
					},
				}},
			},
		}},

		// The usual single block: a list of at most one.
		"settings": {Type: schema.TypeList, Optional: true, MaxItems: 1, Elem: &schema.Resource{
			Schema: map[string]*schema.Schema{
				"mode":      {Type: schema.TypeString, Optional: true, Default: "basic"},
				"secret_wo": {Type: schema.TypeString, Optional: true, WriteOnly: true},
				"hint":      {Type: schema.TypeString, Computed: true},
			},
		}},

		"password":            {Type: schema.TypeString, Optional: true, Sensitive: true},
		"password_wo":         {Type: schema.TypeString, Optional: true, WriteOnly: true, ConflictsWith: []string{"password"}},
		"password_wo_version": {Type: schema.TypeInt, Optional: true},
		"old_comment":         {Type: schema.TypeString, Optional: true, Deprecated: "Use comment."},

		"fail_on": {Type: schema.TypeString, Optional: true, Description: "Where to fail: plan, create, create-after, create-lost, read, update, update-after, delete, delete-after."},
		"delay":   {Type: schema.TypeString, Optional: true, Description: "How long create, update and delete take."},
		"warn":    {Type: schema.TypeString, Optional: true, Description: "A warning to emit at apply."},
	}
}

// thingType0 returns the type of a thing in schema version 0, in which its name was a title.
func thingType0() cty.Type {
	return cty.Object(map[string]cty.Type{"id": cty.String, "title": cty.String, "size": cty.Number})
}

func upgradeThing(ctx context.Context, old map[string]any, _ any) (map[string]any, error) {
	title, _ := old["title"].(string)
	calls.Key(ctx, title)
	if err := trouble.Fail("", "upgrade", title); err != nil {
		return nil, err
	}
	old["name"] = title
	delete(old, "title")
	return old, nil
}

func planThing(ctx context.Context, d *schema.ResourceDiff, _ any) error {
	key := d.Get("name").(string)
	if err := trouble.Wait(ctx, "", "plan", key); err != nil {
		return err
	}
	if err := trouble.Fail(d.Get("fail_on").(string), "plan", key); err != nil {
		return err
	}
	if d.Id() == "" {
		return nil
	}
	if old, now := d.GetChange("generation"); now.(int) < old.(int) {
		if err := d.ForceNew("generation"); err != nil {
			return err
		}
	}
	if !d.HasChanges("name", "size", "tags", "comment", "generation") {
		return nil
	}
	if err := d.SetNewComputed("etag"); err != nil {
		return err
	}
	if d.HasChanges("name", "size") {
		return d.SetNewComputed("value")
	}
	return nil
}

func createThing(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
	key := d.Get("name").(string)
	if err := before(ctx, d, "create"); err != nil {
		return diag.FromErr(err)
	}
	id := "thing-" + cloud.Random(12)
	if os.Getenv(framework.EnvIDs) == "name" {
		id = "thing-" + key
	}
	o, err := object(d, id, meta)
	if err == nil {
		err = cloud.Here().Create(o)
	}
	if err == nil {
		err = trouble.Fail(d.Get("fail_on").(string), "create-lost", key)
	}
	if err != nil {
		return diag.FromErr(err)
	}
	d.SetId(id)
	calls.Note(ctx, "id", id)
	return settle(d, "create")
}

func updateThing(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
	if err := before(ctx, d, "update"); err != nil {
		d.Partial(true)
		return diag.FromErr(err)
	}
	o, err := object(d, d.Id(), meta)
	if err == nil {
		err = cloud.Here().Update(o)
	}
	if err != nil {
		d.Partial(true)
		return diag.FromErr(err)
	}
	return settle(d, "update")
}

// settle sets computed values and values that this SDK cannot keep null. It adds the requested warning, and fails if a
// failure after the point is requested.
func settle(d *schema.ResourceData, point string) diag.Diagnostics {
	rules := d.Get("rule").([]any)
	if configured, _ := d.GetRawConfigAt(cty.GetAttrPath("rule")); configured.IsNull() && len(rules) == 0 {
		rules = []any{map[string]any{"port": 80, "proto": "tcp"}}
	}
	settings := d.Get("settings").([]any)
	for i, s := range settings {
		m, ok := s.(map[string]any)
		if !ok { // the SDK passes nil for an empty block
			m = map[string]any{"mode": "basic"}
		}
		m["hint"] = fmt.Sprintf("hint-%d", i)
		settings[i] = m
	}
	for name, v := range map[string]any{
		"value":    d.Get("name").(string) + "/" + strconv.Itoa(d.Get("size").(int)),
		"comment":  d.Get("comment"),
		"weight":   d.Get("weight"),
		"enabled":  d.Get("enabled"),
		"etag":     cloud.Random(8),
		"rule":     rules,
		"settings": settings,
	} {
		if err := d.Set(name, v); err != nil {
			return diag.FromErr(fmt.Errorf("%s: %w", name, err))
		}
	}
	var diags diag.Diagnostics
	if err := identify(d); err != nil {
		diags = append(diags, diag.FromErr(err)...)
	}
	if text := d.Get("warn").(string); text != "" {
		diags = append(diags, diag.Diagnostic{
			Severity: diag.Warning, Summary: "A warning was asked for", Detail: text, AttributePath: cty.GetAttrPath("warn"),
		})
	}
	if err := trouble.Fail(d.Get("fail_on").(string), point+"-after", d.Get("name").(string)); err != nil {
		diags = append(diags, diag.FromErr(err)...)
	}
	return diags
}

func readThing(ctx context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
	key, _ := d.Get("name").(string)
	err := trouble.Wait(ctx, "", "read", key)
	if err == nil {
		err = trouble.Fail(d.Get("fail_on").(string), "read", key)
	}
	if err == nil {
		err = identify(d)
	}
	if err != nil {
		return diag.FromErr(err)
	}
	c := cloud.Here()
	if c == nil {
		return nil
	}
	o, err := c.Get(kind, d.Id())
	if errors.Is(err, cloud.ErrGone) {
		calls.Note(ctx, "gone", true)
		d.SetId("")
		return nil
	}
	if err != nil {
		return diag.FromErr(err)
	}
	return overlay(d, o)
}

// plain has the attributes that the cloud stores and drift can change.
var plain = []string{"name", "size", "tags", "comment"}

// overlay sets the attributes in plain from the object in the cloud. Attributes that the object does not have are
// unchanged.
func overlay(d *schema.ResourceData, o *cloud.Object) diag.Diagnostics {
	for _, name := range plain {
		data, ok := o.Attributes[name]
		if !ok {
			continue
		}
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			return diag.FromErr(err)
		}
		if n, ok := v.(float64); ok {
			v = int(n)
		}
		if err := d.Set(name, v); err != nil {
			return diag.FromErr(err)
		}
	}
	return nil
}

func deleteThing(ctx context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
	err := before(ctx, d, "delete")
	if err == nil {
		err = cloud.Here().Delete(kind, d.Id())
	}
	if err == nil {
		err = trouble.Fail(d.Get("fail_on").(string), "delete-after", d.Get("name").(string))
	}
	return diag.FromErr(err)
}

func importThing(ctx context.Context, d *schema.ResourceData, meta any) ([]*schema.ResourceData, error) {
	list, err := schema.ImportStatePassthroughWithIdentity("id")(ctx, d, meta)
	if err != nil {
		return nil, err
	}
	calls.Key(ctx, d.Id())
	if err := trouble.Fail("", "import", d.Id()); err != nil {
		return nil, err
	}
	if cloud.Here() == nil {
		return list, d.Set("name", d.Id())
	}
	return list, nil
}

func before(ctx context.Context, d *schema.ResourceData, point string) error {
	key := d.Get("name").(string)
	if err := trouble.Wait(ctx, d.Get("delay").(string), point, key); err != nil {
		return err
	}
	return trouble.Fail(d.Get("fail_on").(string), point, key)
}

func identify(d *schema.ResourceData) error {
	identity, err := d.Identity()
	if err != nil {
		return err
	}
	return identity.Set("id", d.Id())
}

// object returns the stored form of a thing, with a sealed write-only password if one is configured. It leaves out
// attributes with the zero value.
func object(d *schema.ResourceData, id string, meta any) (*cloud.Object, error) {
	o := &cloud.Object{Type: kind, ID: id, Attributes: map[string]json.RawMessage{}, Sealed: map[string]string{}}
	if s, ok := meta.(*session); ok {
		o.By = s.label
	}
	for _, name := range append([]string{"value"}, plain...) {
		v, ok := d.GetOk(name)
		if !ok { // the SDK does not distinguish a zero value from an absent one; absent values let a thing move to the other provider
			continue
		}
		data, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		o.Attributes[name] = data
	}
	secret, diags := d.GetRawConfigAt(cty.GetAttrPath("password_wo"))
	if diags.HasError() {
		return nil, errors.New(diags[0].Summary)
	}
	if secret.Type() == cty.String && secret.IsKnown() && !secret.IsNull() {
		o.Sealed["password_wo"] = cloud.Seal(id+"password_wo", secret.AsString())
	}
	return o, nil
}
