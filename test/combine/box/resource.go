package box

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/lethe-iac/lethe/test/combine/cloud"
)

func (p *Provider) ValidateResourceConfig(context, *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return &tfprotov6.ValidateResourceConfigResponse{}, nil
}

func (p *Provider) UpgradeResourceState(_ context, q *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	v, err := ctyjson.Unmarshal(q.RawState.JSON, boxType)
	if err != nil {
		return nil, err
	}
	return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: encode(v, boxType)}, nil
}

func (p *Provider) MoveResourceState(ctx context, q *tfprotov6.MoveResourceStateRequest) (*tfprotov6.MoveResourceStateResponse, error) {
	if !strings.HasPrefix(q.SourceTypeName, "combine_") {
		return &tfprotov6.MoveResourceStateResponse{Diagnostics: tell(errors.New("only boxes and crates can be moved"))}, nil
	}
	v, err := ctyjson.Unmarshal(q.SourceState.JSON, boxType)
	if err != nil {
		return nil, err
	}
	err = p.call(ctx, cloud.Call{Call: "move", Type: q.TargetTypeName, Key: text(v, "name"), Note: q.SourceTypeName}, func(*cloud.Call, string) error { return nil })
	return &tfprotov6.MoveResourceStateResponse{TargetState: encode(v, boxType), Diagnostics: tell(err)}, nil
}

func (p *Provider) ImportResourceState(ctx context, q *tfprotov6.ImportResourceStateRequest) (*tfprotov6.ImportResourceStateResponse, error) {
	a := &tfprotov6.ImportResourceStateResponse{}
	err := p.call(ctx, cloud.Call{Call: "import", Type: q.TypeName, Key: q.ID, ID: q.ID}, func(*cloud.Call, string) error {
		o, err := p.Cloud.Get(q.ID, p.session(ctx).region)
		if err != nil {
			return err
		}
		v, err := stored(o)
		a.ImportedResources = []*tfprotov6.ImportedResource{{TypeName: q.TypeName, State: encode(v, boxType)}}
		return err
	})
	a.Diagnostics = tell(err)
	return a, nil
}

func (p *Provider) ReadResource(ctx context, q *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	v, err := decode(q.CurrentState, boxType)
	if err != nil {
		return nil, err
	}
	a := &tfprotov6.ReadResourceResponse{NewState: q.CurrentState, Private: q.Private}
	id := text(v, "id")
	err = p.call(ctx, cloud.Call{Call: "read", Type: q.TypeName, Key: text(v, "name"), ID: id}, func(c *cloud.Call, _ string) error {
		if p.session(ctx).unknown {
			return nil // the region is unknown, so the object is returned unchanged
		}
		o, err := p.Cloud.Get(id, p.session(ctx).region)
		if errors.Is(err, cloud.ErrGone) {
			c.Note = "gone" // the object does not exist in the region of this provider
			a.NewState = encode(cty.NullVal(boxType), boxType)
			return nil
		}
		if err != nil {
			return err
		}
		now, err := stored(o)
		a.NewState = encode(now, boxType)
		return err
	})
	a.Diagnostics = tell(err)
	return a, nil
}

// stored returns an object of the cloud as a value of the type of boxes. Missing attributes are null, and missing
// blocks are empty.
func stored(o *cloud.Object) (cty.Value, error) {
	m := map[string]cty.Value{}
	for name, t := range boxType.AttributeTypes() {
		m[name] = cty.NullVal(t)
		switch name { // blocks that the object does not have are an empty collection
		case "part":
			m[name] = cty.ListValEmpty(part)
		case "rule":
			m[name] = cty.SetValEmpty(rule)
		}
		if text, ok := o.Attributes[name]; ok {
			v, err := ctyjson.Unmarshal(text, t)
			if err != nil {
				return cty.NullVal(boxType), err
			}
			m[name] = v
		}
	}
	return cty.ObjectVal(m), nil
}

// names reports whether an object with that ID exists, or may exist because the objects cannot be read. A leaked
// password must not equal the ID of an object: the engine would lose the object.
func (p *Provider) names(id string) bool {
	all, err := p.Cloud.Objects()
	return err != nil || slices.ContainsFunc(all, func(o *cloud.Object) bool { return o.ID == id })
}

// store writes a value to the cloud. password is the hash of the password.
func (p *Provider) store(v cty.Value, region, password string) error {
	o := &cloud.Object{ID: text(v, "id"), Region: region, Password: password, Attributes: map[string]json.RawMessage{}}
	for name, t := range boxType.AttributeTypes() {
		b, err := ctyjson.Marshal(v.GetAttr(name), t)
		if err != nil {
			return err
		}
		o.Attributes[name] = b
	}
	return p.Cloud.Put(o)
}

func (p *Provider) PlanResourceChange(ctx context, q *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	prior, err := decode(q.PriorState, boxType)
	if err != nil {
		return nil, err
	}
	proposed, err := decode(q.ProposedNewState, boxType)
	if err != nil {
		return nil, err
	}
	config, err := decode(q.Config, boxType)
	if err != nil {
		return nil, err
	}
	a := &tfprotov6.PlanResourceChangeResponse{PlannedState: q.ProposedNewState, PlannedPrivate: q.PriorPrivate}
	if proposed.IsNull() {
		return a, nil
	}
	err = p.call(ctx, cloud.Call{Call: "plan", Type: q.TypeName, Key: text(proposed, "name")}, func(*cloud.Call, string) error {
		planned := plan(prior, proposed, config)
		a.PlannedState = encode(planned, boxType)
		if prior.IsNull() {
			return nil
		}
		for _, name := range []string{"name", "kind"} {
			if is := planned.GetAttr(name).Equals(prior.GetAttr(name)); !is.IsKnown() || is.False() {
				a.RequiresReplace = append(a.RequiresReplace, tftypes.NewAttributePath().WithAttributeName(name))
			}
		}
		return nil
	})
	a.Diagnostics = tell(err)
	return a, nil
}

// plan returns the planned object, with all values that are known before apply. prior is null for a new object.
// Passwords and pins are null. The etag is unknown if anything else changes.
func plan(prior, proposed, config cty.Value) cty.Value {
	m := proposed.AsValueMap()
	if prior.IsNull() {
		m["id"] = cty.UnknownVal(cty.String)
		if config.GetAttr("note").IsNull() {
			m["note"] = cty.UnknownVal(cty.String)
		}
	}
	if config.GetAttr("size").IsNull() {
		m["size"] = cty.NumberIntVal(1)
	}
	m["password"], m["password_wo"] = cty.NullVal(cty.String), cty.NullVal(cty.String)
	if l := m["limits"]; l.IsKnown() && !l.IsNull() {
		lm := l.AsValueMap()
		if c := config.GetAttr("limits"); c.IsKnown() && !c.IsNull() && c.GetAttr("high").IsNull() {
			lm["high"] = cty.NumberIntVal(9)
		}
		m["limits"] = cty.ObjectVal(lm)
	}
	m["part"] = eachPart(m["part"], func(pm map[string]cty.Value) {
		pm["pin"] = cty.NullVal(cty.String)
		if pm["code"].IsNull() {
			pm["code"] = cty.UnknownVal(cty.String)
		}
	})
	if !prior.IsNull() {
		old, now := prior.AsValueMap(), map[string]cty.Value{}
		for name, v := range m {
			now[name] = v
		}
		now["etag"] = old["etag"]
		if cty.ObjectVal(now).RawEquals(prior) {
			m["etag"] = old["etag"]
			return cty.ObjectVal(m)
		}
	}
	m["etag"] = cty.UnknownVal(cty.String)
	return cty.ObjectVal(m)
}

// eachPart returns a list of parts after f has changed the attributes of each. Unknown parts are unchanged.
func eachPart(list cty.Value, f func(map[string]cty.Value)) cty.Value {
	if !list.IsKnown() || list.IsNull() || list.LengthInt() == 0 {
		return list
	}
	var all []cty.Value
	for _, v := range list.AsValueSlice() {
		if !v.IsKnown() {
			all = append(all, v)
			continue
		}
		m := v.AsValueMap()
		f(m)
		all = append(all, cty.ObjectVal(m))
	}
	return cty.ListVal(all)
}

func (p *Provider) ApplyResourceChange(ctx context, q *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	prior, err := decode(q.PriorState, boxType)
	if err != nil {
		return nil, err
	}
	planned, err := decode(q.PlannedState, boxType)
	if err != nil {
		return nil, err
	}
	config, err := decode(q.Config, boxType)
	if err != nil {
		return nil, err
	}
	a := &tfprotov6.ApplyResourceChangeResponse{NewState: q.PriorState, Private: q.PlannedPrivate}
	if planned.IsNull() {
		err := p.call(ctx, cloud.Call{Call: "delete", Type: q.TypeName, Key: text(prior, "name"), ID: text(prior, "id")}, func(c *cloud.Call, _ string) error {
			users, err := p.Cloud.Delete(c.ID)
			if len(users) > 0 {
				c.Note = "used by " + strings.Join(users, " ")
			}
			if err == nil {
				a.NewState = q.PlannedState
			}
			return err
		})
		a.Diagnostics = tell(err)
		return a, nil
	}
	verb := "update"
	if prior.IsNull() {
		verb = "create"
	}
	password := text(config, "password") + text(config, "password_wo")
	err = p.call(ctx, cloud.Call{Call: verb, Type: q.TypeName, Key: text(planned, "name"), Note: cloud.Hash(random.ReplaceAllString(password, ""))}, func(c *cloud.Call, how string) error {
		v := p.made(planned, verb)
		c.ID = text(v, "id")
		if how == cloud.Lie {
			v = with(v, "size", cty.NumberIntVal(77))
		}
		if err := p.store(v, p.session(ctx).region, cloud.Hash(password)); err != nil {
			return err
		}
		switch { // the fault Leak puts the password into an attribute that is stored
		case how == cloud.Leak && password != "" && verb == "create" && len(c.Key)%2 == 0 && !p.names(password):
			v = with(v, "id", cty.StringVal(password))
		case how == cloud.Leak && password != "":
			v = with(v, "note", cty.StringVal(password))
		}
		a.NewState = encode(v, boxType)
		return nil
	})
	a.Diagnostics = tell(err)
	return a, nil
}

// random matches IDs that differ from run to run. An etag does not depend on them, so that two runs can be compared.
var random = regexp.MustCompile(`(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// steady returns a value as text without random IDs. The order of set elements does not depend on them, either.
func steady(v cty.Value) string {
	if t := v.Type(); v.IsNull() || !t.IsObjectType() && !t.IsSetType() {
		return random.ReplaceAllString(v.GoString(), "")
	}
	var all []string
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		if v.Type().IsObjectType() {
			all = append(all, k.AsString())
		}
		all = append(all, steady(e))
	}
	if v.Type().IsSetType() {
		slices.Sort(all)
	}
	return strings.Join(all, "\n")
}

// made returns the applied object for a plan: all unknown values are filled in. If verb is "create", the object also
// gets a new ID.
func (p *Provider) made(planned cty.Value, verb string) cty.Value {
	m := planned.AsValueMap()
	if verb == "create" {
		m["id"] = cty.StringVal(p.Cloud.Fresh(text(planned, "name")))
	}
	if !m["note"].IsKnown() {
		m["note"] = cty.StringVal("note of " + text(planned, "name"))
	}
	m["part"] = eachPart(m["part"], func(pm map[string]cty.Value) {
		if !pm["code"].IsKnown() {
			pm["code"] = cty.StringVal("code of " + text(cty.ObjectVal(pm), "label"))
		}
	})
	m["etag"] = cty.StringVal("")
	m["etag"] = cty.StringVal(cloud.Hash(steady(cty.ObjectVal(m))))
	return cty.ObjectVal(m)
}

// with returns an object with another value of one attribute.
func with(v cty.Value, name string, is cty.Value) cty.Value {
	m := v.AsValueMap()
	m[name] = is
	return cty.ObjectVal(m)
}
