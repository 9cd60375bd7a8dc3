package provider

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
)

// missingBlock hides the difference if an optional block is not configured and the object has one.
func missingBlock(k, old, now string, _ *schema.ResourceData) bool {
	return strings.HasSuffix(k, ".#") && old == "1" && now == "0"
}

// sameBool hides a difference between texts for the same truth value: true and 1, or false, 0 and "".
func sameBool(_, old, now string, _ *schema.ResourceData) bool {
	number := map[string]string{"true": "1", "false": "0", "": "0"}
	if n, ok := number[old]; ok {
		old = n
	}
	if n, ok := number[now]; ok {
		now = n
	}
	return old == now
}

// internalKey hides differences of the keys that the API adds to a map, which begin with int/, and of the size of
// annotations.
func internalKey(k, _, _ string, _ *schema.ResourceData) bool {
	return strings.Contains(k, ".int/") || strings.HasSuffix(k, "annotations.%")
}

func optional(t schema.ValueType) *schema.Schema { return &schema.Schema{Type: t, Optional: true} }

func chosen(t schema.ValueType) *schema.Schema {
	return &schema.Schema{Type: t, Optional: true, Computed: true}
}

// oldReal has arguments like the providers of large clouds.
func oldReal() *schema.Resource {
	t := &oldType{name: "old_real", schema: map[string]*schema.Schema{
		"label": {Type: schema.TypeString, Required: true, ForceNew: true},
		"s":     optional(schema.TypeString),
		"fp":    {Type: schema.TypeString, Computed: true}, // the provider changes fp if s changes
		"root": {Type: schema.TypeList, Optional: true, Computed: true, MaxItems: 1, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
			"size": chosen(schema.TypeInt),
			"kind": {Type: schema.TypeString, Optional: true, Default: "gp2"},
			"enc":  {Type: schema.TypeBool, Optional: true, Computed: true, ForceNew: true},
			"dev":  {Type: schema.TypeString, Computed: true},
		}}},
		"opt": {Type: schema.TypeList, Optional: true, MaxItems: 1, DiffSuppressFunc: missingBlock, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
			"a": optional(schema.TypeString),
			"b": {Type: schema.TypeInt, Optional: true, Default: 1},
		}}},
		"ing": {Type: schema.TypeSet, Optional: true, Computed: true, ConfigMode: schema.SchemaConfigModeAttr, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
			"from": optional(schema.TypeInt),
			"desc": optional(schema.TypeString),
			"cidr": {Type: schema.TypeList, Optional: true, Elem: text()},
			"self": {Type: schema.TypeBool, Optional: true, Default: false},
		}}},
		"acl": {Type: schema.TypeString, Optional: true, Computed: true, ConflictsWith: []string{"grant"}},
		"grant": {Type: schema.TypeSet, Optional: true, Computed: true, ConflictsWith: []string{"acl"}, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
			"who":   optional(schema.TypeString),
			"perms": {Type: schema.TypeSet, Required: true, Elem: text()},
		}}},
		"virtual":     {Type: schema.TypeBool, Optional: true, Default: false}, // the cloud does not store virtual, so Read does not return this argument
		"sb":          {Type: schema.TypeString, Optional: true, DiffSuppressFunc: sameBool},
		"ints":        {Type: schema.TypeList, Optional: true, Elem: &schema.Schema{Type: schema.TypeInt}},
		"mi":          {Type: schema.TypeMap, Optional: true, Elem: &schema.Schema{Type: schema.TypeInt}},
		"mb":          {Type: schema.TypeMap, Optional: true, Elem: &schema.Schema{Type: schema.TypeBool}},
		"ll":          {Type: schema.TypeList, Optional: true, Elem: &schema.Schema{Type: schema.TypeList, Elem: text()}},
		"si":          {Type: schema.TypeSet, Optional: true, Elem: &schema.Schema{Type: schema.TypeInt}},
		"fset":        {Type: schema.TypeSet, Optional: true, Computed: true, ForceNew: true, Elem: text()},
		"secret":      {Type: schema.TypeString, Optional: true, Computed: true, Sensitive: true},
		"sm":          {Type: schema.TypeMap, Optional: true, Sensitive: true, Elem: text()},
		"old":         {Type: schema.TypeString, Optional: true, Deprecated: "use s"},
		"annotations": {Type: schema.TypeMap, Optional: true, Elem: text(), DiffSuppressFunc: internalKey},
		"tags":        {Type: schema.TypeMap, Optional: true, Elem: text()},
		"tags_all":    {Type: schema.TypeMap, Optional: true, Computed: true, Elem: text()},
	}}
	r := t.resource()
	r.Timeouts = &schema.ResourceTimeout{Create: schema.DefaultTimeout(time.Minute), Read: schema.DefaultTimeout(time.Minute)}
	read := t.read
	r.ReadContext = func(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
		//lint:ignore SA1019 providers still use it
		virtual, set := d.GetOkExists("virtual")
		diags := read(ctx, d, meta)
		if d.Id() == "" {
			return diags
		}
		if !set { // no value is stored yet, as after an import
			virtual = false
		}
		diags = append(diags, diag.FromErr(d.Set("virtual", virtual))...)
		return append(diags, diag.FromErr(d.Set("tags", own(d.Get("tags_all"), meta, d.Get("tags"))))...)
	}
	r.CustomizeDiff = func(ctx context.Context, d *schema.ResourceDiff, meta any) error {
		if err := t.plan(ctx, d, meta); err != nil {
			return err
		}
		if d.Id() != "" && d.HasChange("s") {
			if err := d.SetNewComputed("fp"); err != nil {
				return err
			}
		}
		return allTags(d, meta)
	}
	return r
}

// own returns the tags in all that the object has configured, or that differ from the tags of the provider's
// configuration.
func own(all, meta, configured any) map[string]any {
	out := map[string]any{}
	defaults, _ := meta.(map[string]any)
	had, _ := configured.(map[string]any)
	tags, _ := all.(map[string]any)
	for k, v := range tags {
		if _, mine := had[k]; mine || defaults[k] != v {
			out[k] = v
		}
	}
	return out
}

// allTags plans tags_all: the tags of the provider's configuration and of the object, or unknown if the tags of the
// object are not wholly known.
func allTags(d *schema.ResourceDiff, meta any) error {
	if !d.GetRawPlan().GetAttr("tags").IsWhollyKnown() {
		return d.SetNewComputed("tags_all")
	}
	all := map[string]any{}
	defaults, _ := meta.(map[string]any)
	maps.Copy(all, defaults)
	tags, _ := d.Get("tags").(map[string]any)
	maps.Copy(all, tags)
	if len(all) > 0 {
		return d.SetNew("tags_all", all)
	}
	if old, _ := d.GetChange("tags_all"); len(old.(map[string]any)) > 0 {
		return d.SetNew("tags_all", all)
	}
	if d.HasChange("tags_all") {
		return d.SetNewComputed("tags_all")
	}
	return nil
}

// block1 returns the schema of a block with the attributes in, which occurs at most once, or exactly once if required
// is true.
func block1(required bool, in map[string]*schema.Schema) *schema.Schema {
	return &schema.Schema{Type: schema.TypeList, Required: required, Optional: !required, MaxItems: 1, Elem: &schema.Resource{Schema: in}}
}

// oldDeep has deep blocks, like Kubernetes objects.
func oldDeep() *schema.Resource {
	limits := block1(false, map[string]*schema.Schema{"limits": {Type: schema.TypeMap, Optional: true, Computed: true, Elem: text()}, "cpu": chosen(schema.TypeString)})
	limits.Computed = true
	selector := block1(false, map[string]*schema.Schema{"match": {Type: schema.TypeMap, Optional: true, ForceNew: true, Elem: text()}})
	selector.Computed, selector.ForceNew = true, true
	t := &oldType{name: "old_deep", schema: map[string]*schema.Schema{
		"metadata": block1(true, map[string]*schema.Schema{
			"name":        {Type: schema.TypeString, Optional: true, Computed: true, ForceNew: true},
			"labels":      {Type: schema.TypeMap, Optional: true, Elem: text()},
			"annotations": {Type: schema.TypeMap, Optional: true, Elem: text(), DiffSuppressFunc: internalKey},
			"uid":         {Type: schema.TypeString, Computed: true},
			"generation":  {Type: schema.TypeInt, Computed: true},
		}),
		"spec": block1(false, map[string]*schema.Schema{
			"replicas": {Type: schema.TypeString, Optional: true, Computed: true, DiffSuppressFunc: func(_, old, now string, _ *schema.ResourceData) bool { return now == "" }},
			"selector": selector,
			"template": block1(false, map[string]*schema.Schema{
				"container": {Type: schema.TypeList, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
					"image":     optional(schema.TypeString),
					"pull":      chosen(schema.TypeString),
					"args":      {Type: schema.TypeList, Optional: true, Elem: text()},
					"env":       {Type: schema.TypeList, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{"name": {Type: schema.TypeString, Required: true}, "value": optional(schema.TypeString)}}},
					"resources": limits,
				}}},
				"volume": {Type: schema.TypeSet, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{"name": optional(schema.TypeString), "mode": {Type: schema.TypeString, Optional: true, Default: "0644"}, "id": {Type: schema.TypeString, Computed: true}}}},
			}),
		}),
		"data": {Type: schema.TypeMap, Optional: true, Sensitive: true, Elem: text()},
		"wait": {Type: schema.TypeBool, Optional: true, Default: true},
	}}
	return t.resource()
}

// oldStrict is a resource whose answers the SDK checks by the contract of the protocol.
func oldStrict() *schema.Resource {
	t := &oldType{name: "old_strict", schema: map[string]*schema.Schema{
		"s": optional(schema.TypeString), "n": optional(schema.TypeInt),
		"c": chosen(schema.TypeString), "ro": {Type: schema.TypeString, Computed: true},
		"m":     {Type: schema.TypeMap, Optional: true, Elem: text()},
		"force": {Type: schema.TypeString, Optional: true, ForceNew: true},
		"bang":  {Type: schema.TypeString, Optional: true, StateFunc: bang},
		"d":     {Type: schema.TypeString, Optional: true, Computed: true},
		"lb": {Type: schema.TypeList, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
			"k": optional(schema.TypeString), "c": {Type: schema.TypeString, Computed: true},
		}}},
	}}
	r := t.resource()
	r.EnableLegacyTypeSystemApplyErrors, r.EnableLegacyTypeSystemPlanErrors = true, true
	return r
}

// oldChanged has three schemas, of which SDK_SCHEMA selects one. All have the same schema version, like releases of a
// provider that changes a schema without a new version.
func oldChanged() *schema.Resource {
	in := map[string]*schema.Schema{"k": optional(schema.TypeString)}
	s := map[string]*schema.Schema{
		"s":  optional(schema.TypeString),
		"lb": {Type: schema.TypeList, Optional: true, Elem: &schema.Resource{Schema: in}},
	}
	switch schemaVersion() {
	case 0:
		s["gone"] = optional(schema.TypeString)
		in["x"] = optional(schema.TypeString)
	case 1:
		s["sets"] = &schema.Schema{Type: schema.TypeSet, Optional: true, Elem: text()}
	default:
		in["y"] = chosen(schema.TypeString)
		s["more"] = &schema.Schema{Type: schema.TypeString, Optional: true, Default: "more"}
		s["morec"] = chosen(schema.TypeString)
		s["moreb"] = &schema.Schema{Type: schema.TypeList, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{"k": optional(schema.TypeString)}}}
	}
	t := &oldType{name: "old_changed", schema: s}
	t.adjust = func(a map[string]any) { // removes attributes that this release of the schema does not have
		if l, ok := a["lb"].([]any); ok {
			for _, e := range l {
				if m, ok := e.(map[string]any); ok {
					maps.DeleteFunc(m, func(k string, _ any) bool { return in[k] == nil })
				}
			}
		}
	}
	return t.resource()
}

// oldRenamed writes an ID in one form, and reads it in another.
func oldRenamed() *schema.Resource {
	t := &oldType{name: "old_renamed", schema: map[string]*schema.Schema{
		"s": optional(schema.TypeString), "force": {Type: schema.TypeString, Optional: true, ForceNew: true}, "c": chosen(schema.TypeString),
	}}
	r := t.resource()
	const prefix = "/x/"
	wrap := func(f func(context.Context, *schema.ResourceData, any) diag.Diagnostics, writes bool) func(context.Context, *schema.ResourceData, any) diag.Diagnostics {
		return func(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
			d.SetId(strings.TrimPrefix(d.Id(), prefix))
			diags := f(ctx, d, meta)
			if writes && d.Id() != "" {
				d.SetId(prefix + d.Id())
			}
			return diags
		}
	}
	r.CreateContext, r.ReadContext = wrap(t.create, true), wrap(t.read, false)
	r.UpdateContext, r.DeleteContext = wrap(t.update, true), wrap(t.delete, false)
	return r
}

// oldSet has sets whose elements change while they are planned, are computed in part, or have functions.
func oldSet() *schema.Resource {
	el := func(m map[string]*schema.Schema) *schema.Resource { return &schema.Resource{Schema: m} }
	normal := func(v any) string {
		var x any
		if json.Unmarshal([]byte(v.(string)), &x) != nil {
			return strings.TrimSpace(v.(string))
		}
		return compactJSON(v)
	}
	t := &oldType{name: "old_set", schema: map[string]*schema.Schema{
		"s":  optional(schema.TypeString),
		"sf": {Type: schema.TypeSet, Optional: true, Elem: el(map[string]*schema.Schema{"k": optional(schema.TypeString), "up": {Type: schema.TypeString, Optional: true, StateFunc: upper}})},
		"sd": {Type: schema.TypeSet, Optional: true, Elem: el(map[string]*schema.Schema{"k": optional(schema.TypeString), "ci": {Type: schema.TypeString, Optional: true, DiffSuppressFunc: sameFold}})},
		"sj": {Type: schema.TypeSet, Optional: true, Elem: &schema.Schema{Type: schema.TypeString, StateFunc: normal}},
		"sc": {Type: schema.TypeSet, Optional: true, Computed: true, Elem: el(map[string]*schema.Schema{"k": optional(schema.TypeString), "oc": chosen(schema.TypeString), "ro": {Type: schema.TypeString, Computed: true}})},
		"sl": {Type: schema.TypeSet, Optional: true, Elem: el(map[string]*schema.Schema{
			"k":  optional(schema.TypeString),
			"in": {Type: schema.TypeList, Optional: true, MaxItems: 1, Elem: el(map[string]*schema.Schema{"v": optional(schema.TypeString), "c": chosen(schema.TypeString), "secret": {Type: schema.TypeString, Optional: true, Sensitive: true}})},
			"ss": {Type: schema.TypeSet, Optional: true, Elem: text()},
		})},
		"sh": {Type: schema.TypeSet, Optional: true, Set: keyHash, Elem: el(map[string]*schema.Schema{"k": optional(schema.TypeString), "v": optional(schema.TypeString), "c": {Type: schema.TypeString, Computed: true}})},
		"sr": {Type: schema.TypeSet, Optional: true, MinItems: 0, Elem: el(map[string]*schema.Schema{"k": {Type: schema.TypeString, Required: true, ForceNew: true}, "v": optional(schema.TypeString)})},
	}}
	return t.resource()
}
