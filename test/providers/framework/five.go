package framework

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// NewFive returns the part of the provider of protocol 5 that its SDK does not support: ephemeral resources and
// functions. Protocol 5 has no nested attributes, so the part contains only types without them.
func NewFive() provider.Provider { return &five{} }

type five struct{}

func (p *five) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName, resp.Version = "playground5", Version
}

func (p *five) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"label":    schema.StringAttribute{Optional: true},
		"endpoint": schema.StringAttribute{Optional: true},
		"token":    schema.StringAttribute{Optional: true, Sensitive: true},
		"fail_on":  schema.StringAttribute{Optional: true},
		"delay":    schema.StringAttribute{Optional: true},
	}}
}

// Configure does not fail or wait on demand, because the other part does.
func (p *five) Configure(_ context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	resp.EphemeralResourceData = &session{label: look(req.Config.Raw).str("label")}
}

func (p *five) Resources(context.Context) []func() resource.Resource { return nil }

func (p *five) DataSources(context.Context) []func() datasource.DataSource { return nil }

func (p *five) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{
		func() ephemeral.EphemeralResource { return &leaseKind{provider: "playground5"} },
		func() ephemeral.EphemeralResource { return &randomKind{provider: "playground5"} },
		func() ephemeral.EphemeralResource { return &nullKind{provider: "playground5"} },
	}
}

func (p *five) Functions(context.Context) []func() function.Function { return functions() }
