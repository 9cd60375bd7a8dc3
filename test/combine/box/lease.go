package box

import (
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/zclconf/go-cty/cty"

	"github.com/lethe-iac/lethe/test/combine/cloud"
)

// Canary is part of every token of a lease, unless COMBINE_CANARY is set. No file, stream or log may contain it.
const Canary = "CANARY-5ecret-of-the-lease"

// canary returns COMBINE_CANARY, or Canary if that is not set.
func canary() string {
	if s := os.Getenv("COMBINE_CANARY"); s != "" {
		return s
	}
	return Canary
}

func (p *Provider) ValidateEphemeralResourceConfig(context, *tfprotov6.ValidateEphemeralResourceConfigRequest) (*tfprotov6.ValidateEphemeralResourceConfigResponse, error) {
	return &tfprotov6.ValidateEphemeralResourceConfigResponse{}, nil
}

func (p *Provider) OpenEphemeralResource(ctx context, q *tfprotov6.OpenEphemeralResourceRequest) (*tfprotov6.OpenEphemeralResourceResponse, error) {
	v, err := decode(q.Config, leaseType)
	if err != nil {
		return nil, err
	}
	name := text(v, "name")
	a := &tfprotov6.OpenEphemeralResourceResponse{}
	err = p.call(ctx, cloud.Call{Call: "open", Type: q.TypeName, Key: name}, func(c *cloud.Call, how string) error {
		c.ID = p.Cloud.Fresh("lease-" + name)
		m := v.AsValueMap()
		m["id"], m["text"] = cty.StringVal(c.ID), cty.StringVal("lease of "+name)
		m["token"] = cty.StringVal(canary() + "-" + name)
		a.Result, a.Private = encode(cty.ObjectVal(m), leaseType), []byte(c.ID)
		return p.Cloud.Open(c.ID)
	})
	a.Diagnostics = tell(err)
	return a, nil
}

func (p *Provider) RenewEphemeralResource(ctx context, q *tfprotov6.RenewEphemeralResourceRequest) (*tfprotov6.RenewEphemeralResourceResponse, error) {
	err := p.call(ctx, cloud.Call{Call: "renew", Type: q.TypeName, ID: string(q.Private)}, func(*cloud.Call, string) error { return nil })
	return &tfprotov6.RenewEphemeralResourceResponse{Diagnostics: tell(err), Private: q.Private}, nil
}

func (p *Provider) CloseEphemeralResource(ctx context, q *tfprotov6.CloseEphemeralResourceRequest) (*tfprotov6.CloseEphemeralResourceResponse, error) {
	id := string(q.Private)
	err := p.call(ctx, cloud.Call{Call: "close", Type: q.TypeName, ID: id}, func(*cloud.Call, string) error {
		if err := p.Cloud.Close(id); err != nil {
			return fmt.Errorf("a lease that is not open: %w", err)
		}
		return nil
	})
	return &tfprotov6.CloseEphemeralResourceResponse{Diagnostics: tell(err)}, nil
}
