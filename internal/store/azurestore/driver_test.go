package azurestore

import (
	"net"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
)

// TestNoSignature checks that no error contains the signature of a SAS token, in any spelling, and that the signature
// is registered as a secret.
func TestNoSignature(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nowhere := l.Addr().String()
	l.Close()
	t.Setenv("HTTPS_PROXY", "http://"+nowhere)
	store.Hurry(1000)
	t.Cleanup(func() { store.Hurry(1) })
	config, err := Driver.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{
		"storage_account_name": cty.StringVal("account"), "container_name": cty.StringVal("states"), "key": cty.StringVal("k"),
		"sas_token": cty.StringVal("?sv=2022-11-02&se=2027-01-01T00:00:00Z&sp=rwdlac&sig=canary%2F4711%3D"),
	}))
	if err != nil {
		t.Fatal(err)
	}
	var learned []string
	st, err := Driver.Open(t.Context(), store.Settings{Config: config, Schema: Driver.Schema, Learn: func(text string) { learned = append(learned, text) }})
	if err != nil {
		t.Fatal(err)
	}
	_, err = st.List(t.Context())
	if err == nil || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "4711") || !strings.Contains(err.Error(), "account.blob.core.windows.net") {
		t.Errorf("it says %v", err)
	}
	if all := strings.Join(learned, " "); !strings.Contains(all, "canary/4711=") || !strings.Contains(all, "canary%2F4711%3D") {
		t.Errorf("learned is %q", learned)
	}
}
