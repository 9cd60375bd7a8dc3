package azurestore

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/cloudauth"
	"github.com/zclconf/go-cty/cty"
)

// TestManagers checks the resource managers of the public clouds.
func TestManagers(t *testing.T) {
	for name, host := range map[string]string{"public": "management.azure.com", "usgovernment": "management.usgovcloudapi.net", "china": "management.chinacloudapi.cn"} {
		r := &store.Reader{S: store.Settings{Getenv: func(string) string { return "" }, Config: cty.ObjectVal(map[string]cty.Value{"environment": cty.StringVal(name)})}}
		c := cloudauth.AzureCloud(context.Background(), r)
		if m := c.Services[cloud.ResourceManager]; r.Err != nil || m.Endpoint != "https://"+host || m.Audience == "" || c.Other {
			t.Errorf("%s: %+v, %v", name, m, r.Err)
		}
	}
}

// another is a private cloud: a metadata host, the identity of a machine, a resource manager, and an account whose
// address cannot be derived from its name.
type another struct {
	*testing.T
	*httptest.Server
	blobs    *httptest.Server
	metadata string // overrides the answer of the metadata host
	asked    []string
}

const machineToken, accountKey = "canary-" + "31337", "Y2FuYXJ5LTQ3MTE="

func (a *another) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	what := r.Method + " " + r.URL.Path
	a.asked = append(a.asked, what+"?"+r.URL.RawQuery)
	if strings.Contains(r.URL.Path, "/arm/") && r.Header.Get("Authorization") != "Bearer "+machineToken {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	const account = "/arm/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/acct"
	switch {
	case what == "GET /metadata/endpoints" && a.metadata != "":
		fmt.Fprint(w, a.metadata)
	case what == "GET /metadata/endpoints":
		fmt.Fprintf(w, "\ufeff"+`{"authentication":{"loginEndpoint":"%[1]s/login"},"resourceManager":"%[1]s/arm/","suffixes":{"storage":"core.moon.test"}}`, a.URL)
	case what == "GET /msi" && r.Header.Get("Metadata") == "true":
		fmt.Fprintf(w, `{"access_token":%q,"expires_in":"3600","token_type":"Bearer"}`, machineToken)
	case what == "GET "+account:
		fmt.Fprintf(w, `{"properties":{"primaryEndpoints":{"blob":"%s/"}}}`, a.blobs.URL)
	case what == "POST "+account+"/listKeys":
		fmt.Fprintf(w, `{"keys":[{"value":%q}]}`, accountKey)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// open opens the store with additional settings. learned holds the registered secrets.
func (a *another) open(more map[string]cty.Value) (st store.Store, learned []string, err error) {
	attrs := map[string]cty.Value{
		"storage_account_name": cty.StringVal("acct"), "container_name": cty.StringVal("states"), "key": cty.StringVal("k"), "metadata_host": cty.StringVal(strings.TrimPrefix(a.URL, "https://")),
		"resource_group_name": cty.StringVal("g"), "subscription_id": cty.StringVal("s"), "use_msi": cty.True, "msi_endpoint": cty.StringVal(a.URL + "/msi"), "client_id": cty.StringVal("c"),
	}
	for name, v := range more {
		attrs[name] = v
	}
	config, err := Driver.Schema.Coerce(cty.ObjectVal(attrs))
	if err != nil {
		a.Fatal(err)
	}
	a.asked = nil
	st, err = Driver.Open(a.Context(), store.Settings{Config: config, Schema: Driver.Schema, Learn: func(text string) { learned = append(learned, text) }})
	return st, learned, err
}

func startAnother(t *testing.T) *another {
	a := &another{T: t}
	a.Server = httptest.NewTLSServer(a)
	t.Cleanup(a.Close)
	a.blobs = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.asked = append(a.asked, "blob "+r.Method+" "+r.URL.Path)
		if !strings.HasPrefix(r.Header.Get("Authorization"), "SharedKey acct:") {
			t.Error(r.Header)
		}
		w.Header().Set("X-Ms-Error-Code", "BlobNotFound")
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(a.blobs.Close)
	usual := http.DefaultTransport
	trusting := usual.(*http.Transport).Clone()
	trusting.TLSClientConfig = &tls.Config{RootCAs: a.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	http.DefaultTransport = trusting
	t.Cleanup(func() { http.DefaultTransport = usual })
	return a
}

// TestAnotherCloud checks the addresses from metadata_host, the credential from msi_endpoint, and the account's address
// from lookup_blob_endpoint. The requests are the requests of Terraform 1.11.4.
func TestAnotherCloud(t *testing.T) {
	a := startAnother(t)
	st, learned, err := a.open(map[string]cty.Value{"lookup_blob_endpoint": cty.True})
	if err != nil {
		t.Fatal(err)
	}
	if data, _, err := st.Get(t.Context(), store.Default); data != nil || err != nil {
		t.Error(data, err)
	}
	resource := strings.NewReplacer(":", "%3A", "/", "%2F").Replace(a.URL + "/arm")
	const account = " /arm/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/acct"
	want := []string{
		"GET /metadata/endpoints?api-version=2022-09-01",
		"GET /msi?api-version=2018-02-01&client_id=c&resource=" + resource, "GET" + account + "?api-version=2023-01-01",
		"GET /msi?api-version=2018-02-01&client_id=c&resource=" + resource, "POST" + account + "/listKeys?api-version=2023-01-01",
		"blob GET /states/k",
	}
	if !slices.Equal(a.asked, want) {
		t.Errorf("asked\n%s\nnot\n%s", strings.Join(a.asked, "\n"), strings.Join(want, "\n"))
	}
	if !slices.Contains(learned, machineToken) || !slices.Contains(learned, accountKey) {
		t.Error("a secret is not known", learned)
	}
	at := st.Capabilities().Place
	if place := at.Place(store.Default); place != "azurerm:"+a.blobs.URL+"/states/k" {
		t.Error(place)
	}
	// Without a lookup of the address or the key, the account is in the domain of the cloud.
	st, _, err = a.open(map[string]cty.Value{"access_key": cty.StringVal("a2V5")})
	if err != nil {
		t.Fatal(err)
	}
	at = st.Capabilities().Place
	if place := at.Place(store.Default); place != "azurerm:https://acct.blob.core.moon.test/states/k" {
		t.Error(place)
	}
}

// TestAnotherCloudWrong checks that errors name the setting, or the thing that was requested.
func TestAnotherCloudWrong(t *testing.T) {
	a := startAnother(t)
	none := cty.NullVal(cty.String)
	for _, tt := range []struct {
		metadata string
		more     map[string]cty.Value
		message  string
	}{
		{`{"resourceManager":"https://m"}`, nil, `the "metadata_host" "127.0.0.1`},
		{`<html>`, nil, "is not valid"},
		{"", map[string]cty.Value{"lookup_blob_endpoint": cty.True, "access_key": cty.StringVal(accountKey), "resource_group_name": none}, `"lookup_blob_endpoint" needs "resource_group_name" and "subscription_id"`},
		{"", map[string]cty.Value{"msi_endpoint": cty.StringVal("nowhere")}, `the value of "msi_endpoint" must be an address`},
		{"", map[string]cty.Value{"msi_endpoint": cty.StringVal(a.URL + "/none")}, "there is no token for the identity of the machine"},
		{"", map[string]cty.Value{"lookup_blob_endpoint": cty.True, "resource_group_name": cty.StringVal("h")}, "the address of the storage account could not be obtained"},
	} {
		a.metadata = tt.metadata
		_, _, err := a.open(tt.more)
		if err == nil || !strings.Contains(err.Error(), tt.message) || strings.Contains(err.Error(), "canary") {
			t.Errorf("want %q, got %v", tt.message, err)
		}
	}
}
