// Package framework is the playground provider of protocol 6, written on terraform-plugin-framework like most new
// providers. It also contains the ephemeral resources that the playground provider of protocol 5 uses.
//
// Its types cover every kind of attribute and block. They fail and wait on demand (package trouble), store their
// objects in a directory (package cloud) and log every call (package calls). The README of the module lists every type
// and every knob.
//
// Managed resources share one implementation (life.go). A [form] describes a type. The life creates, reads, updates and
// deletes objects of all types as plain trees of values. Schemas, defaults and plan modifiers are processed by the
// framework, because engines meet the framework in real providers.
package framework

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/function"
	listing "github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/metaschema"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/statestore"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/lethe-iac/lethe/test/providers/calls"
	"github.com/lethe-iac/lethe/test/providers/trouble"
)

// EnvIDs names the variable that makes identities from names instead of random digits if it is "name".
const EnvIDs = "PLAYGROUND_IDS"

// Version is the version that the provider reports.
const Version = "1.0.0"

// New returns the provider.
func New() provider.Provider { return &playground{} }

// Server returns a function that makes provider servers. Each server logs every call in book.
func Server(book *calls.Book) func() tfprotov6.ProviderServer {
	return func() tfprotov6.ProviderServer {
		return calls.Server6(book, providerserver.NewProtocol6(New())())
	}
}

type playground struct{}

// A session is the state of the configured provider that its types use.
type session struct {
	label    string
	endpoint string
}

// reach sends a greeting to an endpoint of the form tcp://HOST:PORT, and notes the line that it receives. It returns an
// error if the endpoint does not answer within a minute. It ignores any other endpoint and a nil session.
func (s *session) reach(ctx context.Context) error {
	if s == nil || !strings.HasPrefix(s.endpoint, "tcp://") {
		return nil
	}
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(s.endpoint, "tcp://"), time.Minute)
	if err != nil {
		return errors.New("the endpoint cannot be reached")
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(conn, "hello from %s\n", s.label)
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return errors.New("the endpoint does not answer")
	}
	calls.Note(ctx, "reached", strings.TrimSpace(line))
	return nil
}

func (p *playground) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName, resp.Version = "playground", Version
}

func (p *playground) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		Description: "A provider to test engines with.",
		Attributes: map[string]schema.Attribute{
			"label":      schema.StringAttribute{Optional: true, Description: "Stands in every line of the call log."},
			"endpoint":   schema.StringAttribute{Optional: true, Description: "If it is tcp://HOST:PORT, it is said hello to when the provider is configured and in each call of a resource."},
			"token":      schema.StringAttribute{Optional: true, Sensitive: true},
			"access_key": schema.StringAttribute{Optional: true, Sensitive: true},
			"secret_key": schema.StringAttribute{Optional: true, Sensitive: true},
			"region":     schema.StringAttribute{Optional: true, DeprecationMessage: "Use endpoint."},
			"fail_on":    schema.StringAttribute{Optional: true, Description: "Where to fail: configure, validate."},
			"delay":      schema.StringAttribute{Optional: true, Description: "How long configuring takes."},
			"settings": schema.SingleNestedAttribute{Optional: true, Attributes: map[string]schema.Attribute{
				"retries": schema.Int64Attribute{Optional: true},
				"tags":    schema.MapAttribute{Optional: true, ElementType: stringType},
			}},
		},
		Blocks: map[string]schema.Block{
			"assume_role": schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{
				Attributes: map[string]schema.Attribute{
					"arn": schema.StringAttribute{Required: true},
				},
			}},
		},
	}
}

func (p *playground) MetaSchema(_ context.Context, _ provider.MetaSchemaRequest, resp *provider.MetaSchemaResponse) {
	resp.Schema = metaschema.Schema{Attributes: map[string]metaschema.Attribute{
		"module_name": metaschema.StringAttribute{Optional: true},
	}}
}

func (p *playground) ValidateConfig(_ context.Context, req provider.ValidateConfigRequest, resp *provider.ValidateConfigResponse) {
	config := look(req.Config.Raw)
	if err := trouble.Fail(config.str("fail_on"), "validate", config.str("label")); err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("fail_on"), "Invalid provider configuration", err.Error())
	}
}

// Configure accepts any configuration, also unknown values. The engine must not read objects through a provider with
// unknown values. Configure waits, fails and greets the endpoint on request.
func (p *playground) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	config := look(req.Config.Raw)
	label := config.str("label")
	calls.Note(ctx, "client_version", req.TerraformVersion)
	if err := trouble.Wait(ctx, config.str("delay"), "configure", label); err != nil {
		resp.Diagnostics.AddError("Configuring failed", err.Error())
		return
	}
	if err := trouble.Fail(config.str("fail_on"), "configure", label); err != nil {
		resp.Diagnostics.AddError("Configuring failed", err.Error())
		return
	}
	s := &session{label: label, endpoint: config.str("endpoint")}
	if err := s.reach(ctx); err != nil {
		resp.Diagnostics.AddError("Configuring failed", err.Error())
		return
	}
	resp.ResourceData, resp.DataSourceData, resp.EphemeralResourceData, resp.ListResourceData = s, s, s, s
}

func (p *playground) Resources(context.Context) []func() resource.Resource {
	all := []func() resource.Resource{
		func() resource.Resource { return newThing() },
		func() resource.Resource { return newLife(oldThing) },
		func() resource.Resource { return newLife(list) },
		func() resource.Resource { return newLife(blocks) },
		func() resource.Resource { return newLife(secret) },
		func() resource.Resource { return newLife(password) },
		func() resource.Resource { return newLife(managerSecret) },
		func() resource.Resource { return newLife(managerVersion) },
		func() resource.Resource { return newLife(parameter) },
	}
	if Matrix() {
		all = append(all, func() resource.Resource { return newLife(matrix) })
	}
	return all
}

func (p *playground) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		func() datasource.DataSource { return nullData() },
		func() datasource.DataSource { return thingData() },
		func() datasource.DataSource { return legacyData() },
		func() datasource.DataSource { return credentialData() },
		func() datasource.DataSource { return usersData() },
	}
}

func (p *playground) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{
		func() ephemeral.EphemeralResource { return &leaseKind{provider: "playground"} },
		func() ephemeral.EphemeralResource { return &randomKind{provider: "playground"} },
		func() ephemeral.EphemeralResource { return &nullKind{provider: "playground"} },
		func() ephemeral.EphemeralResource { return &versionKind{provider: "playground"} },
		func() ephemeral.EphemeralResource { return &secretKind{provider: "playground"} },
	}
}

func (p *playground) ListResources(context.Context) []func() listing.ListResource {
	return []func() listing.ListResource{func() listing.ListResource { return newSearch(thing) }}
}

func (p *playground) Actions(context.Context) []func() action.Action {
	return []func() action.Action{func() action.Action { return &act{} }}
}

func (p *playground) StateStores(context.Context) []func() statestore.StateStore {
	return []func() statestore.StateStore{func() statestore.StateStore { return &stateStore{} }}
}

func (p *playground) Functions(context.Context) []func() function.Function {
	return functions()
}

var (
	_ provider.ProviderWithFunctions          = (*playground)(nil)
	_ provider.ProviderWithEphemeralResources = (*playground)(nil)
	_ provider.ProviderWithListResources      = (*playground)(nil)
	_ provider.ProviderWithActions            = (*playground)(nil)
	_ provider.ProviderWithStateStores        = (*playground)(nil)
	_ provider.ProviderWithValidateConfig     = (*playground)(nil)
	_ provider.ProviderWithMetaSchema         = (*playground)(nil)
)
