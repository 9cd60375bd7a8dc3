package framework

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	listing "github.com/hashicorp/terraform-plugin-framework/list"
	listschema "github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/lethe-iac/lethe/test/providers/calls"
	"github.com/lethe-iac/lethe/test/providers/cloud"
	"github.com/lethe-iac/lethe/test/providers/trouble"
)

// search finds the objects of a managed type in the cloud, or invents some.
type search struct {
	of      *life
	session *session
}

var (
	_ listing.ListResourceWithConfigure      = (*search)(nil)
	_ listing.ListResourceWithValidateConfig = (*search)(nil)
)

func newSearch(f func() form) *search { return &search{of: newLife(f)} }

func (s *search) Metadata(ctx context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	s.of.Metadata(ctx, req, resp)
}

func (s *search) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	s.session, _ = req.ProviderData.(*session)
}

func (s *search) ListResourceConfigSchema(_ context.Context, _ listing.ListResourceSchemaRequest, resp *listing.ListResourceSchemaResponse) {
	resp.Schema = listschema.Schema{
		Attributes: map[string]listschema.Attribute{
			"prefix":  listschema.StringAttribute{Optional: true, Description: "The beginning of the names."},
			"invent":  listschema.Int64Attribute{Optional: true, Description: "How many objects to invent, instead of the objects in the cloud."},
			"realm":   listschema.StringAttribute{Optional: true, Description: "none: identities have no realm."},
			"token":   listschema.StringAttribute{Optional: true},
			"fail_on": listschema.StringAttribute{Optional: true, Description: "Where to fail: validate, list."},
			"delay":   listschema.StringAttribute{Optional: true, Description: "How long the first result takes."},
			"warn":    listschema.StringAttribute{Optional: true, Description: "A warning with the first result."},
		},
		Blocks: map[string]listschema.Block{
			"filter": listschema.ListNestedBlock{NestedObject: listschema.NestedBlockObject{Attributes: map[string]listschema.Attribute{
				"name":   listschema.StringAttribute{Required: true},
				"values": listschema.ListAttribute{Optional: true, ElementType: stringType},
			}}},
		},
	}
}

func (s *search) ValidateListResourceConfig(_ context.Context, req listing.ValidateConfigRequest, resp *listing.ValidateConfigResponse) {
	config := look(req.Config.Raw)
	if err := trouble.Fail(config.str("fail_on"), "validate", config.str("prefix")); err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("fail_on"), "Invalid list configuration", err.Error())
	}
}

// List returns a stream of the selected objects, which ends at the limit. An error is the last result.
func (s *search) List(ctx context.Context, req listing.ListRequest, stream *listing.ListResultsStream) {
	config := look(req.Config.Raw)
	calls.Key(ctx, config.str("prefix"))
	stream.Results = func(push func(listing.ListResult) bool) {
		failed := func(err error) {
			r := listing.ListResult{}
			r.Diagnostics.AddError("Listing failed", err.Error())
			push(r)
		}
		if err := trouble.Wait(ctx, config.str("delay"), "list", config.str("prefix")); err != nil {
			failed(err)
			return
		}
		n := int64(0)
		for o, err := range s.objects(config) {
			if err == nil {
				err = trouble.Fail(config.str("fail_on"), "list", config.str("prefix"))
			}
			if err != nil {
				failed(err)
				return
			}
			r := req.NewListResult(ctx)
			s.describe(ctx, req, o, config.str("realm") != "none", &r)
			if n == 0 && config.has("warn") {
				r.Diagnostics.AddWarning("Warned", config.str("warn"))
			}
			if n++; !push(r) || n >= req.Limit {
				return
			}
		}
	}
}

// objects returns the objects that the configuration selects: those in the cloud whose names begin with the prefix, or
// invented ones. After an error there are no further objects.
func (s *search) objects(config view) iter.Seq2[*cloud.Object, error] {
	return func(yield func(*cloud.Object, error) bool) {
		if config.has("invent") {
			for i := range config.num("invent") {
				name := fmt.Sprintf("%s%d", config.str("prefix"), i)
				if !yield(&cloud.Object{ID: "thing-" + name, Attributes: map[string]json.RawMessage{
					"id": fmt.Appendf(nil, "%q", "thing-"+name), "name": fmt.Appendf(nil, "%q", name), "value": fmt.Appendf(nil, "%q", name+"/0"), "note": []byte(`"none"`),
				}}, nil) {
					return
				}
			}
			return
		}
		found, err := cloud.Here().Find(s.of.cloudType(), func(o *cloud.Object) bool {
			var name string
			_ = json.Unmarshal(o.Attributes["name"], &name)
			return strings.HasPrefix(name, config.str("prefix"))
		})
		if err != nil {
			yield(nil, err)
			return
		}
		for _, o := range found {
			if !yield(o, nil) {
				return
			}
		}
	}
}

// describe fills a result with the name and the identity of an object, and with the object if the request includes it.
// If realm is false, the identity has no realm.
func (s *search) describe(ctx context.Context, req listing.ListRequest, o *cloud.Object, realm bool, r *listing.ListResult) {
	var name string
	_ = json.Unmarshal(o.Attributes["name"], &name)
	r.DisplayName = "Thing " + name
	r.Diagnostics.Append(r.Identity.SetAttribute(ctx, path.Root("id"), o.ID)...)
	if realm {
		r.Diagnostics.Append(r.Identity.SetAttribute(ctx, path.Root("realm"), "local")...)
	}
	if !req.IncludeResource {
		return
	}
	t := req.ResourceSchema.Type().TerraformType(ctx).(tftypes.Object)
	attrs := map[string]tftypes.Value{}
	for attr, at := range t.AttributeTypes {
		attrs[attr] = tftypes.NewValue(at, nil)
	}
	raw, err := s.of.overlay(tftypes.NewValue(t, attrs), o)
	if err != nil {
		r.Diagnostics.AddError("Listing failed", err.Error())
		return
	}
	r.Resource = &tfsdk.Resource{Raw: raw, Schema: r.Resource.Schema}
}
