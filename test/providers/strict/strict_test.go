package strict

import (
	"context"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

func TestSchema(t *testing.T) {
	ctx := context.Background()
	s, err := Server(nil)().GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil || len(s.Diagnostics) > 0 {
		t.Fatalf("%v, %v", s, err)
	}
	required := ""
	for _, a := range s.Provider.Block.Attributes {
		if a.Required {
			required += a.Name
		}
	}
	if required != "region" {
		t.Errorf("required: %q", required)
	}
}
