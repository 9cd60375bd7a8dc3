package raw

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/lethe-iac/lethe/test/providers/calls"
	"github.com/lethe-iac/lethe/test/providers/cloud"
)

// This file contains the calls about managed resources. All types share one implementation: computed attributes are
// unknown in plans and filled in during apply.

func (r *rogue) ValidateResourceConfig(ctx context.Context, q *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	sc := r.scene(r.schemas.resources[q.TypeName], q.Config, "ValidateResourceConfig", "Validate")
	return play(ctx, r, sc, func() (*tfprotov6.ValidateResourceConfigResponse, error) {
		a := &tfprotov6.ValidateResourceConfigResponse{}
		sc.diags = &a.Diagnostics
		return a, nil
	})
}

func (r *rogue) UpgradeResourceState(ctx context.Context, q *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	sc := r.scene(r.schemas.resources[q.TypeName], nil, "UpgradeResourceState", "Upgrade")
	v, err := cloud.Decode(q.RawState.JSON, sc.typ)
	if err != nil {
		return nil, err
	}
	sc.key, sc.spec = str(look(v), "name"), str(look(v), "misbehave")
	calls.Key(ctx, sc.key)
	return play(ctx, r, sc, func() (*tfprotov6.UpgradeResourceStateResponse, error) {
		state, err := tfprotov6.NewDynamicValue(sc.typ, v)
		a := &tfprotov6.UpgradeResourceStateResponse{UpgradedState: &state}
		sc.value, sc.diags = &a.UpgradedState, &a.Diagnostics
		return a, err
	})
}

func (r *rogue) UpgradeResourceIdentity(ctx context.Context, q *tfprotov6.UpgradeResourceIdentityRequest) (*tfprotov6.UpgradeResourceIdentityResponse, error) {
	sc := &scene{names: []string{"UpgradeResourceIdentity", "UpgradeIdentity"}}
	return play(ctx, r, sc, func() (*tfprotov6.UpgradeResourceIdentityResponse, error) {
		var old struct{ ID string }
		if err := json.Unmarshal(q.RawIdentity.JSON, &old); err != nil {
			return nil, err
		}
		identity, err := identityOf(old.ID)
		a := &tfprotov6.UpgradeResourceIdentityResponse{UpgradedIdentity: identity}
		sc.identity, sc.diags = &a.UpgradedIdentity, &a.Diagnostics
		return a, err
	})
}

func (r *rogue) ReadResource(ctx context.Context, q *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	s := r.schemas.resources[q.TypeName]
	sc := r.scene(s, q.CurrentState, "ReadResource", "Read")
	state := sc.config
	sc.config = tftypes.Value{}
	return play(ctx, r, sc, func() (*tfprotov6.ReadResourceResponse, error) {
		a := &tfprotov6.ReadResourceResponse{Private: q.Private, NewIdentity: q.CurrentIdentity}
		sc.value, sc.diags, sc.private, sc.identity, sc.deferred = &a.NewState, &a.Diagnostics, &a.Private, &a.NewIdentity, &a.Deferred
		id := str(look(state), "id")
		now, err := refreshed(q.TypeName, state, id)
		if err != nil {
			return nil, err
		}
		if a.NewIdentity == nil && q.TypeName == "rogue_thing" && !now.IsNull() {
			if a.NewIdentity, err = identityOf(id); err != nil {
				return nil, err
			}
		}
		d, err := tfprotov6.NewDynamicValue(sc.typ, now)
		a.NewState = &d
		return a, err
	})
}

// refreshed returns the object in the cloud: null if it does not exist, and the state if there is no cloud.
func refreshed(typ string, state tftypes.Value, id string) (tftypes.Value, error) {
	c := cloud.Here()
	if c == nil {
		return state, nil
	}
	o, err := c.Get(typ, id)
	if errors.Is(err, cloud.ErrGone) {
		return tftypes.NewValue(state.Type(), nil), nil
	}
	if err != nil {
		return state, err
	}
	attrs := look(state)
	for name, data := range o.Attributes {
		t, ok := state.Type().(tftypes.Object).AttributeTypes[name]
		if !ok {
			continue
		}
		if attrs[name], err = cloud.Decode(data, t); err != nil {
			return state, fmt.Errorf("%s: %w", name, err)
		}
	}
	return tftypes.NewValue(state.Type(), attrs), nil
}

func (r *rogue) PlanResourceChange(ctx context.Context, q *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	s := r.schemas.resources[q.TypeName]
	verb := verb(q.PriorState, q.ProposedNewState)
	sc := r.change(s, q.Config, q.PriorState, "PlanResourceChange", "Plan", "Plan"+verb)
	noteArrival(ctx, q.PriorPrivate, sc.config)
	return play(ctx, r, sc, func() (*tfprotov6.PlanResourceChangeResponse, error) {
		a := &tfprotov6.PlanResourceChangeResponse{PlannedPrivate: q.PriorPrivate, PlannedState: q.ProposedNewState, PlannedIdentity: q.PriorIdentity}
		sc.value, sc.diags, sc.private = &a.PlannedState, &a.Diagnostics, &a.PlannedPrivate
		sc.identity, sc.deferred = &a.PlannedIdentity, &a.Deferred
		if verb == "Delete" {
			return a, nil
		}
		proposed, err := q.ProposedNewState.Unmarshal(sc.typ)
		if err != nil {
			return nil, err
		}
		prior, err := q.PriorState.Unmarshal(sc.typ)
		if err != nil {
			return nil, err
		}
		planned, err := plan(prior, proposed)
		if err != nil {
			return nil, err
		}
		d, err := tfprotov6.NewDynamicValue(sc.typ, planned)
		a.PlannedState = &d
		return a, err
	})
}

// plan returns the proposed object with unknown computed attributes, if they are null. The attribute value is also
// unknown if the name changes. Write-only attributes are null, and a null note becomes "default".
func plan(prior, proposed tftypes.Value) (tftypes.Value, error) {
	renamed := str(look(prior), "name") != str(look(proposed), "name")
	return tftypes.Transform(proposed, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if writeOnly(at) {
			return tftypes.NewValue(v.Type(), nil), nil
		}
		if dotted(at) == "note" && v.IsNull() {
			return tftypes.NewValue(text, "default"), nil
		}
		if !isComputed(at) || !v.IsNull() && (dotted(at) != "value" || !renamed) {
			return v, nil
		}
		return tftypes.NewValue(v.Type(), tftypes.UnknownValue), nil
	})
}

// isComputed reports whether a path ends at an attribute that only the provider can set. In this provider all of them
// have these names.
func isComputed(at *tftypes.AttributePath) bool {
	name, ok := at.LastStep().(tftypes.AttributeName)
	if !ok {
		return false
	}
	switch name {
	case "id", "value", "leaked":
		return len(at.Steps()) == 1
	case "device", "d":
		return true
	}
	return false
}

func (r *rogue) ApplyResourceChange(ctx context.Context, q *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	s := r.schemas.resources[q.TypeName]
	verb := verb(q.PriorState, q.PlannedState)
	sc := r.change(s, q.Config, q.PriorState, "ApplyResourceChange", "Apply", verb)
	noteArrival(ctx, q.PlannedPrivate, sc.config)
	return play(ctx, r, sc, func() (*tfprotov6.ApplyResourceChangeResponse, error) {
		a := &tfprotov6.ApplyResourceChangeResponse{NewState: q.PlannedState, Private: q.PlannedPrivate}
		sc.value, sc.diags, sc.private, sc.identity = &a.NewState, &a.Diagnostics, &a.Private, &a.NewIdentity
		if verb == "Delete" {
			prior, err := q.PriorState.Unmarshal(sc.typ)
			if err != nil {
				return nil, err
			}
			return a, cloud.Here().Delete(q.TypeName, str(look(prior), "id"))
		}
		planned, err := q.PlannedState.Unmarshal(sc.typ)
		if err != nil {
			return nil, err
		}
		state, id, err := apply(planned)
		if err != nil {
			return nil, err
		}
		calls.Note(ctx, "id", id)
		if err := r.store(q.TypeName, id, state, verb); err != nil {
			return nil, err
		}
		if q.TypeName == "rogue_thing" {
			if a.NewIdentity, err = identityOf(id); err != nil {
				return nil, err
			}
		}
		d, err := tfprotov6.NewDynamicValue(sc.typ, state)
		a.NewState = &d
		return a, err
	})
}

// apply returns the plan with values in place of unknown ones, and the ID of the object, which is new if the plan has
// none. Unknown values that are not text become null.
func apply(planned tftypes.Value) (state tftypes.Value, id string, err error) {
	attrs := look(planned)
	if id = str(attrs, "id"); id == "" && identityName == "name" {
		id = str(attrs, "name")
	} else if id == "" {
		id = "rogue-" + cloud.Random(12)
	}
	state, err = tftypes.Transform(planned, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if v.IsKnown() {
			return v, nil
		}
		switch dotted(at) {
		case "id":
			return tftypes.NewValue(text, id), nil
		case "value":
			return tftypes.NewValue(text, "value of "+str(attrs, "name")), nil
		}
		if !v.Type().Is(tftypes.String) {
			return tftypes.NewValue(v.Type(), nil), nil
		}
		return tftypes.NewValue(text, "from "+dotted(at)), nil
	})
	return state, id, err
}

// store writes the object to the cloud: a new one if verb is "Create", and otherwise an update.
func (r *rogue) store(typ, id string, state tftypes.Value, verb string) error {
	o := &cloud.Object{Type: typ, ID: id, By: r.by(), Attributes: map[string]json.RawMessage{}}
	types := state.Type().(tftypes.Object).AttributeTypes
	for name, v := range look(state) {
		data, err := cloud.Encode(v, types[name])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		o.Attributes[name] = data
	}
	if verb == "Create" {
		return cloud.Here().Create(o)
	}
	return cloud.Here().Update(o)
}

func (r *rogue) ImportResourceState(ctx context.Context, q *tfprotov6.ImportResourceStateRequest) (*tfprotov6.ImportResourceStateResponse, error) {
	sc := r.scene(r.schemas.resources[q.TypeName], nil, "ImportResourceState", "Import")
	id, err := importID(q)
	if err != nil {
		return nil, err
	}
	sc.key = id
	return play(ctx, r, sc, func() (*tfprotov6.ImportResourceStateResponse, error) {
		attrs := map[string]tftypes.Value{}
		for name, t := range sc.typ.(tftypes.Object).AttributeTypes {
			attrs[name] = nothing(t)
		}
		attrs["id"], attrs["name"] = tftypes.NewValue(text, id), tftypes.NewValue(text, id)
		state, err := tfprotov6.NewDynamicValue(sc.typ, tftypes.NewValue(sc.typ, attrs))
		one := &tfprotov6.ImportedResource{TypeName: q.TypeName, State: &state}
		if err == nil && q.TypeName == "rogue_thing" {
			one.Identity, err = identityOf(id)
		}
		a := &tfprotov6.ImportResourceStateResponse{ImportedResources: []*tfprotov6.ImportedResource{one}}
		sc.value, sc.private, sc.identity, sc.diags, sc.deferred = &one.State, &one.Private, &one.Identity, &a.Diagnostics, &a.Deferred
		return a, err
	})
}

// nothing returns the value for an attribute that an import does not know: null, or an empty list for list blocks.
func nothing(t tftypes.Type) tftypes.Value {
	if l, ok := t.(tftypes.List); ok && l.ElementType.Is(tftypes.Object{}) {
		return tftypes.NewValue(t, []tftypes.Value{})
	}
	return tftypes.NewValue(t, nil)
}

// importID returns the ID of an import, or the identity's attribute if the import is by identity.
func importID(q *tfprotov6.ImportResourceStateRequest) (string, error) {
	if q.Identity == nil || q.Identity.IdentityData == nil {
		return q.ID, nil
	}
	v, err := q.Identity.IdentityData.Unmarshal(identityType)
	return str(look(v), identityName), err
}

func (r *rogue) MoveResourceState(ctx context.Context, q *tfprotov6.MoveResourceStateRequest) (*tfprotov6.MoveResourceStateResponse, error) {
	sc := r.scene(r.schemas.resources[q.TargetTypeName], nil, "MoveResourceState", "Move")
	v, err := cloud.Decode(q.SourceState.JSON, sc.typ)
	if err != nil {
		return nil, err
	}
	sc.key = str(look(v), "name")
	return play(ctx, r, sc, func() (*tfprotov6.MoveResourceStateResponse, error) {
		state, err := tfprotov6.NewDynamicValue(sc.typ, v)
		a := &tfprotov6.MoveResourceStateResponse{TargetState: &state, TargetPrivate: q.SourcePrivate}
		sc.value, sc.private, sc.identity, sc.diags = &a.TargetState, &a.TargetPrivate, &a.TargetIdentity, &a.Diagnostics
		return a, err
	})
}

func (r *rogue) GenerateResourceConfig(context.Context, *tfprotov6.GenerateResourceConfigRequest) (*tfprotov6.GenerateResourceConfigResponse, error) {
	return nil, errors.New("not supported")
}

// change returns a scene for a plan or an apply. A deletion has no configuration, so its key and rules come from the
// prior state. The third name must end with the kind of the change.
func (r *rogue) change(s *tfprotov6.Schema, config, prior *tfprotov6.DynamicValue, names ...string) *scene {
	sc := r.scene(s, config, names...)
	if strings.HasSuffix(names[2], "Delete") {
		was := r.scene(s, prior, names...)
		sc.key, sc.spec = was.key, was.spec
	}
	return sc
}

// noteArrival logs the size of a request's private data, and the configured attributes that only the provider can set.
func noteArrival(ctx context.Context, private []byte, config tftypes.Value) {
	if len(private) > 0 {
		calls.Note(ctx, "private", len(private))
	}
	var set []string
	_ = tftypes.Walk(config, func(at *tftypes.AttributePath, v tftypes.Value) (bool, error) {
		if isComputed(at) && !v.IsNull() {
			set = append(set, dotted(at))
		}
		return true, nil
	})
	if len(set) > 0 {
		slices.Sort(set)
		calls.Note(ctx, "configured", set)
	}
}

// verb returns the kind of a change from the prior to the next value: Create, Delete or Update.
func verb(prior, next *tfprotov6.DynamicValue) string {
	if null(prior) {
		return "Create"
	}
	if null(next) {
		return "Delete"
	}
	return "Update"
}

// null reports whether a value is nil or null.
func null(d *tfprotov6.DynamicValue) bool {
	if d == nil {
		return true
	}
	yes, err := d.IsNull()
	return err == nil && yes
}

// identityName is the attribute of identities. Normally it is id, which is known after creation. With "identity-name"
// in PLAYGROUND_ROGUE_SCHEMA it is name, which is known before, and IDs are names.
var identityName = func() string {
	if strings.Contains(os.Getenv(EnvSchema), "identity-name") {
		return "name"
	}
	return "id"
}()

var identityType = tftypes.Object{AttributeTypes: map[string]tftypes.Type{identityName: text}}

// identityOf returns the identity of an object with an ID, which is text, nil for null, or tftypes.UnknownValue.
func identityOf(id any) (*tfprotov6.ResourceIdentityData, error) {
	d, err := tfprotov6.NewDynamicValue(identityType, tftypes.NewValue(identityType, map[string]tftypes.Value{
		identityName: tftypes.NewValue(text, id),
	}))
	return &tfprotov6.ResourceIdentityData{IdentityData: &d}, err
}
