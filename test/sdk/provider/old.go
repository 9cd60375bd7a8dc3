// Package provider has two providers in one program: "old" is made with terraform-plugin-sdk, "fw" with
// terraform-plugin-framework. They have the habits of real providers. The directory named by SDK_CLOUD holds their
// objects, and SDK_LOG names a file that gets one line for each call.
package provider

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
)

// Old returns a server of the provider "old", which logs its calls.
func Old() tfprotov5.ProviderServer {
	p := &schema.Provider{
		ResourcesMap: map[string]*schema.Resource{
			"old_plain": oldResource("old_plain", oldPlain()),
			"old_func":  oldResource("old_func", oldFunc()),
			"old_block": oldResource("old_block", oldBlock()),
			"old_cd":    oldCustom(),
			"old_norm":  oldNorm(),
			"old_up":    oldUp(),
			"old_wo":    oldResource("old_wo", oldWriteOnly()),
			"old_id":    oldIdentified(),
			"old_real":  oldReal(), "old_deep": oldDeep(), "old_strict": oldStrict(), "old_changed": oldChanged(),
			"old_renamed": oldRenamed(), "old_set": oldSet(),
		},
		DataSourcesMap: map[string]*schema.Resource{"old_data": oldData()},
		Schema:         map[string]*schema.Schema{"tags": {Type: schema.TypeMap, Optional: true, Elem: text()}},
		ConfigureContextFunc: func(_ context.Context, d *schema.ResourceData) (any, diag.Diagnostics) {
			return d.Get("tags"), nil
		},
	}
	return server5{p.GRPCProvider()}
}

// An oldType is the generic implementation of a type: the cloud stores the whole object.
type oldType struct {
	name   string
	schema map[string]*schema.Schema
	adjust func(attrs map[string]any) // changes the stored values that Read returns; nil for no change
}

func oldResource(name string, s map[string]*schema.Schema) *schema.Resource {
	return (&oldType{name: name, schema: s}).resource()
}

func (t *oldType) resource() *schema.Resource {
	if t.schema["name"] == nil {
		t.schema["name"] = &schema.Schema{Type: schema.TypeString, Required: true}
	}
	return &schema.Resource{
		Schema:        t.schema,
		CreateContext: t.create,
		ReadContext:   t.read,
		UpdateContext: t.update,
		DeleteContext: t.delete,
		CustomizeDiff: t.plan,
		Importer:      &schema.ResourceImporter{StateContext: t.load},
	}
}

func (t *oldType) plan(_ context.Context, d *schema.ResourceDiff, _ any) error {
	name, _ := d.Get("name").(string)
	return failed(name, "plan")
}

func (t *oldType) create(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
	name := d.Get("name").(string)
	if fault(name, "create-nothing") {
		return nil // the fault: Create returns without an ID
	}
	if err := failed(name, "create"); err != nil {
		return diag.FromErr(err)
	}
	id, err := nextID(name)
	if err != nil {
		return diag.FromErr(err)
	}
	d.SetId(id)
	if fault(name, "create-partial") { // the object is created, but Create returns only its name and an error
		return append(diag.FromErr(save(id, &Object{Type: t.name, Rev: 1, Attrs: map[string]any{"name": name}})), diag.Errorf("the creation of %q ends early, as asked", name)...)
	}
	return t.write(d, name, 1, "create-after")
}

// write sets the computed attributes and stores the object. rev is the number of writes. The parameter after is the
// name of a fault: if this fault is requested, write fails after it has stored the object.
func (t *oldType) write(d *schema.ResourceData, name string, rev int, after string) diag.Diagnostics {
	for attr, s := range t.schema {
		if !s.Computed || s.WriteOnly {
			continue
		}
		v, known := d.GetOk(attr)
		if known && s.Optional {
			if r, ok := s.Elem.(*schema.Resource); !ok || !hasComputed(r) {
				continue
			}
		}
		chosen := oldComputed(s, plain(v), name, rev)
		if s.Type == schema.TypeSet && hasZero(chosen) {
			continue // the SDK panics for a set with an empty element
		}
		if err := d.Set(attr, chosen); err != nil {
			return diag.FromErr(fmt.Errorf("%s: %w", attr, err))
		}
	}
	for attr, s := range t.schema { // nested blocks with computed attributes get chosen values, too
		if r, ok := s.Elem.(*schema.Resource); ok && !s.Computed && hasComputed(r) {
			chosen := oldComputed(s, plain(d.Get(attr)), name, rev)
			if s.Type == schema.TypeSet && hasZero(chosen) {
				continue
			}
			if err := d.Set(attr, chosen); err != nil {
				return diag.FromErr(fmt.Errorf("%s: %w", attr, err))
			}
		}
	}
	o := &Object{Type: t.name, Rev: rev, Attrs: map[string]any{}}
	for attr, s := range t.schema {
		if attr != "timeouts" && !s.WriteOnly {
			o.Attrs[attr] = plain(d.Get(attr))
		}
	}
	if err := save(d.Id(), o); err != nil {
		return diag.FromErr(err)
	}
	if err := failed(name, after); err != nil {
		return diag.FromErr(err)
	}
	return nil
}

// hasObjects reports whether the elements of an attribute are objects.
func hasObjects(s *schema.Schema) bool {
	_, ok := s.Elem.(*schema.Resource)
	return ok
}

// hasZero reports whether a list has an element without content.
func hasZero(list any) bool {
	all, _ := list.([]any)
	return slices.ContainsFunc(all, isZero)
}

// isZero reports whether a value is nil, the zero value of its type, or contains only such values.
func isZero(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if !isZero(e) {
				return false
			}
		}
		return true
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !isZero(e) })
	}
	return v == nil || reflect.ValueOf(v).IsZero()
}

// hasComputed reports whether a block has a computed attribute, at any depth.
func hasComputed(r *schema.Resource) bool {
	for _, s := range r.Schema {
		if in, ok := s.Elem.(*schema.Resource); s.Computed || ok && hasComputed(in) {
			return true
		}
	}
	return false
}

// oldComputed returns the value that the cloud chooses for a computed attribute. v is the present value, name the name
// of the object, and rev the number of writes. In a list of blocks it keeps configured attributes, and removes
// write-only ones.
func oldComputed(s *schema.Schema, v any, name string, rev int) any {
	if r, ok := s.Elem.(*schema.Resource); ok {
		list, _ := v.([]any)
		if s.Computed && len(list) == 0 {
			list = []any{map[string]any{}}
		}
		for i, e := range list {
			m, ok := e.(map[string]any)
			if !ok {
				m = map[string]any{}
			}
			for attr, in := range r.Schema {
				if in.WriteOnly {
					delete(m, attr)
				} else if in.Computed && in.Type == schema.TypeString && (m[attr] == nil || m[attr] == "") {
					m[attr] = "chosen"
				} else if in.Computed && in.Type == schema.TypeInt && !in.Optional {
					m[attr] = rev
				} else if deep, ok := in.Elem.(*schema.Resource); ok && hasComputed(deep) {
					m[attr] = oldComputed(in, m[attr], name, rev)
				}
			}
			list[i] = m
		}
		return list
	}
	switch s.Type {
	case schema.TypeString:
		if s.Optional {
			return "chosen"
		}
		return fmt.Sprintf("%s/%d", name, rev)
	case schema.TypeInt:
		return rev
	case schema.TypeMap:
		return v
	}
	return v
}

func (t *oldType) read(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
	name, _ := d.Get("name").(string)
	if name == "" {
		name, _, _ = strings.Cut(d.Id(), "-")
	}
	if err := failed(name, "read"); err != nil {
		return diag.FromErr(err)
	}
	o, err := load(d.Id())
	if errors.Is(err, errGone) {
		d.SetId("")
		return nil
	}
	if err != nil {
		return diag.FromErr(err)
	}
	if t.adjust != nil {
		t.adjust(o.Attrs)
	}
	for attr, v := range o.Attrs {
		if s := t.schema[attr]; s == nil || s.Type == schema.TypeSet && hasObjects(s) && hasZero(v) {
			continue
		}
		if err := d.Set(attr, v); err != nil {
			return diag.FromErr(fmt.Errorf("%s: %w", attr, err))
		}
	}
	return nil
}

func (t *oldType) update(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
	name := d.Get("name").(string)
	if err := failed(name, "update"); err != nil {
		d.Partial(true)
		return diag.FromErr(err)
	}
	if err := failed(name, "update-dirty"); err != nil {
		return diag.FromErr(err) // the fault: without d.Partial(true) the SDK stores values that the cloud does not have
	}
	if fault(name, "update-gone") {
		d.SetId("")
		return nil
	}
	rev := 1
	o, err := load(d.Id())
	if err == nil {
		rev = o.Rev + 1
	} else if !errors.Is(err, errGone) {
		return diag.FromErr(err)
	}
	return t.write(d, name, rev, "update-after")
}

func (t *oldType) delete(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
	name := d.Get("name").(string)
	if err := failed(name, "delete"); err != nil {
		return diag.FromErr(err)
	}
	if err := remove(d.Id()); err != nil {
		return diag.FromErr(err)
	}
	if err := failed(name, "delete-after"); err != nil {
		return diag.FromErr(err)
	}
	return nil
}

// load imports objects. The end of an ID may request a habit: after "-none" it returns nothing, and after "-error" it
// fails. For IDs that are separated by commas it returns several objects.
func (t *oldType) load(_ context.Context, d *schema.ResourceData, _ any) ([]*schema.ResourceData, error) {
	if strings.HasSuffix(d.Id(), "-none") {
		return nil, nil
	}
	if strings.HasSuffix(d.Id(), "-error") {
		return nil, fmt.Errorf("the import of %q fails, as asked", d.Id())
	}
	ids := strings.Split(d.Id(), ",")
	d.SetId(ids[0])
	all := []*schema.ResourceData{d}
	for _, id := range ids[1:] {
		more := t.resource().Data(nil)
		more.SetId(id)
		more.SetType(t.name)
		all = append(all, more)
	}
	return all, nil
}

// plain returns a value of the SDK in JSON form.
func plain(v any) any {
	switch v := v.(type) {
	case *schema.Set:
		return plain(v.List())
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plain(e)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = plain(e)
		}
		return out
	}
	return v
}

func oldData() *schema.Resource {
	return &schema.Resource{
		Schema: map[string]*schema.Schema{
			"name":  {Type: schema.TypeString, Required: true},
			"query": {Type: schema.TypeString, Optional: true},
			"list":  {Type: schema.TypeList, Computed: true, Elem: text()},
			"found": {Type: schema.TypeString, Computed: true},
			"filter": {Type: schema.TypeSet, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
				"key":    {Type: schema.TypeString, Required: true},
				"values": {Type: schema.TypeList, Optional: true, Elem: text()},
			}}},
		},
		ReadContext: func(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
			name := d.Get("name").(string)
			if err := failed(name, "data"); err != nil {
				return diag.FromErr(err)
			}
			d.SetId("data-" + name)
			if err := d.Set("list", []any{name, d.Get("query")}); err != nil {
				return diag.FromErr(err)
			}
			return diag.FromErr(d.Set("found", "found "+d.Get("query").(string)))
		},
	}
}

func text() *schema.Schema { return &schema.Schema{Type: schema.TypeString} }

// identified returns a function that calls f and then sets the identity of the object, if the object still exists.
func identified[F ~func(context.Context, *schema.ResourceData, any) diag.Diagnostics](f F) F {
	return func(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
		diags := f(ctx, d, meta)
		if d.Id() == "" {
			return diags
		}
		identity, err := d.Identity()
		if err != nil {
			return append(diags, diag.FromErr(err)...)
		}
		return append(diags, diag.FromErr(identity.Set("id", d.Id()))...)
	}
}
