package framework

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/lethe-iac/lethe/test/providers/calls"
	"github.com/lethe-iac/lethe/test/providers/cloud"
	"github.com/lethe-iac/lethe/test/providers/trouble"
)

// A source is a data source: a schema, and a function that returns results by attribute. A result replaces the
// configured value only if it is a tftypes.Value; other results are for attributes without a configured value.
type source struct {
	suffix string
	schema schema.Schema
	read   func(ctx context.Context, config view) (map[string]any, error)
}

var _ datasource.DataSourceWithValidateConfig = (*source)(nil)

func (s *source) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + s.suffix
}

func (s *source) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = s.schema
}

func (s *source) ValidateConfig(_ context.Context, req datasource.ValidateConfigRequest, resp *datasource.ValidateConfigResponse) {
	config := look(req.Config.Raw)
	if err := trouble.Fail(config.str("fail_on"), "validate", config.key()); err != nil {
		resp.Diagnostics.AddError("Invalid configuration", err.Error())
	}
}

func (s *source) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	config := look(req.Config.Raw)
	noteMeta(ctx, req.ProviderMeta)
	err := trouble.Wait(ctx, config.str("delay"), "read", config.key())
	if err == nil {
		err = trouble.Fail(config.str("fail_on"), "read", config.key())
	}
	var results map[string]any
	if err == nil {
		results, err = s.read(ctx, config)
	}
	if err != nil {
		resp.Diagnostics.AddError("Reading failed", err.Error())
		return
	}
	warn(&resp.Diagnostics, config)
	resp.State.Raw = with(req.Config.Raw, results)
}

// with returns a configuration with results, by top-level attribute. A result of type tftypes.Value replaces the
// attribute. Any other result sets the attribute only if it is not configured.
func with(config tftypes.Value, results map[string]any) tftypes.Value {
	types := config.Type().(tftypes.Object).AttributeTypes
	attrs := look(config)
	for name, r := range results {
		if v, ok := r.(tftypes.Value); ok {
			attrs[name] = v
		} else if !attrs.has(name) {
			attrs[name] = tftypes.NewValue(types[name], r)
		}
	}
	return tftypes.NewValue(config.Type(), map[string]tftypes.Value(attrs))
}

// dataKnobs adds the attributes of every data source that cause failures, delays and warnings to attrs, and returns
// attrs.
func dataKnobs(attrs map[string]schema.Attribute) map[string]schema.Attribute {
	maps.Copy(attrs, map[string]schema.Attribute{
		"fail_on": schema.StringAttribute{Optional: true, Description: "Where to fail: validate, read."},
		"delay":   schema.StringAttribute{Optional: true, Description: "How long reading takes."},
		"warn":    schema.StringAttribute{Optional: true, Description: "A warning to emit."},
	})
	return attrs
}

// nullData copies its inputs to its outputs and returns a random number, as a value that changes all the time.
func nullData() *source {
	return &source{
		suffix: "null",
		schema: schema.Schema{
			Attributes: dataKnobs(map[string]schema.Attribute{
				"id":                   schema.StringAttribute{Computed: true},
				"name":                 schema.StringAttribute{Optional: true, Description: "How the log calls it."},
				"inputs":               schema.MapAttribute{Optional: true, ElementType: stringType},
				"outputs":              schema.MapAttribute{Computed: true, ElementType: stringType},
				"rand":                 schema.StringAttribute{Computed: true},
				"has_computed_default": schema.StringAttribute{Optional: true, Computed: true},
				"secret":               schema.StringAttribute{Optional: true, Sensitive: true},
				"anything":             schema.DynamicAttribute{Optional: true},
				"shape": schema.SingleNestedAttribute{Computed: true, Attributes: map[string]schema.Attribute{
					"inputs": schema.Int64Attribute{Computed: true},
				}},
			}),
			Blocks: map[string]schema.Block{
				"filter": schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
					"name":   schema.StringAttribute{Required: true},
					"values": schema.SetAttribute{Optional: true, ElementType: stringType},
				}}},
			},
		},
		read: func(_ context.Context, config view) (map[string]any, error) {
			inputs := map[string]tftypes.Value{}
			if config.has("inputs") {
				_ = config["inputs"].As(&inputs)
			}
			return map[string]any{
				"id":                   "static",
				"outputs":              inputs,
				"rand":                 cloud.Random(16),
				"has_computed_default": "default",
				"shape":                map[string]tftypes.Value{"inputs": tftypes.NewValue(tftypes.Number, int64(len(inputs)))},
			}, nil
		},
	}
}

// thingData finds a thing in the cloud by its ID or its name. There must be a cloud, and exactly one thing that
// matches.
func thingData() *source {
	return &source{
		suffix: "thing",
		schema: schema.Schema{Attributes: dataKnobs(map[string]schema.Attribute{
			"id":     schema.StringAttribute{Optional: true, Computed: true},
			"name":   schema.StringAttribute{Optional: true, Computed: true},
			"size":   schema.Int64Attribute{Computed: true},
			"value":  schema.StringAttribute{Computed: true},
			"tags":   schema.MapAttribute{Computed: true, ElementType: stringType},
			"writes": schema.Int64Attribute{Computed: true, Description: "How often it was written."},
		})},
		read: readThing,
	}
}

func readThing(ctx context.Context, config view) (map[string]any, error) {
	c := cloud.Here()
	if c == nil {
		return nil, errors.New("there is no cloud: PLAYGROUND_CLOUD is not set")
	}
	found, err := c.Find("playground_thing", func(o *cloud.Object) bool {
		return config.has("id") && o.ID == config.str("id") ||
			config.has("name") && string(o.Attributes["name"]) == fmt.Sprintf("%q", config.str("name"))
	})
	if err != nil {
		return nil, err
	}
	calls.Note(ctx, "found", len(found))
	if len(found) != 1 {
		return nil, fmt.Errorf("%d things match, wanted one", len(found))
	}
	o := found[0]
	results := map[string]any{"id": o.ID, "writes": tftypes.NewValue(tftypes.Number, int64(o.Writes))}
	for name, t := range map[string]tftypes.Type{
		"name": tftypes.String, "size": tftypes.Number, "value": tftypes.String, "tags": tftypes.Map{ElementType: tftypes.String},
	} {
		data, ok := o.Attributes[name]
		if !ok {
			data = []byte("null")
		}
		v, err := cloud.Decode(data, t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		results[name] = v
	}
	return results, nil
}

// legacyData is a data source that its schema declares as deprecated.
func legacyData() *source {
	return &source{
		suffix: "legacy",
		schema: schema.Schema{
			DeprecationMessage: "Use playground_null instead.",
			Attributes: dataKnobs(map[string]schema.Attribute{
				"id":   schema.StringAttribute{Computed: true},
				"name": schema.StringAttribute{Optional: true},
			}),
		},
		read: func(context.Context, view) (map[string]any, error) {
			return map[string]any{"id": "legacy"}, nil
		},
	}
}

// credentialData returns a login and a sensitive password. The password depends on the name, or is random if rotates is
// set.
func credentialData() *source {
	return &source{
		suffix: "credential",
		schema: schema.Schema{Attributes: dataKnobs(map[string]schema.Attribute{
			"name":     schema.StringAttribute{Required: true},
			"rotates":  schema.BoolAttribute{Optional: true, Description: "Whether each reading returns another password."},
			"login":    schema.StringAttribute{Computed: true},
			"password": schema.StringAttribute{Computed: true, Sensitive: true},
		})},
		read: func(ctx context.Context, config view) (map[string]any, error) {
			seed := config.str("name")
			if config.has("rotates") {
				seed = ""
			}
			password := token("password", seed)
			calls.Note(ctx, "value", calls.Hash(password))
			return map[string]any{"login": "login-" + config.str("name"), "password": password}, nil
		},
	}
}

// usersData returns users. Only the password inside each user is sensitive.
func usersData() *source {
	user := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"name": tftypes.String, "password": tftypes.String}}
	return &source{
		suffix: "users",
		schema: schema.Schema{Attributes: dataKnobs(map[string]schema.Attribute{
			"names": schema.ListAttribute{Required: true, ElementType: stringType},
			"users": schema.ListNestedAttribute{Computed: true, NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"name":     schema.StringAttribute{Computed: true},
				"password": schema.StringAttribute{Computed: true, Sensitive: true},
			}}},
		})},
		read: func(_ context.Context, config view) (map[string]any, error) {
			var names []tftypes.Value
			if err := config["names"].As(&names); err != nil {
				return nil, err
			}
			users := make([]tftypes.Value, len(names))
			for i, n := range names {
				var name string
				if err := n.As(&name); err != nil {
					return nil, err
				}
				users[i] = tftypes.NewValue(user, map[string]tftypes.Value{"name": n, "password": tftypes.NewValue(tftypes.String, token("password", name))})
			}
			return map[string]any{"users": tftypes.NewValue(tftypes.List{ElementType: user}, users)}, nil
		},
	}
}
