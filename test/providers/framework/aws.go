package framework

import (
	"os"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/lethe-iac/lethe/test/providers/cloud"
)

// The resources in this file have the schemas of the AWS resources in the RFC on ephemerality. Its configurations work
// if "aws_" is replaced by "playground_" in the names of types.

const arnPrefix = "arn:playground:secretsmanager:local:000000000000:secret:"

// managerSecret is the resource type for a secret in the style of AWS Secrets Manager. Another resource type stores the
// value of the secret.
func managerSecret() form {
	return form{
		suffix: "secretsmanager_secret",
		schema: schema.Schema{Attributes: knobs(map[string]schema.Attribute{
			"id":          schema.StringAttribute{Computed: true},
			"arn":         schema.StringAttribute{Computed: true},
			"name":        schema.StringAttribute{Required: true, PlanModifiers: forceString},
			"description": schema.StringAttribute{Optional: true},
			"tags":        schema.MapAttribute{Optional: true, ElementType: stringType},
		})},
		id: func(w work) string {
			if os.Getenv(EnvIDs) == "name" {
				return arnPrefix + w.plan.str("name")
			}
			return arnPrefix + w.plan.str("name") + "-" + cloud.Random(6)
		},
		compute: func(w work) map[string]any {
			return map[string]any{"arn": w.id}
		},
		derived: map[string][]string{"id": nil, "arn": nil},
	}
}

// managerVersion is the value of a secret in its container. It has the ID of the container, as in the output of the
// RFC.
func managerVersion() form {
	return form{
		suffix: "secretsmanager_secret_version",
		schema: schema.Schema{Attributes: knobs(map[string]schema.Attribute{
			"id":                       schema.StringAttribute{Computed: true},
			"arn":                      schema.StringAttribute{Computed: true},
			"secret_id":                schema.StringAttribute{Required: true, PlanModifiers: forceString},
			"secret_string":            schema.StringAttribute{Optional: true, Sensitive: true},
			"secret_string_wo":         schema.StringAttribute{Optional: true, WriteOnly: true},
			"secret_string_wo_version": schema.Int64Attribute{Optional: true},
			"version_id":               schema.StringAttribute{Computed: true},
		})},
		id: func(w work) string { return w.plan.str("secret_id") },
		compute: func(w work) map[string]any {
			return map[string]any{"arn": w.plan.str("secret_id"), "version_id": cloud.Random(32)}
		},
		derived: map[string][]string{"id": {"secret_id"}, "arn": {"secret_id"}, "version_id": {"secret_string_wo_version"}},
	}
}

// parameter is a named parameter. If the write-only value is set, the readable value is empty.
func parameter() form {
	return form{
		suffix: "ssm_parameter",
		schema: schema.Schema{Attributes: knobs(map[string]schema.Attribute{
			"id":               schema.StringAttribute{Computed: true},
			"arn":              schema.StringAttribute{Computed: true},
			"name":             schema.StringAttribute{Required: true, PlanModifiers: forceString},
			"type":             schema.StringAttribute{Required: true},
			"value":            schema.StringAttribute{Optional: true, Computed: true, Sensitive: true},
			"value_wo":         schema.StringAttribute{Optional: true, WriteOnly: true},
			"value_wo_version": schema.Int64Attribute{Optional: true},
			"version":          schema.Int64Attribute{Computed: true},
			"tags":             schema.MapAttribute{Optional: true, ElementType: stringType},
		})},
		id: func(w work) string { return w.plan.str("name") },
		compute: func(w work) map[string]any {
			return map[string]any{
				"arn":     "arn:playground:ssm:local:000000000000:parameter/" + w.plan.str("name"),
				"value":   "",
				"version": w.plan.num("value_wo_version"),
			}
		},
		derived: map[string][]string{"id": {"name"}, "arn": {"name"}, "value": {}, "version": {"value_wo_version"}},
	}
}

// storedSecret returns the secret string of a version in the cloud. It returns false without an error if the version
// has no secret string, and cloud.ErrGone if there is no version.
func storedSecret(secretID string) (string, bool, error) {
	o, err := cloud.Here().Get("playground_secretsmanager_secret_version", secretID)
	if err != nil {
		return "", false, err
	}
	for _, name := range []string{"secret_string_wo", "secret_string"} {
		sealed, ok := o.Sealed[name]
		if !ok {
			continue
		}
		text, err := cloud.Unseal(o.ID+name, sealed)
		if err != nil {
			return "", false, err
		}
		v, err := cloud.Decode([]byte(text), tftypes.String)
		if err != nil {
			return "", false, err
		}
		var s string
		err = v.As(&s)
		return s, err == nil, err
	}
	return "", false, nil
}

// madeUpSecret returns a secret string if there is no cloud. The string is a JSON object with two keys, derived from
// the ID and the canary.
func madeUpSecret(secretID string) string {
	return `{"access_key":` + strconv.Quote(token("access", secretID)) + `,"secret_key":` + strconv.Quote(token("secret", secretID)) + `}`
}
