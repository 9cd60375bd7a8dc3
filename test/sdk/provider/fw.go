package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	dschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	pschema "github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Framework returns a server of the provider "fw", which logs its calls.
func Framework() tfprotov6.ProviderServer {
	return server6{providerserver.NewProtocol6(fw{})()}
}

type fw struct{}

func (fw) Metadata(_ context.Context, _ provider.MetadataRequest, a *provider.MetadataResponse) {
	a.TypeName = "fw"
}
func (fw) Schema(_ context.Context, _ provider.SchemaRequest, a *provider.SchemaResponse) {
	a.Schema = pschema.Schema{Attributes: map[string]pschema.Attribute{"tags": pschema.MapAttribute{Optional: true, ElementType: types.StringType}}}
}

func (fw) Configure(ctx context.Context, q provider.ConfigureRequest, a *provider.ConfigureResponse) {
	var tags types.Map
	a.Diagnostics.Append(q.Config.GetAttribute(ctx, path.Root("tags"), &tags)...)
	if !tags.IsNull() && !tags.IsUnknown() {
		a.Diagnostics.Append(tags.ElementsAs(ctx, &fwTags, false)...)
	}
}
func (fw) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{func() datasource.DataSource { return fwData{} }}
}

func (fw) Resources(context.Context) []func() resource.Resource {
	var all []func() resource.Resource
	for name, s := range map[string]func() schema.Schema{"plain": fwPlain, "nest": fwNest, "norm": fwNorm} {
		all = append(all, func() resource.Resource { return &fwType{name: name, schema: s} })
	}
	return append(append(all, moreTypes()...),
		func() resource.Resource { return &fwModified{fwType{name: "mod", schema: fwMod}} },
		func() resource.Resource { return &fwType{name: "wo", schema: fwWriteOnly} },
		func() resource.Resource { return &fwPrivate{fwType{name: "priv", schema: fwPriv}} },
		func() resource.Resource { return &fwUpgraded{fwType{name: "up", schema: fwUp}} },
		func() resource.Resource { return &fwIdentified{fwType{name: "id", schema: fwID}} },
		func() resource.Resource { return &fwMoved{fwType{name: "moved", schema: fwMovedSchema}} },
	)
}

// A fwType is the generic implementation of a type: the cloud stores the whole object.
type fwType struct {
	name   string
	schema func() schema.Schema
}

func (t *fwType) Metadata(_ context.Context, _ resource.MetadataRequest, a *resource.MetadataResponse) {
	a.TypeName = "fw_" + t.name
}

func (t *fwType) Schema(_ context.Context, _ resource.SchemaRequest, a *resource.SchemaResponse) {
	a.Schema = t.schema()
	a.Schema.Attributes["name"] = schema.StringAttribute{Required: true}
	a.Schema.Attributes["id"] = schema.StringAttribute{Computed: true, PlanModifiers: keepString()}
}

// attributes returns the attributes of an object, or an empty map if it is null or unknown.
func attributes(v tftypes.Value) map[string]tftypes.Value {
	m := map[string]tftypes.Value{}
	if v.IsKnown() && !v.IsNull() {
		_ = v.As(&m)
	}
	return m
}

// stringOf returns the text of a value of type string, or "" for any other value.
func stringOf(v tftypes.Value) string {
	var s string
	if v.Type() != nil && v.IsKnown() && !v.IsNull() && v.Type().Is(tftypes.String) {
		_ = v.As(&s)
	}
	return s
}

// filled returns a value with the values that the cloud chooses in place of unknown ones. They depend on the name and
// on rev, the number of writes.
func filled(v tftypes.Value, id, name string, rev int) (tftypes.Value, error) {
	return tftypes.Transform(v, func(p *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if v.IsKnown() {
			return v, nil
		}
		t := v.Type()
		switch {
		case p.Equal(tftypes.NewAttributePath().WithAttributeName("id")):
			return tftypes.NewValue(t, id), nil
		case t.Is(tftypes.String), t.Is(tftypes.DynamicPseudoType):
			return tftypes.NewValue(tftypes.String, fmt.Sprintf("%s/%d", name, rev)), nil
		case t.Is(tftypes.Number):
			return tftypes.NewValue(t, rev), nil
		case t.Is(tftypes.Bool):
			return tftypes.NewValue(t, true), nil
		case t.Is(tftypes.List{}), t.Is(tftypes.Set{}):
			return tftypes.NewValue(t, []tftypes.Value{}), nil
		case t.Is(tftypes.Map{}):
			return tftypes.NewValue(t, map[string]tftypes.Value{}), nil
		case t.Is(tftypes.Object{}):
			m := map[string]tftypes.Value{}
			for k, e := range t.(tftypes.Object).AttributeTypes {
				m[k] = tftypes.NewValue(e, nil)
			}
			return tftypes.NewValue(t, m), nil
		}
		return v, nil
	})
}

// store writes an object of type typ to the cloud. rev is the number of writes.
func (t *fwType) store(v tftypes.Value, typ tftypes.Type, rev int) error {
	m := attributes(v)
	o := &Object{Type: "fw_" + t.name, Rev: rev, Attrs: map[string]any{}}
	for k, e := range m {
		if k != "id" {
			o.Attrs[k] = toJSON(e, typ.(tftypes.Object).AttributeTypes[k])
		}
	}
	return save(stringOf(m["id"]), o)
}

// toJSON returns a known value of type t in the form that tftypes.ValueFromJSON expects.
func toJSON(v tftypes.Value, t tftypes.Type) any {
	if t.Is(tftypes.DynamicPseudoType) && !v.IsNull() {
		return map[string]any{"type": v.Type(), "value": toJSON(v, v.Type())}
	}
	switch {
	case v.IsNull():
		return nil
	case t.Is(tftypes.String):
		return stringOf(v)
	case t.Is(tftypes.Number):
		n := new(big.Float)
		_ = v.As(&n)
		return json.Number(n.Text('f', -1))
	case t.Is(tftypes.Bool):
		var b bool
		_ = v.As(&b)
		return b
	case t.Is(tftypes.List{}), t.Is(tftypes.Set{}), t.Is(tftypes.Tuple{}):
		var l []tftypes.Value
		_ = v.As(&l)
		out := []any{}
		for _, e := range l {
			out = append(out, toJSON(e, e.Type()))
		}
		return out
	}
	out := map[string]any{}
	for k, e := range attributes(v) {
		at := e.Type()
		if o, ok := t.(tftypes.Object); ok && o.AttributeTypes[k] != nil {
			at = o.AttributeTypes[k]
		}
		out[k] = toJSON(e, at)
	}
	return out
}

func (t *fwType) Create(ctx context.Context, q resource.CreateRequest, a *resource.CreateResponse) {
	name := stringOf(attributes(q.Plan.Raw)["name"])
	if fault(name, "create-nothing") {
		return
	}
	if err := failed(name, "create"); err != nil {
		a.Diagnostics.AddError("Create failed", err.Error())
		return
	}
	id, err := nextID(name)
	if err == nil {
		a.State.Raw, err = filled(q.Plan.Raw, id, name, 1)
	}
	if err == nil && fault(name, "create-partial") {
		err = errors.Join(t.store(a.State.Raw, q.Plan.Schema.Type().TerraformType(ctx), 1), failed(name, "create-partial"))
		a.State.Raw = partly(withID(q.Plan.Raw, id))
	}
	if err == nil {
		err = t.store(a.State.Raw, q.Plan.Schema.Type().TerraformType(ctx), 1)
	}
	if err == nil {
		err = failed(name, "create-after")
	}
	if err != nil {
		a.Diagnostics.AddError("Create failed", err.Error())
	}
}

func (t *fwType) Read(ctx context.Context, q resource.ReadRequest, a *resource.ReadResponse) {
	m := attributes(q.State.Raw)
	id := stringOf(m["id"])
	name, _, _ := strings.Cut(id, "-")
	if err := failed(name, "read"); err != nil {
		a.Diagnostics.AddError("Read failed", err.Error())
		return
	}
	o, err := load(id)
	if errors.Is(err, errGone) {
		a.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		a.Diagnostics.AddError("Read failed", err.Error())
		return
	}
	typ := q.State.Schema.Type().TerraformType(ctx).(tftypes.Object)
	for k, at := range typ.AttributeTypes {
		v, ok := o.Attrs[k]
		if !ok {
			continue
		}
		if m[k], err = valueOf(v, at); err != nil {
			a.Diagnostics.AddError("Read failed", k+": "+err.Error())
			return
		}
	}
	a.State.Raw = tftypes.NewValue(typ, m)
}

func (t *fwType) Update(ctx context.Context, q resource.UpdateRequest, a *resource.UpdateResponse) {
	m := attributes(q.Plan.Raw)
	name := stringOf(m["name"])
	if err := failed(name, "update"); err != nil {
		a.Diagnostics.AddError("Update failed", err.Error())
		return
	}
	if fault(name, "update-gone") {
		a.State.RemoveResource(ctx)
		return
	}
	id := stringOf(attributes(q.State.Raw)["id"])
	rev := 1
	if o, err := load(id); err == nil {
		rev = o.Rev + 1
	}
	v, err := filled(q.Plan.Raw, id, name, rev)
	if err == nil {
		a.State.Raw = v
		err = failed(name, "update-dirty")
		if fault(name, "update-partial") { // only half of the attributes get their new values
			a.State.Raw, err = half(q.State.Raw, v), failed(name, "update-partial")
		}
	}
	if err == nil {
		err = t.store(v, q.Plan.Schema.Type().TerraformType(ctx), rev)
	}
	if err == nil {
		err = failed(name, "update-after")
	}
	if err != nil {
		a.Diagnostics.AddError("Update failed", err.Error())
	}
}

func (t *fwType) Delete(_ context.Context, q resource.DeleteRequest, a *resource.DeleteResponse) {
	m := attributes(q.State.Raw)
	name := stringOf(m["name"])
	err := failed(name, "delete")
	if err == nil {
		err = remove(stringOf(m["id"]))
	}
	if err == nil {
		err = failed(name, "delete-after")
	}
	if err != nil {
		a.Diagnostics.AddError("Delete failed", err.Error())
	}
}

func (t *fwType) ImportState(ctx context.Context, q resource.ImportStateRequest, a *resource.ImportStateResponse) {
	if strings.HasSuffix(q.ID, "-error") {
		a.Diagnostics.AddError("Import failed", "as asked")
		return
	}
	if strings.HasSuffix(q.ID, "-none") {
		return
	}
	resource.ImportStatePassthroughID(ctx, path.Root("id"), q, a)
}

// fwModified is a type whose plans depend on the words of the attribute mode, which are separated by commas: set,
// unknown, forever, replace, noupdate, error, warn, oc.
type fwModified struct{ fwType }

func (t *fwModified) ModifyPlan(ctx context.Context, q resource.ModifyPlanRequest, a *resource.ModifyPlanResponse) {
	if q.Plan.Raw.IsNull() {
		return
	}
	var mode, s, was types.String
	a.Diagnostics.Append(q.Plan.GetAttribute(ctx, path.Root("mode"), &mode)...)
	a.Diagnostics.Append(q.Plan.GetAttribute(ctx, path.Root("s"), &s)...)
	update := !q.State.Raw.IsNull()
	if update {
		a.Diagnostics.Append(q.State.GetAttribute(ctx, path.Root("s"), &was)...)
	}
	changed := !s.Equal(was)
	for _, word := range strings.Split(mode.ValueString(), ",") {
		switch {
		case word == "set" && !s.IsUnknown():
			a.Diagnostics.Append(a.Plan.SetAttribute(ctx, path.Root("calc"), "calc-"+s.ValueString())...)
		case word == "unknown" && changed:
			a.Diagnostics.Append(a.Plan.SetAttribute(ctx, path.Root("calc"), types.StringUnknown())...)
		case word == "forever":
			a.Diagnostics.Append(a.Plan.SetAttribute(ctx, path.Root("calc"), types.StringUnknown())...)
		case word == "replace" && update && changed:
			a.RequiresReplace = append(a.RequiresReplace, path.Root("s"))
		case word == "noupdate" && update && changed:
			a.Diagnostics.AddAttributeError(path.Root("s"), "Cannot change", "s cannot be changed in place")
		case word == "error" && s.ValueString() == "bad":
			a.Diagnostics.AddError("Bad", "s is bad")
		case word == "warn" && changed:
			a.Diagnostics.AddWarning("Changed", "s changes")
		case word == "oc" && changed && attributes(q.Config.Raw)["oc"].IsNull():
			a.Diagnostics.Append(a.Plan.SetAttribute(ctx, path.Root("oc"), types.StringUnknown())...)
		}
	}
}

// fwPrivate is a type that stores the number of writes in its private data, and adds other private data when it reads
// and plans.
type fwPrivate struct{ fwType }

func (t *fwPrivate) Create(ctx context.Context, q resource.CreateRequest, a *resource.CreateResponse) {
	t.fwType.Create(ctx, q, a)
	a.Diagnostics.Append(a.Private.SetKey(ctx, "made", []byte(`{"n":1}`))...)
}

func (t *fwPrivate) Read(ctx context.Context, q resource.ReadRequest, a *resource.ReadResponse) {
	t.fwType.Read(ctx, q, a)
	a.Diagnostics.Append(a.Private.SetKey(ctx, "read", []byte(`{"id":"yes"}`))...)
}

func (t *fwPrivate) Update(ctx context.Context, q resource.UpdateRequest, a *resource.UpdateResponse) {
	t.fwType.Update(ctx, q, a)
	old, diags := q.Private.GetKey(ctx, "made")
	a.Diagnostics.Append(diags...)
	var made struct {
		N int `json:"n"`
	}
	_ = json.Unmarshal(old, &made)
	a.Diagnostics.Append(a.Private.SetKey(ctx, "made", fmt.Appendf(nil, `{"n":%d}`, made.N+1))...)
	a.Diagnostics.Append(a.Private.SetKey(ctx, "read", nil)...)
}

func (t *fwPrivate) ModifyPlan(ctx context.Context, q resource.ModifyPlanRequest, a *resource.ModifyPlanResponse) {
	if !q.Plan.Raw.Equal(q.State.Raw) {
		a.Diagnostics.Append(a.Private.SetKey(ctx, "planned", []byte(`{"p":1}`))...)
	}
}

// fwUpgraded is a type with three schema versions, 0 to 2, of which SDK_SCHEMA selects one.
type fwUpgraded struct{ fwType }

func (t *fwUpgraded) UpgradeState(ctx context.Context) map[int64]resource.StateUpgrader {
	up := func(steps ...func(map[string]any)) resource.StateUpgrader {
		return resource.StateUpgrader{StateUpgrader: func(ctx context.Context, q resource.UpgradeStateRequest, a *resource.UpgradeStateResponse) {
			m := map[string]any{}
			if err := json.Unmarshal(q.RawState.JSON, &m); err != nil {
				a.Diagnostics.AddError("Upgrade failed", err.Error())
				return
			}
			name, _ := m["name"].(string)
			if err := failed(name, "upgrade"); err != nil {
				a.Diagnostics.AddError("Upgrade failed", err.Error())
				return
			}
			for _, s := range steps {
				s(m)
			}
			var err error
			if a.State.Raw, err = fitting(m, a.State.Schema.Type().TerraformType(ctx)); err != nil {
				a.Diagnostics.AddError("Upgrade failed", err.Error())
			}
		}}
	}
	first := func(m map[string]any) {
		if tag, ok := m["tag"].(string); ok {
			m["tags"] = []any{tag}
		}
		if s, ok := m["size"].(string); ok {
			m["size"] = json.Number(s)
		}
	}
	second := func(m map[string]any) { m["extra"] = "upgraded" }
	switch schemaVersion() {
	case 0:
		return nil
	case 1:
		return map[int64]resource.StateUpgrader{0: up(first)}
	}
	return map[int64]resource.StateUpgrader{0: up(first, second), 1: up(second)}
}

// fitting returns an object of type t with the values of m. It ignores values that have no attribute in t, and missing
// values are null.
func fitting(m map[string]any, t tftypes.Type) (tftypes.Value, error) {
	out := map[string]tftypes.Value{}
	for k, at := range t.(tftypes.Object).AttributeTypes {
		data, err := json.Marshal(m[k])
		if err == nil {
			//lint:ignore SA1019 the library has no other reader of JSON with a type
			out[k], err = tftypes.ValueFromJSON(data, at)
		}
		if err != nil {
			return tftypes.Value{}, fmt.Errorf("%s: %w", k, err)
		}
	}
	return tftypes.NewValue(t, out), nil
}

// fwMoved is a type that accepts moves from old_plain, fw_plain and old_cd.
type fwMoved struct{ fwType }

func (t *fwMoved) MoveState(context.Context) []resource.StateMover {
	return []resource.StateMover{{StateMover: func(ctx context.Context, q resource.MoveStateRequest, a *resource.MoveStateResponse) {
		switch q.SourceTypeName {
		case "old_plain", "fw_plain", "old_cd":
		default:
			return
		}
		m := map[string]any{}
		err := json.Unmarshal(q.SourceRawState.JSON, &m)
		if err == nil {
			err = failed(fmt.Sprint(m["name"]), "move")
		}
		if err == nil {
			a.TargetState.Raw, err = fitting(m, a.TargetState.Schema.Type().TerraformType(ctx))
		}
		if err != nil {
			a.Diagnostics.AddError("Move failed", err.Error())
		}
	}}}
}

// fwIdentified is a type with an identity. Terraform before 1.12 does not request identities.
type fwIdentified struct{ fwType }

func (t *fwIdentified) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, a *resource.IdentitySchemaResponse) {
	a.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{"id": identityschema.StringAttribute{RequiredForImport: true}}}
}

func (t *fwIdentified) Create(ctx context.Context, q resource.CreateRequest, a *resource.CreateResponse) {
	t.fwType.Create(ctx, q, a)
	if a.Identity != nil {
		a.Diagnostics.Append(a.Identity.SetAttribute(ctx, path.Root("id"), stringOf(attributes(a.State.Raw)["id"]))...)
	}
}

func (t *fwIdentified) Update(ctx context.Context, q resource.UpdateRequest, a *resource.UpdateResponse) {
	t.fwType.Update(ctx, q, a)
	if a.Identity != nil && !a.State.Raw.IsNull() {
		a.Diagnostics.Append(a.Identity.SetAttribute(ctx, path.Root("id"), stringOf(attributes(a.State.Raw)["id"]))...)
	}
}

func (t *fwIdentified) Read(ctx context.Context, q resource.ReadRequest, a *resource.ReadResponse) {
	t.fwType.Read(ctx, q, a)
	if a.Identity != nil { // the framework requires an identity in the answer of Read, even for a deleted object
		a.Diagnostics.Append(a.Identity.SetAttribute(ctx, path.Root("id"), stringOf(attributes(q.State.Raw)["id"]))...)
	}
}

func (t *fwIdentified) ImportState(ctx context.Context, q resource.ImportStateRequest, a *resource.ImportStateResponse) {
	if q.ID == "" {
		resource.ImportStatePassthroughWithIdentity(ctx, path.Root("id"), path.Root("id"), q, a)
		return
	}
	t.fwType.ImportState(ctx, q, a)
}

type fwData struct{}

func (fwData) Metadata(_ context.Context, _ datasource.MetadataRequest, a *datasource.MetadataResponse) {
	a.TypeName = "fw_data"
}

func (fwData) Schema(_ context.Context, _ datasource.SchemaRequest, a *datasource.SchemaResponse) {
	a.Schema = dschema.Schema{Attributes: map[string]dschema.Attribute{
		"name":  dschema.StringAttribute{Required: true},
		"query": dschema.StringAttribute{Optional: true},
		"found": dschema.StringAttribute{Computed: true},
		"list":  dschema.ListAttribute{ElementType: types.StringType, Computed: true},
		"pair":  dschema.SingleNestedAttribute{Optional: true, Computed: true, Attributes: map[string]dschema.Attribute{"k": dschema.StringAttribute{Optional: true, Computed: true}}},
	}}
}

func (fwData) Read(_ context.Context, q datasource.ReadRequest, a *datasource.ReadResponse) {
	m := attributes(q.Config.Raw)
	name, query := stringOf(m["name"]), stringOf(m["query"])
	if err := failed(name, "data"); err != nil {
		a.Diagnostics.AddError("Read failed", err.Error())
		return
	}
	m["found"] = tftypes.NewValue(tftypes.String, "found "+query)
	m["list"] = tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, []tftypes.Value{tftypes.NewValue(tftypes.String, name), tftypes.NewValue(tftypes.String, query)})
	if m["pair"].IsNull() {
		m["pair"] = tftypes.NewValue(m["pair"].Type(), map[string]tftypes.Value{"k": tftypes.NewValue(tftypes.String, "chosen")})
	}
	a.State.Raw = tftypes.NewValue(q.Config.Raw.Type(), m)
}
