package sdkv2

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"

	"github.com/lethe-iac/lethe/test/providers/calls"
	"github.com/lethe-iac/lethe/test/providers/cloud"
)

// A role is one combination of the properties of an attribute besides its type. The names of attributes are derived
// from it: opt_sensitive_wo_string.
type role struct {
	name string
	schema.Schema
}

// roles returns all combinations that this SDK accepts, with one of the given presences. Without presences, it returns
// all.
func roles(presences ...string) []role {
	var out []role
	for _, presence := range []role{
		{"opt", schema.Schema{Optional: true}},
		{"comp", schema.Schema{Computed: true}},
		{"both", schema.Schema{Optional: true, Computed: true}},
		{"preset", schema.Schema{Optional: true}},
	} {
		if len(presences) > 0 && !slices.Contains(presences, presence.name) {
			continue
		}
		for _, more := range []string{"", "_sensitive", "_wo", "_sensitive_wo"} {
			r := presence
			r.name += more
			r.Sensitive, r.WriteOnly = strings.Contains(more, "sensitive"), strings.Contains(more, "wo")
			if !r.WriteOnly || presence.name == "opt" { // a write-only attribute is neither computed nor preset
				out = append(out, r)
			}
		}
	}
	return out
}

// leaves returns attributes of these roles in every type without attributes.
func leaves(of []role) map[string]*schema.Schema {
	out := map[string]*schema.Schema{}
	for _, r := range of {
		text := &schema.Schema{Type: schema.TypeString}
		for kind, s := range map[string]schema.Schema{
			"string": {Type: schema.TypeString, Default: "preset"},
			"int":    {Type: schema.TypeInt, Default: 7},
			"float":  {Type: schema.TypeFloat, Default: 1.5},
			"bool":   {Type: schema.TypeBool, Default: true},
			"list":   {Type: schema.TypeList, Elem: text},
			"set":    {Type: schema.TypeSet, Elem: text},
			"map":    {Type: schema.TypeMap, Elem: text},
		} {
			preset := strings.HasPrefix(r.name, "preset")
			if preset && s.Default == nil || r.WriteOnly && (kind == "set" || kind == "map" || kind == "list") {
				continue
			}
			if !preset {
				s.Default = nil
			}
			s.Optional, s.Computed, s.Sensitive, s.WriteOnly = r.Optional, r.Computed, r.Sensitive, r.WriteOnly
			out[r.name+"_"+kind] = &s
		}
	}
	return out
}

// nests returns blocks of every nesting down to the depth, and lists of objects as attributes. It omits sets of
// optional and computed objects, because this SDK plans them anew each time.
func nests(depth int) map[string]*schema.Schema {
	if depth == 0 {
		return nil
	}
	elem := func(of []role, deeper bool) *schema.Resource {
		attrs := leaves(of)
		if deeper {
			for name, s := range nests(depth - 1) {
				attrs[name] = s
			}
		}
		return &schema.Resource{Schema: attrs}
	}
	// The content of a set element is its identity, so it has no computed or write-only attributes.
	inSet := slices.DeleteFunc(roles("opt", "preset"), func(r role) bool { return r.WriteOnly })
	configured := slices.DeleteFunc(roles("opt"), func(r role) bool { return r.WriteOnly })
	out := map[string]*schema.Schema{
		"block_one":  {Type: schema.TypeList, Optional: true, MaxItems: 1, Elem: elem(roles(), true)},
		"block_many": {Type: schema.TypeList, Optional: true, Elem: elem(roles(), true)},
		"block_any":  {Type: schema.TypeSet, Optional: true, Elem: elem(inSet, false)},
		"block_comp": {Type: schema.TypeList, Computed: true, Elem: elem(roles("comp"), false)},
		"both_attr":  {Type: schema.TypeList, Optional: true, Computed: true, ConfigMode: schema.SchemaConfigModeAttr, Elem: elem(configured, false)},
	}
	secret := *out["both_attr"]
	secret.Sensitive = true
	out["both_sensitive_attr"] = &secret
	return out
}

// matrix has every combination of roles, types and nestings that this SDK accepts.
func matrix() *schema.Resource {
	attrs := leaves(roles())
	for name, s := range nests(2) {
		attrs[name] = s
	}
	attrs["name"] = &schema.Schema{Type: schema.TypeString, Required: true}
	attrs["frozen"] = &schema.Schema{Type: schema.TypeString, Optional: true, ForceNew: true}
	return &schema.Resource{
		Description:   "Every combination of what attributes and blocks can be.",
		CreateContext: putMatrix,
		ReadContext:   readMatrix,
		UpdateContext: putMatrix,
		DeleteContext: func(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
			return diag.FromErr(cloud.Here().Delete("playground5_matrix", d.Id()))
		},
		Importer: &schema.ResourceImporter{StateContext: schema.ImportStatePassthroughContext},
		Schema:   attrs,
	}
}

// putMatrix creates or updates an object: it sets computed values and stores everything except write-only attributes in
// the cloud.
func putMatrix(ctx context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
	name := d.Get("name").(string)
	calls.Key(ctx, name)
	o := &cloud.Object{Type: "playground5_matrix", ID: "matrix-" + name, Attributes: map[string]json.RawMessage{}}
	for name, s := range matrix().Schema {
		if s.WriteOnly {
			continue
		}
		v := computed(s, plainValue(d.Get(name)))
		if s.Computed || s.Elem != nil {
			if err := d.Set(name, v); err != nil {
				return diag.FromErr(err)
			}
		}
		data, err := json.Marshal(v)
		if err != nil {
			return diag.FromErr(err)
		}
		o.Attributes[name] = data
	}
	put := cloud.Here().Update
	if d.Id() == "" {
		put = cloud.Here().Create
	}
	d.SetId(o.ID)
	return diag.FromErr(put(o))
}

// readMatrix sets the attributes of an imported object from the cloud. It does not change an object that has a name,
// and removes an object that is missing in the cloud from the state.
func readMatrix(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
	o, err := cloud.Here().Get("playground5_matrix", d.Id())
	if errors.Is(err, cloud.ErrGone) {
		d.SetId("")
		return nil
	}
	if err != nil || d.Get("name") != "" {
		return diag.FromErr(err)
	}
	for name, data := range o.Attributes {
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			return diag.FromErr(err)
		}
		if err := d.Set(name, v); err != nil {
			return diag.FromErr(err)
		}
	}
	return nil
}

// plainValue returns a value of this SDK in JSON form.
func plainValue(v any) any {
	switch v := v.(type) {
	case *schema.Set:
		return plainValue(v.List())
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plainValue(e)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = plainValue(e)
		}
		return out
	}
	return v
}

// computed returns a value with computed strings filled in, also in blocks, and without write-only attributes. A list
// of blocks that is only computed gets one block if it is empty. It changes lists in place.
func computed(s *schema.Schema, v any) any {
	if r, ok := s.Elem.(*schema.Resource); ok {
		list := v.([]any)
		if s.Computed && !s.Optional && len(list) == 0 {
			list = []any{nil}
		}
		for i, e := range list {
			object, ok := e.(map[string]any)
			if !ok { // the SDK passes nil for an empty block
				object = map[string]any{}
			}
			for name, in := range r.Schema {
				switch {
				case in.WriteOnly:
					delete(object, name)
				case object[name] != nil:
					object[name] = computed(in, object[name])
				case in.Computed && in.Elem == nil && in.Type == schema.TypeString:
					object[name] = "computed"
				}
			}
			list[i] = object
		}
		return list
	}
	if s.Computed && v == "" {
		return "computed"
	}
	return v
}
