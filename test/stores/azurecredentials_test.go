package stores

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestAzureCredentials compares the identity that Lethe and Terraform use if the settings describe several.
func TestAzureCredentials(t *testing.T) {
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("there is no terraform on PATH")
	}
	ours, err := lethe()
	check(t, err)
	dir := t.TempDir()
	pfx := filepath.Join(dir, "c.pfx")
	key, cert := filepath.Join(dir, "k.pem"), filepath.Join(dir, "c.pem")
	for _, args := range [][]string{
		{"req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out", cert, "-subj", "/CN=test"},
		{"pkcs12", "-export", "-legacy", "-inkey", key, "-in", cert, "-out", pfx, "-passout", "pass:canary-4711"},
	} {
		if out, err := exec.Command("openssl", args...).CombinedOutput(); err != nil {
			t.Skipf("openssl: %v\n%s", err, out)
		}
	}
	certificate := []string{"client_certificate_path = " + fmt.Sprintf("%q", pfx), `client_certificate_password = "canary-4711"`}
	secret, oidc := `client_secret = "s1"`, []string{"use_oidc = true", `oidc_token = "t1"`}
	service := startTokens(t)
	bin := t.TempDir()
	check(t, os.WriteFile(filepath.Join(bin, "az"), []byte(azureCLI), 0o755))
	request := []string{"use_oidc = true", fmt.Sprintf("oidc_request_url = %q", service+"/request?x=1"), `oidc_request_token = "r1"`}
	pipeline := append(slices.Clone(request), `ado_pipeline_service_connection_id = "connection"`)
	for name, more := range map[string][]string{
		"cli":                    nil,
		"secret and certificate": append(slices.Clone(certificate), secret),
		"secret and oidc":        append([]string{secret}, oidc...),
		"oidc and msi":           append([]string{"use_msi = true"}, oidc...),
		"msi":                    {"use_msi = true", fmt.Sprintf("msi_endpoint = %q", service+"/msi")},
		"request":                request,
		"pipeline":               pipeline,
		"pipeline and token":     append(slices.Clone(pipeline), `oidc_token = "t1"`),
		"request and token":      append(slices.Clone(request), `oidc_token = "t1"`),
		"request and msi":        append([]string{"use_msi = true", fmt.Sprintf("msi_endpoint = %q", service+"/msi")}, request...),
	} {
		s := &seen{what: map[string]bool{}}
		d := &setup{env: append(strings.Split(startAzureRecorder(t, s), "\n"), "PATH="+bin+":"+os.Getenv("PATH")), files: map[string]string{}, block: append([]string{
			`storage_account_name = "acct"`, `container_name = "states"`, `key = "k"`, "use_azuread_auth = true", fmt.Sprintf("use_cli = %t", name == "cli"),
			`tenant_id = "11111111-1111-1111-1111-111111111111"`, `subscription_id = "s1"`, `client_id = "c1"`}, more...)}
		i := slices.IndexFunc(drawers, func(d drawer) bool { return d.name == "azurerm" })
		theirs := identities(runDraw(t, drawers[i], d, "default", dir, terraform, s, false))
		own := identities(runDraw(t, drawers[i], d, "default", dir, ours, s, false))
		if len(theirs) == 0 || !slices.Equal(theirs, own) {
			t.Errorf("%s: Terraform asks with %q, Lethe with %q", name, theirs, own)
		}
	}
}

// identities returns the identities of the requests of a program, each once. The assertion of a certificate differs each
// time, and is replaced by a word.
func identities(o outcome) (all []string) {
	for _, a := range o.asked {
		_, who, _ := strings.Cut(a, " by ")
		if end := strings.LastIndexByte(who, '|'); end >= 0 && strings.Count(who[end:], ".") == 2 {
			who = who[:end] + "|certificate"
		}
		all = append(all, who)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// azureCLI imitates the Azure CLI: the token names the tenant. As the CLI does, it refuses a tenant together with a
// subscription.
const azureCLI = `#!/bin/sh
case "$*" in
*--subscription*--tenant*|*--tenant*--subscription*) echo "ERROR: Please specify only one of subscription and tenant, not both" >&2; exit 1;;
version*) echo '{"azure-cli": "2.60.0"}';;
*get-access-token*) echo '{"accessToken": "cli|'"$(echo "$*" | sed -n 's/.*--tenant *\([^ ]*\).*/\1/p')"'", "expiresOn": "2099-01-01 00:00:00.000000", "expires_on": 4070908800, "tenant": "t", "tokenType": "Bearer"}';;
*) echo '{"id": "s1", "tenantId": "t", "state": "Enabled", "isDefault": true, "user": {"name": "u", "type": "user"}}';;
esac
`

// startTokens runs a service that issues tokens to a machine (/msi) and to a job of a pipeline (/request). A token names
// the request for it.
func startTokens(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		q := req.URL.Query()
		answer := map[string]any{}
		switch req.URL.Path {
		case "/msi":
			answer["access_token"] = strings.Join([]string{"msi", req.Method, q.Get("client_id"), q.Get("resource"), req.Header.Get("Metadata")}, "|")
			answer["expires_in"], answer["expires_on"], answer["token_type"], answer["resource"] = "3600", fmt.Sprint(time.Now().Add(time.Hour).Unix()), "Bearer", q.Get("resource")
		default:
			token := strings.Join([]string{"request", req.Method, req.URL.RawQuery, req.Header.Get("Authorization")}, " ")
			answer["value"], answer["oidcToken"] = token, token
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
