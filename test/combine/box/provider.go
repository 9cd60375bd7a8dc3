// Package box is the provider of the scenarios. It has the resources box and crate in a [cloud.Cloud], data sources
// that read them or compute, and leases.
package box

import (
	stdcontext "context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/msgpack"
	"google.golang.org/grpc/peer"

	"github.com/lethe-iac/lethe/test/combine/cloud"
)

type context = stdcontext.Context

// A Provider serves one cloud to the connections of several engines. Each connection has separate settings.
type Provider struct {
	tfprotov6.ProviderServer // has the methods that Provider does not define; engines do not call them here
	Cloud                    *cloud.Cloud

	mu  sync.Mutex
	own session // the settings if the provider is a process for one engine
}

// A session holds the settings of one configured provider.
type session struct {
	region  string
	unknown bool   // the region in the configuration is unknown
	crash   func() // ends the connection, as a crash of a process would; nil in a separate process
}

// session returns the session of the connection that a call belongs to, or own for a separate process.
func (p *Provider) session(ctx context) *session {
	if c, ok := peer.FromContext(ctx); ok {
		if conn, ok := c.Addr.(*conn); ok {
			return &conn.session
		}
	}
	return &p.own
}

// call does the work of one call, writes its log line, and applies a fault that is arranged for it. c has the name of
// the call and its key, and work may fill in more. call returns the error of work or of the fault. The function work
// receives the kind of the fault as its second argument, or "".
func (p *Provider) call(ctx context, c cloud.Call, work func(c *cloud.Call, how string) error) error {
	s := p.session(ctx)
	p.mu.Lock()
	c.Region = s.region
	if s.unknown {
		c.Region = "(unknown)"
	}
	p.mu.Unlock()
	c.Begin = p.Cloud.Begin()
	defer func() { p.Cloud.Over(c) }()
	how := p.Cloud.Wrong(c.Call, c.Key)
	switch how {
	case cloud.Fail:
		c.Error = how
		return errors.New("failed on demand")
	case cloud.Crash:
		c.Error = how
		return crash(s)
	case cloud.Interrupt:
		p.Cloud.Interrupt()
	case cloud.Kill, cloud.KillBoth:
		p.Cloud.Over(cloud.Call{Begin: p.Cloud.Begin(), Call: how})
		p.Cloud.Kill(how == cloud.KillBoth)
	}
	err := work(&c, how)
	switch {
	case err != nil:
		c.Error = err.Error()
	case how == cloud.Lost:
		c.Error = how
		return crash(s)
	case how == cloud.Late:
		c.Error = how
		return errors.New("failed on demand, after the work")
	}
	return err
}

// crash ends the connection and returns an error. In a separate process it exits with status 2 and does not return.
func crash(s *session) error {
	if s.crash == nil {
		os.Exit(2)
	}
	s.crash()
	return errors.New("crashed")
}

// tell returns a diagnostic with the text of an error, or nil for nil. Errors of the transport represent crashes.
func tell(err error) []*tfprotov6.Diagnostic {
	if err == nil {
		return nil
	}
	return []*tfprotov6.Diagnostic{{Severity: tfprotov6.DiagnosticSeverityError, Summary: "On demand", Detail: err.Error()}}
}

// decode returns a value of the protocol, or null if d is nil. A value of another type is an error.
func decode(d *tfprotov6.DynamicValue, t cty.Type) (cty.Value, error) {
	if d == nil {
		return cty.NullVal(t), nil
	}
	return msgpack.Unmarshal(d.MsgPack, t)
}

// encode returns a value in the form of the protocol. It panics if the value does not have the type.
func encode(v cty.Value, t cty.Type) *tfprotov6.DynamicValue {
	b, err := msgpack.Marshal(v, t)
	if err != nil {
		panic(fmt.Sprintf("a value that is not of its type: %v", err))
	}
	return &tfprotov6.DynamicValue{MsgPack: b}
}

// text returns an attribute of type string, or "" if the attribute or the object is null or unknown.
func text(v cty.Value, name string) string {
	if v.IsNull() || !v.IsKnown() {
		return ""
	}
	a := v.GetAttr(name)
	if a.IsNull() || !a.IsKnown() {
		return ""
	}
	return a.AsString()
}

// word returns an attribute of type string for the log: "(unknown)" if it is unknown, and "" if it is null.
func word(v cty.Value, name string) string {
	if a := v.GetAttr(name); !a.IsKnown() {
		return "(unknown)"
	}
	return text(v, name)
}

func (p *Provider) GetMetadata(context, *tfprotov6.GetMetadataRequest) (*tfprotov6.GetMetadataResponse, error) {
	return nil, errors.New("ask for the schema")
}

func (p *Provider) GetFunctions(context, *tfprotov6.GetFunctionsRequest) (*tfprotov6.GetFunctionsResponse, error) {
	return &tfprotov6.GetFunctionsResponse{}, nil
}

func (p *Provider) GetResourceIdentitySchemas(context, *tfprotov6.GetResourceIdentitySchemasRequest) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return &tfprotov6.GetResourceIdentitySchemasResponse{}, nil
}

func (p *Provider) ValidateProviderConfig(_ context, q *tfprotov6.ValidateProviderConfigRequest) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return &tfprotov6.ValidateProviderConfigResponse{PreparedConfig: q.Config}, nil
}

func (p *Provider) StopProvider(context, *tfprotov6.StopProviderRequest) (*tfprotov6.StopProviderResponse, error) {
	return &tfprotov6.StopProviderResponse{}, nil
}

func (p *Provider) ConfigureProvider(ctx context, q *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	v, err := decode(q.Config, settingsType)
	if err != nil {
		return nil, err
	}
	s := p.session(ctx)
	p.mu.Lock()
	s.region, s.unknown = text(v, "region"), !v.IsWhollyKnown()
	p.mu.Unlock()
	err = p.call(ctx, cloud.Call{Call: "configure", Key: word(v, "label"), Note: cloud.Hash(text(v, "token"))}, func(*cloud.Call, string) error { return nil })
	return &tfprotov6.ConfigureProviderResponse{Diagnostics: tell(err)}, nil
}

func (p *Provider) ValidateDataResourceConfig(context, *tfprotov6.ValidateDataResourceConfigRequest) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	return &tfprotov6.ValidateDataResourceConfigResponse{}, nil
}

func (p *Provider) ReadDataSource(ctx context, q *tfprotov6.ReadDataSourceRequest) (*tfprotov6.ReadDataSourceResponse, error) {
	t, read := calcType, calc
	if q.TypeName == "combine_look" {
		t, read = lookType, p.look
	}
	v, err := decode(q.Config, t)
	if err != nil {
		return nil, err
	}
	a := &tfprotov6.ReadDataSourceResponse{}
	key := "calc"
	if q.TypeName == "combine_look" {
		key = text(v, "id")
	} else if s := text(v, "input"); s != "" {
		key = s
	}
	err = p.call(ctx, cloud.Call{Call: "data", Type: q.TypeName, Key: key}, func(*cloud.Call, string) error {
		out, err := read(v, p.session(ctx))
		if err == nil {
			a.State = encode(out, t)
		}
		return err
	})
	a.Diagnostics = tell(err)
	return a, nil
}

// look is the data source combine_look. It copies the computed attributes of the object in the cloud to v. An object
// that is missing or in another region is an error.
func (p *Provider) look(v cty.Value, s *session) (cty.Value, error) {
	m := v.AsValueMap()
	o, err := p.Cloud.Get(text(v, "id"), s.region)
	if err != nil {
		return v, fmt.Errorf("looking for %q in region %q: %w", text(v, "id"), s.region, err)
	}
	for _, name := range []string{"name", "content", "etag"} {
		var t *string
		if err := json.Unmarshal(o.Attributes[name], &t); err != nil {
			return v, err
		}
		m[name] = cty.NullVal(cty.String)
		if t != nil {
			m[name] = cty.StringVal(*t)
		}
	}
	m["region"] = cty.StringVal(s.region)
	return cty.ObjectVal(m), nil
}

// calc is the data source combine_calc. It computes the other attributes of v from input and any.
func calc(v cty.Value, _ *session) (cty.Value, error) {
	m := v.AsValueMap()
	in := text(v, "input")
	m["id"], m["output"], m["same"] = cty.StringVal("calc"), cty.StringVal(in), v.GetAttr("any")
	m["names"] = cty.ListVal([]cty.Value{cty.StringVal("p"), cty.StringVal(in)})
	if in == "" {
		m["names"] = cty.ListVal([]cty.Value{cty.StringVal("p")})
	}
	return cty.ObjectVal(m), nil
}
