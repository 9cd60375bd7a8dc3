package raw

import (
	"context"
	"encoding/json"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/lethe-iac/lethe/test/providers/calls"
	"github.com/lethe-iac/lethe/test/providers/cloud"
)

// lease is the private data of a lease. It includes its rules, so that renewal and closing can misbehave.
type lease struct {
	Name       string `json:"name"`
	ID         string `json:"id"`
	Generation int    `json:"generation"`
	RenewAfter string `json:"renew_after"`
	Misbehave  string `json:"misbehave"`
}

func (l *lease) json() []byte {
	data, _ := json.Marshal(l)
	return data
}

// due returns the time of the next renewal, or the zero time if RenewAfter is no duration.
func (l *lease) due() time.Time {
	d, err := time.ParseDuration(l.RenewAfter)
	if err != nil {
		return time.Time{}
	}
	return time.Now().Add(d)
}

func (r *rogue) ValidateEphemeralResourceConfig(ctx context.Context, q *tfprotov6.ValidateEphemeralResourceConfigRequest) (*tfprotov6.ValidateEphemeralResourceConfigResponse, error) {
	sc := r.scene(r.schemas.ephemeral[q.TypeName], q.Config, "ValidateEphemeralResourceConfig", "ValidateEphemeral")
	return play(ctx, r, sc, func() (*tfprotov6.ValidateEphemeralResourceConfigResponse, error) {
		a := &tfprotov6.ValidateEphemeralResourceConfigResponse{}
		sc.diags = &a.Diagnostics
		return a, nil
	})
}

func (r *rogue) OpenEphemeralResource(ctx context.Context, q *tfprotov6.OpenEphemeralResourceRequest) (*tfprotov6.OpenEphemeralResourceResponse, error) {
	sc := r.scene(r.schemas.ephemeral[q.TypeName], q.Config, "OpenEphemeralResource", "Open")
	return play(ctx, r, sc, func() (*tfprotov6.OpenEphemeralResourceResponse, error) {
		attrs := look(sc.config)
		name := str(attrs, "name")
		l := &lease{Name: name, ID: name + "-" + cloud.Random(8), RenewAfter: str(attrs, "renew_after"), Misbehave: sc.spec}
		if err := cloud.Here().OpenLease(&cloud.Lease{Type: q.TypeName, ID: l.ID, Name: name, By: r.by()}); err != nil {
			return nil, err
		}
		calls.Note(ctx, "id", l.ID)
		calls.Note(ctx, "generation", 0)
		sc.secret = canary() + "-" + cloud.Random(16)
		attrs["id"] = tftypes.NewValue(text, l.ID)
		attrs["value"] = tftypes.NewValue(text, "value of "+name)
		attrs["token"] = tftypes.NewValue(text, sc.secret)
		result, err := tfprotov6.NewDynamicValue(sc.typ, tftypes.NewValue(sc.typ, attrs))
		a := &tfprotov6.OpenEphemeralResourceResponse{Result: &result, Private: l.json(), RenewAt: l.due()}
		sc.value, sc.private, sc.diags, sc.deferred = &a.Result, &a.Private, &a.Diagnostics, &a.Deferred
		return a, err
	})
}

func (r *rogue) RenewEphemeralResource(ctx context.Context, q *tfprotov6.RenewEphemeralResourceRequest) (*tfprotov6.RenewEphemeralResourceResponse, error) {
	l, sc := recall(ctx, q.Private, "RenewEphemeralResource", "Renew")
	return play(ctx, r, sc, func() (*tfprotov6.RenewEphemeralResourceResponse, error) {
		l.Generation++
		if err := cloud.Here().RenewLease(l.ID, l.Generation, time.Time{}); err != nil {
			return nil, err
		}
		a := &tfprotov6.RenewEphemeralResourceResponse{Private: l.json(), RenewAt: l.due()}
		sc.private, sc.diags = &a.Private, &a.Diagnostics
		return a, nil
	})
}

func (r *rogue) CloseEphemeralResource(ctx context.Context, q *tfprotov6.CloseEphemeralResourceRequest) (*tfprotov6.CloseEphemeralResourceResponse, error) {
	l, sc := recall(ctx, q.Private, "CloseEphemeralResource", "Close")
	return play(ctx, r, sc, func() (*tfprotov6.CloseEphemeralResourceResponse, error) {
		a := &tfprotov6.CloseEphemeralResourceResponse{}
		sc.diags = &a.Diagnostics
		if err := cloud.Here().CloseLease(l.ID); err != nil {
			return nil, err
		}
		return a, nil
	})
}

// recall returns the lease in private data, and the scene of the call, which has the rules of the lease. If a rule has
// damaged the data, the lease is empty. names are those of the scene.
func recall(ctx context.Context, private []byte, names ...string) (*lease, *scene) {
	l := new(lease)
	_ = json.Unmarshal(private, l)
	calls.Key(ctx, l.Name)
	calls.Note(ctx, "id", l.ID)
	calls.Note(ctx, "generation", l.Generation)
	return l, &scene{names: names, key: l.Name, spec: l.Misbehave, secret: canary()}
}
