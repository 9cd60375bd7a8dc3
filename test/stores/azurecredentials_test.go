package stores

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
	for name, more := range map[string][]string{
		"secret and certificate": append(slices.Clone(certificate), secret),
		"secret and oidc":        append([]string{secret}, oidc...),
		"oidc and msi":           append([]string{"use_msi = true"}, oidc...),
	} {
		s := &seen{what: map[string]bool{}}
		d := &setup{env: strings.Split(startAzureRecorder(t, s), "\n"), files: map[string]string{}, block: append([]string{
			`storage_account_name = "acct"`, `container_name = "states"`, `key = "k"`, "use_azuread_auth = true", "use_cli = false",
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
