// Package strict is a provider with the required argument region. Tests check that an engine asks for the argument, and
// does not guess it for an implied provider. They also check how an engine treats a region that is unknown during plan.
package strict

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	dataschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	ephemeralschema "github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	resourceschema "github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/lethe-iac/lethe/test/providers/calls"
	"github.com/lethe-iac/lethe/test/providers/cloud"
)

// New returns the provider.
func New() provider.Provider { return &strict{} }

// Server returns a function that makes provider servers. Each server logs every call in book.
func Server(book *calls.Book) func() tfprotov6.ProviderServer {
	return func() tfprotov6.ProviderServer {
		return calls.Server6(book, providerserver.NewProtocol6(New())())
	}
}

type strict struct{}

func (p *strict) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "strict"
}

func (p *strict) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"region": schema.StringAttribute{Required: true, Description: "Where everything is."},
		"label":  schema.StringAttribute{Optional: true},
		"token":  schema.StringAttribute{Optional: true, Sensitive: true},
		"reach":  schema.BoolAttribute{Optional: true, Description: "Whether configuring fails if the region is unknown."},
	}}
}

func (p *strict) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var region types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("region"), &region)...)
	var reach types.Bool
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("reach"), &reach)...)
	if region.IsUnknown() && reach.ValueBool() {
		resp.Diagnostics.AddError("Region unknown", "The provider cannot be configured without a region.")
	}
	calls.Note(ctx, "region", region.ValueString())
	resp.ResourceData, resp.DataSourceData, resp.EphemeralResourceData = region.ValueString(), region.ValueString(), region.ValueString()
}

func (p *strict) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		func() resource.Resource { return &thing{} },
		func() resource.Resource { return &manifest{} },
		func() resource.Resource { return &chart{} },
	}
}

func (p *strict) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		func() datasource.DataSource { return &region{} },
		func() datasource.DataSource { return &bare{} },
	}
}

func (p *strict) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{func() ephemeral.EphemeralResource { return &token{} }}
}

// token is an ephemeral resource whose value names the region of its provider.
type token struct{ region string }

type tokenModel struct {
	Value types.String `tfsdk:"value"`
}

func (t *token) Metadata(_ context.Context, _ ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = "strict_token"
}

func (t *token) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	resp.Schema = ephemeralschema.Schema{Attributes: map[string]ephemeralschema.Attribute{
		"value": ephemeralschema.StringAttribute{Computed: true},
	}}
}

func (t *token) Configure(_ context.Context, req ephemeral.ConfigureRequest, _ *ephemeral.ConfigureResponse) {
	t.region, _ = req.ProviderData.(string)
}

func (t *token) Open(ctx context.Context, _ ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	resp.Diagnostics.Append(resp.Result.Set(ctx, &tokenModel{Value: types.StringValue("token-of-" + t.region)})...)
}

// region is a data source that returns the region of its provider.
type region struct{ name string }

type regionModel struct {
	Name types.String `tfsdk:"name"`
}

func (r *region) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = "strict_region"
}

func (r *region) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = dataschema.Schema{Attributes: map[string]dataschema.Attribute{
		"name": dataschema.StringAttribute{Computed: true},
	}}
}

func (r *region) Configure(_ context.Context, req datasource.ConfigureRequest, _ *datasource.ConfigureResponse) {
	r.name, _ = req.ProviderData.(string)
}

func (r *region) Read(ctx context.Context, _ datasource.ReadRequest, resp *datasource.ReadResponse) {
	resp.Diagnostics.Append(resp.State.Set(ctx, &regionModel{Name: types.StringValue(r.name)})...)
}

// bare is the data source region with a type name that is only the name of the provider.
type bare struct{ region }

func (b *bare) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = "strict"
}

// thing is a resource that stores the region in which it was created.
type thing struct{ region string }

type thingModel struct {
	ID     types.String `tfsdk:"id"`
	Name   types.String `tfsdk:"name"`
	Region types.String `tfsdk:"region"`
}

const thingType = "strict_thing"

func (t *thing) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = thingType
}

func (t *thing) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = resourceschema.Schema{Attributes: map[string]resourceschema.Attribute{
		"id":     resourceschema.StringAttribute{Computed: true},
		"name":   resourceschema.StringAttribute{Required: true},
		"region": resourceschema.StringAttribute{Computed: true},
	}}
}

func (t *thing) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	t.region, _ = req.ProviderData.(string)
}

func (t *thing) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m thingModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	m.ID, m.Region = types.StringValue("strict-"+cloud.Random(12)), types.StringValue(t.region)
	if err := cloud.Here().Create(&cloud.Object{Type: thingType, ID: m.ID.ValueString()}); err != nil {
		resp.Diagnostics.AddError("Creating failed", err.Error())
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// Read returns the state unchanged: the response contains it already.
func (t *thing) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (t *thing) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m thingModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	var prior thingModel
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	m.ID, m.Region = prior.ID, types.StringValue(t.region)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (t *thing) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m thingModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if err := cloud.Here().Delete(thingType, m.ID.ValueString()); err != nil {
		resp.Diagnostics.AddError("Deleting failed", err.Error())
	}
}

// manifest is a thing whose plan fails without a region, as for objects whose schema a server defines.
type manifest struct{ thing }

func (m *manifest) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "strict_manifest"
}

func (m *manifest) ModifyPlan(_ context.Context, _ resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if m.region == "" {
		resp.Diagnostics.AddError("No region", "The region is needed to plan a manifest.")
	}
}

// chart is a thing whose plan is deferred without a region, if the engine allows that. If the engine does not allow it,
// the plan fails only for the name "needs-region".
type chart struct{ thing }

func (c *chart) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "strict_chart"
}

func (c *chart) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var name types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("name"), &name)...)
	switch {
	case c.region != "":
	case req.ClientCapabilities.DeferralAllowed:
		resp.Deferred = &resource.Deferred{Reason: resource.DeferredReasonAbsentPrereq}
	case name.ValueString() == "needs-region":
		resp.Diagnostics.AddError("No region", "The region is needed to plan this chart.")
	}
}
