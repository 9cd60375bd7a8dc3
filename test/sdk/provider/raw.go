package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// rawType is old_manifest, a type without an SDK. It has dynamic attributes in protocol 5, and no ID. The attribute
// object contains the content of the attribute manifest and values that the cloud adds.
const rawType = "old_manifest"

func rawSchema() *tfprotov5.Schema {
	return &tfprotov5.Schema{Version: 1, Block: &tfprotov5.SchemaBlock{Attributes: []*tfprotov5.SchemaAttribute{
		{Name: "name", Type: tftypes.String, Required: true},
		{Name: "manifest", Type: tftypes.DynamicPseudoType, Required: true},
		{Name: "object", Type: tftypes.DynamicPseudoType, Optional: true, Computed: true},
		{Name: "fields", Type: tftypes.List{ElementType: tftypes.String}, Optional: true},
		{Name: "wait", Type: tftypes.Object{AttributeTypes: map[string]tftypes.Type{"rollout": tftypes.Bool, "fields": tftypes.Map{ElementType: tftypes.String}}}, Optional: true},
	}}}
}

func rawObject() tftypes.Type { return rawSchema().ValueType() }

// opened decodes an object of the type, and also returns its attributes.
func opened(d *tfprotov5.DynamicValue) (tftypes.Value, map[string]tftypes.Value, error) {
	v, err := d.Unmarshal(rawObject())
	return v, attributes(v), err
}

// sealed encodes an object of the type with attributes, or null if m is nil.
func sealed(m map[string]tftypes.Value) (*tfprotov5.DynamicValue, error) {
	v := tftypes.NewValue(rawObject(), nil)
	if m != nil {
		v = tftypes.NewValue(rawObject(), m)
	}
	d, err := tfprotov5.NewDynamicValue(rawObject(), v)
	return &d, err
}

// diags returns a diagnostic for an error, or nil for nil.
func diags(summary string, err error) []*tfprotov5.Diagnostic {
	if err == nil {
		return nil
	}
	return []*tfprotov5.Diagnostic{{Severity: tfprotov5.DiagnosticSeverityError, Summary: summary, Detail: err.Error()}}
}

// made returns the object for a manifest, with the attributes uid and status, which the cloud chooses. They are unknown
// if id is "". rev is the number of writes. An unknown manifest has an unknown object.
func made(manifest tftypes.Value, id string, rev int) tftypes.Value {
	if !manifest.IsKnown() {
		return tftypes.NewValue(tftypes.DynamicPseudoType, tftypes.UnknownValue)
	}
	if manifest.IsNull() || !manifest.Type().Is(tftypes.Object{}) {
		return manifest
	}
	m := attributes(manifest)
	for _, k := range []string{"uid", "status"} {
		m[k] = tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
	}
	if id != "" {
		m["uid"], m["status"] = tftypes.NewValue(tftypes.String, id), tftypes.NewValue(tftypes.String, fmt.Sprint("rev ", rev))
	}
	return objectOf(m)
}

func objectOf(m map[string]tftypes.Value) tftypes.Value {
	types := map[string]tftypes.Type{}
	for k, v := range m {
		types[k] = v.Type()
	}
	return tftypes.NewValue(tftypes.Object{AttributeTypes: types}, m)
}

// rawID returns the ID of an object in the cloud, or "" if it has none.
func rawID(m map[string]tftypes.Value) string { return stringOf(attributes(m["object"])["uid"]) }

func rawPlan(q *tfprotov5.PlanResourceChangeRequest) (*tfprotov5.PlanResourceChangeResponse, error) {
	a := &tfprotov5.PlanResourceChangeResponse{PlannedState: q.ProposedNewState, PlannedPrivate: q.PriorPrivate}
	now, m, err := opened(q.ProposedNewState)
	if err != nil || now.IsNull() {
		return a, err
	}
	prior, was, err := opened(q.PriorState)
	if err != nil {
		return nil, err
	}
	if name := stringOf(m["name"]); fault(name, "plan") {
		a.Diagnostics = diags("Plan failed", failed(name, "plan"))
		return a, nil
	}
	_, config, err := opened(q.Config)
	if err != nil {
		return nil, err
	}
	if !prior.IsNull() && m["manifest"].Equal(was["manifest"]) {
		return a, nil
	}
	if config["object"].IsNull() {
		m["object"] = made(m["manifest"], "", 0)
	}
	if !prior.IsNull() && m["manifest"].IsKnown() {
		old, next := attributes(was["manifest"]), attributes(m["manifest"])
		kept := attributes(m["object"])
		if uid, ok := attributes(was["object"])["uid"]; ok && kept["uid"].Type() != nil {
			kept["uid"] = uid
			m["object"] = objectOf(kept)
		}
		path := tftypes.NewAttributePath().WithAttributeName("manifest")
		if old["kind"].Type() != nil && next["kind"].Type() != nil && !old["kind"].Equal(next["kind"]) {
			a.RequiresReplace = append(a.RequiresReplace, path.WithAttributeName("kind"))
		}
		if x, y := attributes(old["meta"])["name"], attributes(next["meta"])["name"]; x.Type() != nil && y.Type() != nil && !x.Equal(y) {
			a.RequiresReplace = append(a.RequiresReplace, path.WithAttributeName("meta").WithAttributeName("name"))
		}
	}
	a.PlannedState, err = sealed(m)
	return a, err
}

func rawApply(q *tfprotov5.ApplyResourceChangeRequest) (*tfprotov5.ApplyResourceChangeResponse, error) {
	a := &tfprotov5.ApplyResourceChangeResponse{NewState: q.PriorState, Private: q.PlannedPrivate}
	now, m, err := opened(q.PlannedState)
	if err != nil {
		return nil, err
	}
	prior, was, err := opened(q.PriorState)
	if err != nil {
		return nil, err
	}
	name := stringOf(m["name"])
	if now.IsNull() {
		if name = stringOf(was["name"]); fault(name, "delete") {
			a.Diagnostics = diags("Delete failed", failed(name, "delete"))
			return a, nil
		}
		a.NewState = q.PlannedState
		return a, remove(rawID(was))
	}
	id, rev, word := rawID(was), 1, "update"
	if prior.IsNull() {
		word = "create"
	}
	if fault(name, word) {
		a.Diagnostics = diags(word+" failed", failed(name, word))
		return a, nil
	}
	if prior.IsNull() {
		if id, err = nextID(name); err != nil {
			return nil, err
		}
		a.Private = fmt.Appendf(nil, `{"id":%q}`, id)
	} else if o, err := load(id); err == nil {
		rev = o.Rev + 1
	}
	if !m["object"].IsFullyKnown() || attributes(m["object"])["uid"].Type() != nil {
		m["object"] = made(m["manifest"], id, rev)
	}
	o := &Object{Type: rawType, Rev: rev, Attrs: map[string]any{}}
	for k, v := range m {
		o.Attrs[k] = toJSON(v, rawObject().(tftypes.Object).AttributeTypes[k])
	}
	if err := save(id, o); err != nil {
		return nil, err
	}
	if a.NewState, err = sealed(m); err != nil {
		return nil, err
	}
	a.Diagnostics = diags(word+" failed", failed(name, word+"-after"))
	return a, nil
}

func rawRead(q *tfprotov5.ReadResourceRequest) (*tfprotov5.ReadResourceResponse, error) {
	a := &tfprotov5.ReadResourceResponse{NewState: q.CurrentState, Private: q.Private}
	_, m, err := opened(q.CurrentState)
	if err != nil {
		return nil, err
	}
	if name := stringOf(m["name"]); fault(name, "read") {
		a.Diagnostics = diags("Read failed", failed(name, "read"))
		return a, nil
	}
	o, err := load(rawID(m))
	if errors.Is(err, errGone) {
		a.NewState, err = sealed(nil)
		return a, err
	}
	if err != nil {
		return nil, err
	}
	for k, at := range rawObject().(tftypes.Object).AttributeTypes {
		v, ok := o.Attrs[k]
		if !ok || k == "manifest" && !m[k].IsNull() {
			continue
		}
		data, err := json.Marshal(v)
		if err == nil {
			//lint:ignore SA1019 the library has no other reader of JSON with a type
			m[k], err = tftypes.ValueFromJSON(data, at)
		}
		if err != nil {
			return nil, err
		}
	}
	a.NewState, err = sealed(m)
	return a, err
}

func rawUpgrade(q *tfprotov5.UpgradeResourceStateRequest) (*tfprotov5.UpgradeResourceStateResponse, error) {
	v, err := q.RawState.Unmarshal(rawObject()) // fails for an attribute that the schema does not have
	if err != nil {
		return nil, err
	}
	d, err := tfprotov5.NewDynamicValue(rawObject(), v)
	return &tfprotov5.UpgradeResourceStateResponse{UpgradedState: &d}, err
}

func rawImport(q *tfprotov5.ImportResourceStateRequest) (*tfprotov5.ImportResourceStateResponse, error) {
	m := map[string]tftypes.Value{}
	for k, t := range rawObject().(tftypes.Object).AttributeTypes {
		m[k] = tftypes.NewValue(t, nil)
	}
	m["object"] = objectOf(map[string]tftypes.Value{"uid": tftypes.NewValue(tftypes.String, q.ID)})
	d, err := sealed(m)
	return &tfprotov5.ImportResourceStateResponse{ImportedResources: []*tfprotov5.ImportedResource{{TypeName: rawType, State: d, Private: fmt.Appendf(nil, `{"id":%q}`, q.ID)}}}, err
}

// withoutBlocks returns an object with null in place of empty repeated blocks, if its attribute s is NullBlocks.
// Providers without an SDK and with old SDKs return such objects. Any other object is returned unchanged.
func withoutBlocks(s *tfprotov5.Schema, d *tfprotov5.DynamicValue) *tfprotov5.DynamicValue {
	if d == nil || s == nil {
		return d
	}
	v, err := d.Unmarshal(s.ValueType())
	m := attributes(v)
	if err != nil || stringOf(m["s"]) != NullBlocks {
		return d
	}
	m = maps.Clone(m)
	for _, b := range s.Block.BlockTypes {
		if e := m[b.TypeName]; b.Nesting != tfprotov5.SchemaNestedBlockNestingModeSingle && e.IsKnown() && empty(e) {
			m[b.TypeName] = tftypes.NewValue(e.Type(), nil)
		}
	}
	out, err := tfprotov5.NewDynamicValue(s.ValueType(), tftypes.NewValue(s.ValueType(), m))
	if err != nil {
		return d
	}
	return &out
}

// NullBlocks is the value of the attribute s with which Read returns null for blocks that do not exist.
const NullBlocks = "null-blocks"

// empty reports whether a value is an empty list or set.
func empty(v tftypes.Value) bool {
	var l []tftypes.Value
	return v.As(&l) == nil && len(l) == 0
}

// types returns the schemas of the resources of the SDK by type, or nil after an error.
func (s server5) types() map[string]*tfprotov5.Schema {
	a, err := s.ProviderServer.GetProviderSchema(context.Background(), &tfprotov5.GetProviderSchemaRequest{})
	if err != nil {
		return nil
	}
	return a.ResourceSchemas
}
