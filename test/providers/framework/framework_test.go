package framework

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/lethe-iac/lethe/test/providers/cloud"
)

// TestSchemas lets the framework check every schema and definition of both providers.
func TestSchemas(t *testing.T) {
	t.Setenv(EnvMatrix, "1")
	ctx := context.Background()
	for name, p := range map[string]provider.Provider{"playground": New(), "playground5": NewFive()} {
		check := func(what string, diags diag.Diagnostics) {
			for _, d := range diags {
				t.Errorf("%s: %s: %s", what, d.Summary(), d.Detail())
			}
		}
		var s provider.SchemaResponse
		p.Schema(ctx, provider.SchemaRequest{}, &s)
		check("provider", s.Schema.ValidateImplementation(ctx))
		for _, f := range p.Resources(ctx) {
			checkResource(ctx, name, f(), check)
		}
		for _, f := range p.DataSources(ctx) {
			var m datasource.MetadataResponse
			var s datasource.SchemaResponse
			f().Metadata(ctx, datasource.MetadataRequest{ProviderTypeName: name}, &m)
			f().Schema(ctx, datasource.SchemaRequest{}, &s)
			check("data "+m.TypeName, s.Schema.ValidateImplementation(ctx))
		}
		for _, f := range p.(provider.ProviderWithEphemeralResources).EphemeralResources(ctx) {
			var m ephemeral.MetadataResponse
			var s ephemeral.SchemaResponse
			f().Metadata(ctx, ephemeral.MetadataRequest{ProviderTypeName: name}, &m)
			f().Schema(ctx, ephemeral.SchemaRequest{}, &s)
			check("ephemeral "+m.TypeName, s.Schema.ValidateImplementation(ctx))
		}
		for _, f := range p.(provider.ProviderWithFunctions).Functions(ctx) {
			var m function.MetadataResponse
			var d function.DefinitionResponse
			f().Metadata(ctx, function.MetadataRequest{}, &m)
			f().Definition(ctx, function.DefinitionRequest{}, &d)
			resp := function.DefinitionValidateResponse{}
			d.Definition.ValidateImplementation(ctx, function.DefinitionValidateRequest{FuncName: m.Name}, &resp)
			check("function "+m.Name, resp.Diagnostics)
		}
	}
}

func checkResource(ctx context.Context, provider string, r resource.Resource, check func(string, diag.Diagnostics)) {
	var m resource.MetadataResponse
	var s resource.SchemaResponse
	r.Metadata(ctx, resource.MetadataRequest{ProviderTypeName: provider}, &m)
	r.Schema(ctx, resource.SchemaRequest{}, &s)
	check("resource "+m.TypeName, s.Schema.ValidateImplementation(ctx))
	if i, ok := r.(resource.ResourceWithIdentity); ok {
		var s resource.IdentitySchemaResponse
		i.IdentitySchema(ctx, resource.IdentitySchemaRequest{}, &s)
		check("identity of "+m.TypeName, s.IdentitySchema.ValidateImplementation(ctx))
	}
}

// server is the provider in this process, with an empty cloud.
type server struct {
	*testing.T
	tfprotov6.ProviderServer
	ctx     context.Context
	schemas *tfprotov6.GetProviderSchemaResponse
}

func serve(t *testing.T) *server {
	t.Helper()
	t.Setenv(cloud.Env, t.TempDir())
	s := &server{T: t, ctx: context.Background(), ProviderServer: providerserver.NewProtocol6(New())()}
	var err error
	if s.schemas, err = s.GetProviderSchema(s.ctx, &tfprotov6.GetProviderSchemaRequest{}); err != nil {
		t.Fatal(err)
	}
	s.fine("schema", s.schemas.Diagnostics)
	return s
}

func (s *server) fine(what string, diags []*tfprotov6.Diagnostic) {
	s.Helper()
	for _, d := range diags {
		s.Errorf("%s: %s: %s", what, d.Summary, d.Detail)
	}
}

func (s *server) typeOf(resource string) tftypes.Type {
	return s.schemas.ResourceSchemas[resource].ValueType()
}

// state encodes an object from JSON. Missing attributes are null.
func (s *server) state(typ tftypes.Type, text string) *tfprotov6.DynamicValue {
	s.Helper()
	v, err := cloud.Decode(json.RawMessage(text), typ)
	if err != nil {
		s.Fatal(err)
	}
	d, err := tfprotov6.NewDynamicValue(typ, v)
	if err != nil {
		s.Fatal(err)
	}
	return &d
}

func (s *server) look(typ tftypes.Type, d *tfprotov6.DynamicValue) view {
	s.Helper()
	v, err := d.Unmarshal(typ)
	if err != nil {
		s.Fatal(err)
	}
	return look(v)
}

var identityType = tftypes.Object{AttributeTypes: map[string]tftypes.Type{"id": tftypes.String, "realm": tftypes.String}}

// create plans and applies a new object whose configuration is JSON. It returns the new state and the answer.
func (s *server) create(resource, text string) (view, *tfprotov6.ApplyResourceChangeResponse) {
	s.Helper()
	typ := s.typeOf(resource)
	config, none := s.state(typ, text), s.state(typ, "null")
	p, err := s.PlanResourceChange(s.ctx, &tfprotov6.PlanResourceChangeRequest{
		TypeName: resource, PriorState: none, Config: config, ProposedNewState: config,
	})
	if err != nil {
		s.Fatal(err)
	}
	s.fine("plan", p.Diagnostics)
	a, err := s.ApplyResourceChange(s.ctx, &tfprotov6.ApplyResourceChangeRequest{
		TypeName: resource, PriorState: none, Config: config, PlannedState: p.PlannedState,
		PlannedPrivate: p.PlannedPrivate, PlannedIdentity: p.PlannedIdentity,
	})
	if err != nil {
		s.Fatal(err)
	}
	s.fine("apply", a.Diagnostics)
	return s.look(typ, a.NewState), a
}

func TestCreateAndImportByIdentity(t *testing.T) {
	s := serve(t)
	state, a := s.create("playground_thing", `{"name": "n", "size": 2, "disks": [{"name": "d"}]}`)
	if state.str("value") != "n/2" || state.str("note") != "none" || !state["disks"].IsFullyKnown() {
		t.Errorf("created %v", state)
	}
	if a.NewIdentity == nil {
		t.Fatal("no identity")
	}
	i, err := s.ImportResourceState(s.ctx, &tfprotov6.ImportResourceStateRequest{
		TypeName: "playground_thing", Identity: &tfprotov6.ResourceIdentityData{IdentityData: a.NewIdentity.IdentityData},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.fine("import", i.Diagnostics)
	one := i.ImportedResources[0]
	r, err := s.ReadResource(s.ctx, &tfprotov6.ReadResourceRequest{
		TypeName: "playground_thing", CurrentState: one.State, CurrentIdentity: one.Identity, Private: one.Private,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.fine("read", r.Diagnostics)
	got := s.look(s.typeOf("playground_thing"), r.NewState)
	if got.str("name") != "n" || got.num("size") != 2 || got.str("id") != state.str("id") {
		t.Errorf("imported %v", got)
	}
	identity := s.look(identityType, r.NewIdentity.IdentityData)
	if identity.str("id") != state.str("id") || identity.str("realm") != "local" {
		t.Errorf("identity %v", identity)
	}
}

func TestUpgrade(t *testing.T) {
	for _, c := range []struct {
		name    string
		version int64
		state   string
		size    int64
		tags    bool
	}{
		{"version 0", 0, `{"id": "i", "title": "n", "size": "5"}`, 5, false},
		{"version 1", 1, `{"id": "i", "name": "n", "size": 6, "tags": "a=b,c=d"}`, 6, true},
		{"version 2", 2, `{"id": "i", "name": "n", "size": 7, "tags": {"a": "b"}}`, 7, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t)
			u, err := s.UpgradeResourceState(s.ctx, &tfprotov6.UpgradeResourceStateRequest{
				TypeName: "playground_thing", Version: c.version, RawState: &tfprotov6.RawState{JSON: []byte(c.state)},
			})
			if err != nil {
				t.Fatal(err)
			}
			s.fine("upgrade", u.Diagnostics)
			got := s.look(s.typeOf("playground_thing"), u.UpgradedState)
			if got.str("name") != "n" || got.num("size") != c.size || got.has("tags") != c.tags {
				t.Errorf("upgraded to %v", got)
			}
		})
	}
}

func TestMove(t *testing.T) {
	s := serve(t)
	move := func(from string) *tfprotov6.MoveResourceStateResponse {
		m, err := s.MoveResourceState(s.ctx, &tfprotov6.MoveResourceStateRequest{
			SourceProviderAddress: "registry.opentofu.org/lethe/playground5", SourceTypeName: from,
			SourceState:    &tfprotov6.RawState{JSON: []byte(`{"id": "i", "name": "n", "size": 3, "shout": "N"}`)},
			TargetTypeName: "playground_thing",
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := move("playground5_thing")
	s.fine("move", m.Diagnostics)
	got := s.look(s.typeOf("playground_thing"), m.TargetState)
	if got.str("id") != "i" || got.str("name") != "n" || got.num("size") != 3 || got.str("value") != "n/3" {
		t.Errorf("moved to %v", got)
	}
	if m := move("null_resource"); len(m.Diagnostics) == 0 {
		t.Error("anything can be moved to a thing")
	}
}

// TestWriteOnly puts a canary into every write-only attribute and searches every answer for it.
func TestWriteOnly(t *testing.T) {
	s := serve(t)
	const canary = "canary-in-the-mine"
	login := `{"user": "u", "password_wo": "` + canary + `"}`
	_, a := s.create("playground_secret", `{"name": "n", "secret_wo": "`+canary+`", "secret_wo_version": 1,
		"codes_wo": ["`+canary+`"], "config_wo": {"key_wo": "`+canary+`"}, "login": `+login+`, "logins": [`+login+`],
		"logins_by": {"k": `+login+`}, "credential": [{"user": "u", "password_wo": "`+canary+`", "rotation": [{"next_wo": "`+canary+`"}]}],
		"owner": {"pin_wo": "`+canary+`"}}`)
	for what, data := range map[string][]byte{"state": a.NewState.MsgPack, "private": a.Private} {
		if strings.Contains(string(data), canary) {
			t.Errorf("the %s holds the canary", what)
		}
	}
	list, err := cloud.Here().Find("playground_secret", func(*cloud.Object) bool { return true })
	if err != nil || len(list) != 1 {
		t.Fatalf("%d objects, %v", len(list), err)
	}
	data, _ := json.Marshal(list[0])
	if strings.Contains(string(data), canary) {
		t.Errorf("the cloud holds the canary: %s", data)
	}
	if string(list[0].Attributes["fingerprint"]) != `"length 18"` || list[0].Sealed["secret_wo"] == "" {
		t.Errorf("stored %s", data)
	}
}

// TestLease opens, renews and closes a lease in one process.
func TestLease(t *testing.T) {
	s := serve(t)
	typ := s.schemas.EphemeralResourceSchemas["playground_lease"].ValueType()
	o, err := s.OpenEphemeralResource(s.ctx, &tfprotov6.OpenEphemeralResourceRequest{
		TypeName: "playground_lease", Config: s.state(typ, `{"name": "l", "renew_after": "-1s", "fail_on": "renew*1"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.fine("open", o.Diagnostics)
	if got := s.look(typ, o.Result); got.str("token") == "" || got.str("name") != "l" || o.RenewAt.IsZero() {
		t.Errorf("opened %v, renew at %v", got, o.RenewAt)
	}
	if strings.Contains(string(o.Private), "tok-") {
		t.Error("the token is in the private data")
	}
	renew := func() *tfprotov6.RenewEphemeralResourceResponse {
		r, err := s.RenewEphemeralResource(s.ctx, &tfprotov6.RenewEphemeralResourceRequest{TypeName: "playground_lease", Private: o.Private})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := renew(); len(r.Diagnostics) != 1 {
		t.Errorf("the first renewal did not fail: %v", r.Diagnostics)
	}
	r := renew()
	s.fine("renew", r.Diagnostics)
	for i, wanted := range []int{0, 1} { // the second attempt to close fails
		c, err := s.CloseEphemeralResource(s.ctx, &tfprotov6.CloseEphemeralResourceRequest{TypeName: "playground_lease", Private: r.Private})
		if err != nil || len(c.Diagnostics) != wanted {
			t.Errorf("close %d: %v, %v", i, c, err)
		}
	}
}

// TestReach checks that the provider connects to an endpoint that is an address, and ignores any other endpoint.
func TestReach(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	said := make(chan string, 1)
	go func() {
		for answer := range strings.SplitSeq("hi\n,", ",") {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(conn).ReadString('\n')
			said <- line
			fmt.Fprint(conn, answer)
			conn.Close()
		}
	}()
	s := &session{label: "here", endpoint: "tcp://" + l.Addr().String()}
	if err := s.reach(t.Context()); err != nil || <-said != "hello from here\n" {
		t.Errorf("answered: %v", err)
	}
	if err := s.reach(t.Context()); err == nil || <-said == "" {
		t.Error("an endpoint that says nothing is reached")
	}
	l.Close()
	if err := s.reach(t.Context()); err == nil {
		t.Error("an endpoint that is not there is reached")
	}
	for _, s := range []*session{nil, {endpoint: "somewhere"}} {
		if err := s.reach(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
