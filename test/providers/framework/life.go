package framework

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/lethe-iac/lethe/test/providers/calls"
	"github.com/lethe-iac/lethe/test/providers/cloud"
	"github.com/lethe-iac/lethe/test/providers/trouble"
)

// A form is the description of one managed resource type.
type form struct {
	suffix string        // the type is the provider's name, an underscore and suffix
	kind   string        // type of its objects in the cloud; "": the name of the resource type
	schema schema.Schema // the schema without the block timeouts

	// id returns the identity of a new object.
	id func(work) string
	// compute returns values for unknown top-level attributes except id, in the form of tftypes.NewValue. Other unknown
	// leaves get a value derived from their path.
	compute func(work) map[string]any
	// derived maps a computed top-level attribute to the attributes on which its value depends. If they do not change,
	// the attribute is planned unchanged.
	derived map[string][]string
	// replaces returns the paths that force replacement in an update, besides the paths of plan modifiers.
	replaces func(state, plan view) path.Paths
}

// work is one creation or update: the ID of the object, the plan and the configuration. The ID of a new object is ""
// until the form has made it. Only the configuration contains write-only values.
type work struct {
	id           string
	plan, config view
}

// A life implements creation, reading, update and deletion of objects of one form.
type life struct {
	form
	session *session
}

func newLife(f func() form) *life { return &life{form: f()} }

func (l *life) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + l.suffix
}

func (l *life) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = l.schema
}

func (l *life) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	l.session, _ = req.ProviderData.(*session)
}

// cloudType returns the type of the objects in the cloud: kind, or the name of the resource type.
func (l *life) cloudType() string {
	if l.kind != "" {
		return l.kind
	}
	return "playground_" + l.suffix
}

// before runs the steps that precede the work of all calls that use the cloud: it greets the endpoint of the provider,
// and waits or fails if that is requested.
func (l *life) before(ctx context.Context, v view, point, key string) error {
	if err := l.session.reach(ctx); err != nil {
		return err
	}
	return before(ctx, v, point, key)
}

func (l *life) label() string {
	if l.session == nil {
		return ""
	}
	return l.session.label
}

func (l *life) ValidateConfig(_ context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	config := look(req.Config.Raw)
	if config.has("name") && config.str("name") == "" {
		resp.Diagnostics.AddAttributeError(path.Root("name"), "Invalid name", "A name cannot be empty.")
	}
	if err := trouble.Fail(config.str("fail_on"), "validate", config.key()); err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("fail_on"), "Invalid configuration", err.Error())
	}
}

// ModifyPlan keeps computed values that the change does not affect, and fails on request.
func (l *life) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	state, plan := look(req.State.Raw), look(req.Plan.Raw)
	point, now := "plan", plan
	if req.Plan.Raw.IsNull() {
		point, now = "plan-delete", state
	}
	noteMeta(ctx, req.ProviderMeta)
	if err := trouble.Wait(ctx, "", point, now.key()); err != nil {
		resp.Diagnostics.AddError("Planning failed", err.Error())
		return
	}
	if err := trouble.Fail(now.str("fail_on"), point, now.key()); err != nil {
		resp.Diagnostics.AddError("Planning failed", err.Error())
		return
	}
	warn(&resp.Diagnostics, plan)
	if req.Plan.Raw.IsNull() || req.State.Raw.IsNull() {
		return
	}
	if l.replaces != nil {
		resp.RequiresReplace = append(resp.RequiresReplace, l.replaces(state, plan)...)
	}
	l.keepDerived(state, plan, resp)
}

// keepDerived replaces an unknown top-level attribute in the plan by its value in the state, if the attribute is in
// derived and all attributes on which it depends are known and unchanged.
func (l *life) keepDerived(state, plan view, resp *resource.ModifyPlanResponse) {
	raw, err := tftypes.Transform(resp.Plan.Raw, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if len(at.Steps()) != 1 || v.IsKnown() {
			return v, nil
		}
		name := string(at.LastStep().(tftypes.AttributeName))
		causes, ok := l.derived[name]
		for _, cause := range causes {
			ok = ok && same(state, plan, cause)
		}
		if !ok {
			return v, nil
		}
		return state[name], nil
	})
	if err != nil {
		resp.Diagnostics.AddError("Planning failed", err.Error())
		return
	}
	resp.Plan.Raw = raw
}

func (l *life) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	w := work{plan: look(req.Plan.Raw), config: look(req.Config.Raw)}
	key := w.plan.key()
	noteMeta(ctx, req.ProviderMeta)
	ctx, cancel := l.timeout(ctx, w.plan, "create")
	defer cancel()
	if err := l.before(ctx, w.plan, "create", key); err != nil {
		resp.Diagnostics.AddError("Creating failed", err.Error())
		return
	}
	w.id = l.id(w)
	state, err := l.fill(req.Plan.Raw, w)
	if err != nil {
		resp.Diagnostics.AddError("Creating failed", err.Error())
		return
	}
	object, err := l.object(state, w, nil)
	if err == nil {
		err = cloud.Here().Create(object)
	}
	if err != nil {
		resp.Diagnostics.AddError("Creating failed", err.Error())
		return
	}
	calls.Note(ctx, "id", w.id)
	if err := trouble.Fail(w.plan.str("fail_on"), "create-lost", key); err != nil {
		resp.Diagnostics.AddError("Creating failed", err.Error())
		return
	}
	resp.State.Raw = state
	identify(ctx, resp.Identity, w.id, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, "playground", []byte(`{"writes":1}`))...)
	warn(&resp.Diagnostics, w.plan)
	if err := trouble.Fail(w.plan.str("fail_on"), "create-after", key); err != nil {
		resp.Diagnostics.AddError("Creating failed half-way", err.Error())
	}
}

func (l *life) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	state := look(req.State.Raw)
	noteMeta(ctx, req.ProviderMeta)
	if err := l.before(ctx, state, "read", state.key()); err != nil {
		resp.Diagnostics.AddError("Reading failed", err.Error())
		return
	}
	identify(ctx, resp.Identity, state.str("id"), &resp.Diagnostics)
	c := cloud.Here()
	if c == nil {
		return
	}
	o, err := c.Get(l.cloudType(), state.str("id"))
	if errors.Is(err, cloud.ErrGone) {
		calls.Note(ctx, "gone", true)
		resp.State.RemoveResource(ctx)
		return
	}
	if err == nil {
		resp.State.Raw, err = l.overlay(req.State.Raw, o)
	}
	if err != nil {
		resp.Diagnostics.AddError("Reading failed", err.Error())
	}
}

func (l *life) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	prior := look(req.State.Raw)
	w := work{id: prior.str("id"), plan: look(req.Plan.Raw), config: look(req.Config.Raw)}
	key := w.plan.key()
	ctx, cancel := l.timeout(ctx, w.plan, "update")
	defer cancel()
	if err := l.before(ctx, w.plan, "update", key); err != nil {
		resp.Diagnostics.AddError("Updating failed", err.Error())
		return
	}
	state, err := l.fill(req.Plan.Raw, w)
	if err != nil {
		resp.Diagnostics.AddError("Updating failed", err.Error())
		return
	}
	object, err := l.object(state, w, prior)
	if err == nil {
		err = cloud.Here().Update(object)
	}
	if err != nil {
		resp.Diagnostics.AddError("Updating failed", err.Error())
		return
	}
	resp.State.Raw = state
	l.countWrites(ctx, req, resp)
	identify(ctx, resp.Identity, w.id, &resp.Diagnostics)
	warn(&resp.Diagnostics, w.plan)
	if err := trouble.Fail(w.plan.str("fail_on"), "update-after", key); err != nil {
		resp.Diagnostics.AddError("Updating failed half-way", err.Error())
	}
}

// countWrites counts updates in the private data, so that tests see whether an engine preserves it.
func (l *life) countWrites(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var private struct {
		Writes int `json:"writes"`
	}
	data, diags := req.Private.GetKey(ctx, "playground")
	resp.Diagnostics.Append(diags...)
	_ = json.Unmarshal(data, &private)
	private.Writes++
	calls.Note(ctx, "writes", private.Writes)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, "playground", fmt.Appendf(nil, `{"writes":%d}`, private.Writes))...)
}

func (l *life) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	state := look(req.State.Raw)
	ctx, cancel := l.timeout(ctx, state, "delete")
	defer cancel()
	if err := l.before(ctx, state, "delete", state.key()); err != nil {
		resp.Diagnostics.AddError("Deleting failed", err.Error())
		return
	}
	if err := cloud.Here().Delete(l.cloudType(), state.str("id")); err != nil {
		resp.Diagnostics.AddError("Deleting failed", err.Error())
		return
	}
	if err := trouble.Fail(state.str("fail_on"), "delete-after", state.key()); err != nil {
		resp.Diagnostics.AddError("Deleting failed half-way", err.Error())
	}
}

func (l *life) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	if resp.Identity == nil {
		resource.ImportStatePassthroughID(ctx, path.Root("id"), req, resp)
	} else {
		resource.ImportStatePassthroughWithIdentity(ctx, path.Root("id"), path.Root("id"), req, resp)
		resp.Diagnostics.Append(resp.Identity.SetAttribute(ctx, path.Root("realm"), "local")...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	id := look(resp.State.Raw).str("id")
	calls.Key(ctx, id)
	if err := trouble.Fail("", "import", id); err != nil {
		resp.Diagnostics.AddError("Importing failed", err.Error())
	}
	if _, ok := l.schema.Attributes["name"]; ok && cloud.Here() == nil {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("name"), id)...)
	}
}

// before waits or fails if the object or the environment requests it for the point. Reads do not wait for the delay of
// the object.
func before(ctx context.Context, v view, point, key string) error {
	delay := ""
	if point != "read" {
		delay = v.str("delay")
	}
	if err := trouble.Wait(ctx, delay, point, key); err != nil {
		return err
	}
	return trouble.Fail(v.str("fail_on"), point, key)
}

// warn adds the warning that the attribute "warn" requests, if it is not empty.
func warn(diags *diag.Diagnostics, v view) {
	if text := v.str("warn"); text != "" {
		diags.AddAttributeWarning(path.Root("warn"), "A warning was asked for", text)
	}
}

// noteMeta logs the module_name in the provider_meta block of the module, if it is set.
func noteMeta(ctx context.Context, meta tfsdk.Config) {
	if name := look(meta.Raw).str("module_name"); name != "" {
		calls.Note(ctx, "module_name", name)
	}
}

// timeout bounds ctx by the timeout of the object for the point. It returns ctx unchanged if the object has no valid
// one.
func (l *life) timeout(ctx context.Context, v view, point string) (context.Context, context.CancelFunc) {
	d, err := time.ParseDuration(v.in("timeouts").str(point))
	if err != nil {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, d)
}

// identify sets the identity to the ID and the realm "local". It does nothing if the type has no identity or the ID is
// "".
func identify(ctx context.Context, identity *tfsdk.ResourceIdentity, id string, diags *diag.Diagnostics) {
	if identity == nil || id == "" {
		return
	}
	diags.Append(identity.SetAttribute(ctx, path.Root("id"), id)...)
	diags.Append(identity.SetAttribute(ctx, path.Root("realm"), "local")...)
}

// fill returns a plan in which every unknown value is filled in: the ID, the computed attributes of the form, and
// invented values for the others.
func (l *life) fill(plan tftypes.Value, w work) (tftypes.Value, error) {
	computed := map[string]any{}
	if l.compute != nil {
		computed = l.compute(w)
	}
	computed["id"] = w.id
	return tftypes.Transform(plan, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if v.IsKnown() {
			return v, nil
		}
		name := ""
		for _, step := range at.Steps() {
			if n, ok := step.(tftypes.AttributeName); ok {
				name = string(n)
			}
		}
		if c, ok := computed[name]; ok && len(at.Steps()) == 1 {
			return tftypes.NewValue(v.Type(), c), nil
		}
		return invent(v.Type(), name, w.id+at.String()), nil
	})
}

// invent returns a value that depends only on the type, the name and the place of an attribute. The value of a type
// other than string, number and bool is null.
func invent(t tftypes.Type, name, place string) tftypes.Value {
	sum := sha256.Sum256([]byte(place))
	switch {
	case t.Is(tftypes.String):
		return tftypes.NewValue(t, name+"-"+hex.EncodeToString(sum[:4]))
	case t.Is(tftypes.Number):
		return tftypes.NewValue(t, big.NewFloat(float64(sum[0])))
	case t.Is(tftypes.Bool):
		return tftypes.NewValue(t, sum[0]%2 == 0)
	}
	return tftypes.NewValue(t, nil)
}

// object returns the stored form of a state. It seals sensitive attributes and top-level write-only values. prior is
// nil for a new object. In an update, a write-only value with a version replaces the stored one only if the version
// changes.
func (l *life) object(state tftypes.Value, w work, prior view) (*cloud.Object, error) {
	o := &cloud.Object{
		Type: l.cloudType(), ID: w.id, By: l.label(),
		Attributes: map[string]json.RawMessage{}, Sealed: map[string]string{},
	}
	var old *cloud.Object
	if prior != nil {
		old, _ = cloud.Here().Get(o.Type, o.ID)
	}
	types := state.Type().(tftypes.Object).AttributeTypes
	for name, v := range look(state) {
		a := l.schema.Attributes[name]
		sealed := a != nil && (a.IsSensitive() || a.IsWriteOnly())
		if sealed && a.IsWriteOnly() {
			if prior != nil && !rewritten(name, prior, w.plan) {
				if old != nil && old.Sealed[name] != "" {
					o.Sealed[name] = old.Sealed[name]
				}
				continue
			}
			v = w.config[name]
		}
		data, err := cloud.Encode(v, types[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		switch {
		case !sealed:
			o.Attributes[name] = data
		case string(data) != "null":
			o.Sealed[name] = cloud.Seal(o.ID+name, string(data))
		}
	}
	return o, nil
}

// rewritten reports whether an update must write a write-only attribute: it has no version, or its version changes.
func rewritten(name string, prior, plan view) bool {
	version := name + "_version"
	if _, ok := plan[version]; !ok {
		return true
	}
	return !same(prior, plan, version)
}

// overlay returns a state with the attributes of the object in the cloud. Write-only attributes, and attributes that
// the object does not have, are unchanged.
func (l *life) overlay(state tftypes.Value, o *cloud.Object) (tftypes.Value, error) {
	types := state.Type().(tftypes.Object).AttributeTypes
	attrs := look(state)
	for name, t := range types {
		data, ok := o.Attributes[name]
		if a := l.schema.Attributes[name]; a != nil && a.IsWriteOnly() {
			continue
		} else if sealed, found := o.Sealed[name]; found {
			text, err := cloud.Unseal(o.ID+name, sealed)
			if err != nil {
				return state, err
			}
			data, ok = json.RawMessage(text), true
		}
		if a := l.schema.Attributes[name]; a != nil && a.IsComputed() && o.Sealed[name+"_wo"] != "" {
			data, ok = json.RawMessage(`""`), true // a value that was written through a write-only argument is not shown
		}
		if !ok {
			continue
		}
		v, err := cloud.Decode(data, t)
		if err != nil {
			return state, fmt.Errorf("%s: %w", name, err)
		}
		attrs[name] = v
	}
	return tftypes.NewValue(state.Type(), map[string]tftypes.Value(attrs)), nil
}

// newID returns a function that makes IDs: the prefix and twelve random hexadecimal digits, or the prefix and the name
// if PLAYGROUND_IDS is "name".
func newID(prefix string) func(work) string {
	return func(w work) string {
		if os.Getenv(EnvIDs) == "name" {
			return prefix + "-" + w.plan.key()
		}
		return prefix + "-" + cloud.Random(12)
	}
}
