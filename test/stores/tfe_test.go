package stores

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/lethe-iac/lethe/internal/store/remotestore/tfetest"
)

// startTFE starts a service with the API of HCP Terraform until the end of the test. Its workspaces have local
// execution. It returns environment variables with which the host tfe.test is that service.
func startTFE(t *testing.T) []string {
	server := httptest.NewServer(&tfetest.Service{Mode: "local"})
	t.Cleanup(server.Close)
	rc := filepath.Join(t.TempDir(), "rc")
	check(t, os.WriteFile(rc, fmt.Appendf(nil, "host \"tfe.test\" {\n  services = {\n    \"tfe.v2\" = %[1]q\n    \"tfe.v2.1\" = %[1]q\n    \"tfe.v2.2\" = %[1]q\n    \"state.v2\" = %[1]q\n  }\n}\n", server.URL+"/api/v2/"), 0o600))
	return []string{"TF_CLI_CONFIG_FILE=" + rc, "TF_TOKEN_tfe_test=" + tfetest.Token}
}
