// Package sdkv2 is the playground provider of protocol 5. It is written on terraform-plugin-sdk/v2, like most providers
// in use, with the oddities of its legacy type system. That SDK has no ephemeral resources. terraform-plugin-mux adds
// the ephemeral resources of package framework, served over protocol 5.
package sdkv2

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-mux/tf5muxserver"
	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"

	"github.com/lethe-iac/lethe/test/providers/calls"
	"github.com/lethe-iac/lethe/test/providers/framework"
	"github.com/lethe-iac/lethe/test/providers/trouble"
)

// Server returns a function that makes servers of one provider with the types of both SDKs (SDKv2 and the framework).
// Each server logs every call in book.
func Server(ctx context.Context, book *calls.Book) (func() tfprotov5.ProviderServer, error) {
	mux, err := tf5muxserver.NewMuxServer(ctx,
		New().GRPCProvider,
		providerserver.NewProtocol5(framework.NewFive()),
	)
	if err != nil {
		return nil, err
	}
	return func() tfprotov5.ProviderServer { return calls.Server5(book, mux.ProviderServer()) }, nil
}

// A session is the state of the configured provider that its resources use.
type session struct{ label string }

// New returns the part that is written on the SDK. The schema of its configuration must equal the schema of
// framework.NewFive, because the mux server requires it.
func New() *schema.Provider {
	text := func() *schema.Schema { return &schema.Schema{Type: schema.TypeString, Optional: true} }
	hidden := text()
	hidden.Sensitive = true
	p := &schema.Provider{
		Schema: map[string]*schema.Schema{
			"label": text(), "endpoint": text(), "token": hidden, "fail_on": text(), "delay": text(),
		},
		ResourcesMap: map[string]*schema.Resource{
			"playground5_thing":     thing(),
			"playground5_old_thing": oldThing(),
			"playground5_legacy":    legacy(),
			"playground5_habit":     habit(),
		},
		DataSourcesMap: map[string]*schema.Resource{
			"playground5_null":  nullData(),
			"playground5_thing": thingData(),
		},
		ConfigureContextFunc: configure,
	}
	if framework.Matrix() {
		p.ResourcesMap["playground5_matrix"] = matrix()
	}
	if withAccount() {
		p.ResourcesMap["playground5_account"] = account()
	}
	return p
}

func configure(ctx context.Context, d *schema.ResourceData) (any, diag.Diagnostics) {
	label := d.Get("label").(string)
	if err := trouble.Wait(ctx, d.Get("delay").(string), "configure", label); err != nil {
		return nil, diag.FromErr(err)
	}
	if err := trouble.Fail(d.Get("fail_on").(string), "configure", label); err != nil {
		return nil, diag.FromErr(err)
	}
	return &session{label: label}, nil
}
