package sdkv2

import (
	"context"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"

	"github.com/lethe-iac/lethe/test/providers/framework"
)

func TestInternalValidate(t *testing.T) {
	t.Setenv(framework.EnvMatrix, "1")
	if err := New().InternalValidate(); err != nil {
		t.Error(err)
	}
}

// TestMixed checks that the provider has the types of both SDKs (SDKv2 and the framework).
func TestMixed(t *testing.T) {
	t.Setenv(framework.EnvMatrix, "1")
	ctx := context.Background()
	f, err := Server(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := f().GetProviderSchema(ctx, &tfprotov5.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range s.Diagnostics {
		t.Errorf("%s: %s", d.Summary, d.Detail)
	}
	for _, name := range []string{"playground5_thing", "playground5_old_thing", "playground5_legacy"} {
		if s.ResourceSchemas[name] == nil {
			t.Errorf("no resource %s", name)
		}
	}
	for _, name := range []string{"playground5_null", "playground5_thing"} {
		if s.DataSourceSchemas[name] == nil {
			t.Errorf("no data source %s", name)
		}
	}
	for _, name := range []string{"playground5_lease", "playground5_random", "playground5_null"} {
		if s.EphemeralResourceSchemas[name] == nil {
			t.Errorf("no ephemeral %s", name)
		}
	}
	if len(s.Functions) == 0 {
		t.Error("no functions")
	}
}
