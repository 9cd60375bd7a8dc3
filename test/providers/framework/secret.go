package framework

import (
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// secret has write-only values in every place that a schema permits.
func secret() form {
	login := func() map[string]schema.Attribute {
		return map[string]schema.Attribute{
			"user":        schema.StringAttribute{Required: true},
			"password_wo": schema.StringAttribute{Optional: true, WriteOnly: true},
		}
	}
	return form{
		suffix: "secret",
		schema: schema.Schema{
			Description: "Write-only attributes in every place.",
			Attributes: knobs(map[string]schema.Attribute{
				"id":                schema.StringAttribute{Computed: true},
				"name":              schema.StringAttribute{Required: true},
				"comment":           schema.StringAttribute{Optional: true},
				"secret_wo":         schema.StringAttribute{Optional: true, WriteOnly: true},
				"secret_wo_version": schema.Int64Attribute{Optional: true},
				"fingerprint":       schema.StringAttribute{Computed: true, Description: "The length of the secret, nothing else of it."},
				"codes_wo":          schema.ListAttribute{Optional: true, WriteOnly: true, ElementType: stringType},
				"config_wo": schema.SingleNestedAttribute{Optional: true, WriteOnly: true, Attributes: map[string]schema.Attribute{
					"key_wo": schema.StringAttribute{Optional: true, WriteOnly: true},
				}},
				"login":     schema.SingleNestedAttribute{Optional: true, Attributes: login()},
				"logins":    schema.ListNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: login()}},
				"logins_by": schema.MapNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: login()}},
			}),
			Blocks: map[string]schema.Block{
				"credential": schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{
					Attributes: login(),
					Blocks: map[string]schema.Block{
						"rotation": schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{
							Attributes: map[string]schema.Attribute{
								"next_wo": schema.StringAttribute{Optional: true, WriteOnly: true},
							},
						}},
					},
				}},
				"owner": schema.SingleNestedBlock{Attributes: map[string]schema.Attribute{
					"email":  schema.StringAttribute{Optional: true},
					"pin_wo": schema.StringAttribute{Optional: true, WriteOnly: true},
				}},
			},
		},
		id: newID("secret"),
		compute: func(w work) map[string]any {
			return map[string]any{"fingerprint": "length " + strconv.Itoa(len(w.config.str("secret_wo")))}
		},
		derived: map[string][]string{"id": nil, "fingerprint": {"secret_wo_version"}},
	}
}

// password requires its write-only value. A new version of the value replaces the object.
func password() form {
	return form{
		suffix: "password",
		schema: schema.Schema{
			Description: "A required write-only attribute that forces replacement.",
			Attributes: knobs(map[string]schema.Attribute{
				"id":                  schema.StringAttribute{Computed: true},
				"username":            schema.StringAttribute{Required: true},
				"password_wo":         schema.StringAttribute{Required: true, WriteOnly: true},
				"password_wo_version": schema.Int64Attribute{Optional: true},
			}),
		},
		id:      newID("password"),
		derived: map[string][]string{"id": nil},
		replaces: func(state, plan view) path.Paths {
			if same(state, plan, "password_wo_version") || !state.has("password_wo_version") && !plan.has("password_wo_version") {
				return nil
			}
			return path.Paths{path.Root("password_wo")}
		},
	}
}
