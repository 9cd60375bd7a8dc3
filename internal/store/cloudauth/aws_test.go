package cloudauth

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
)

// awsReaderOf returns a reader of settings of AWSAttrs.
func awsReaderOf(t *testing.T, settings map[string]cty.Value) *awsReader {
	t.Helper()
	schema := store.Schema(AWSAttrs(store.Attr("endpoint", cty.String, ""), Nested("endpoints", "", store.Attr("s3", cty.String, "")))...)
	config, err := schema.Coerce(cty.ObjectVal(settings))
	if err != nil {
		t.Fatal(err)
	}
	return &awsReader{&store.Reader{S: store.Settings{Config: config, Schema: schema, Getenv: func(string) string { return "" }}}}
}

// TestProxies checks which proxy a request to an address with https uses. As in Terraform, it is http_proxy if neither
// https_proxy nor the environment names another proxy, and an empty https_proxy means no proxy.
func TestProxies(t *testing.T) {
	const a, b, c = "http://a.example:1", "http://b.example:1", "http://c.example:1"
	for _, tt := range []struct {
		settings map[string]cty.Value
		env      string // HTTPS_PROXY
		want     string
	}{
		{map[string]cty.Value{}, "", ""},
		{map[string]cty.Value{}, c, c},
		{map[string]cty.Value{"http_proxy": cty.StringVal(a)}, "", a},
		{map[string]cty.Value{"http_proxy": cty.StringVal(a)}, c, c},
		{map[string]cty.Value{"http_proxy": cty.StringVal(a), "https_proxy": cty.StringVal(b)}, c, b},
		{map[string]cty.Value{"http_proxy": cty.StringVal(a), "https_proxy": cty.StringVal("")}, c, ""},
		{map[string]cty.Value{"http_proxy": cty.StringVal(a), "no_proxy": cty.StringVal("s3.example.com")}, "", ""},
	} {
		for _, name := range []string{"http_proxy", "https_proxy", "NO_PROXY", "no_proxy"} {
			t.Setenv(name, "")
		}
		t.Setenv("HTTP_PROXY", c)
		t.Setenv("HTTPS_PROXY", tt.env)
		if none, _ := awsReaderOf(t, map[string]cty.Value{"http_proxy": cty.StringVal("")}).client().GetTransport().Proxy(&http.Request{URL: &url.URL{Scheme: "http", Host: "s3.example.com"}}); none != nil {
			t.Errorf("an empty http_proxy is %s", none)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://s3.example.com/b", nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		through, err := awsReaderOf(t, tt.settings).client().GetTransport().Proxy(req)
		if through != nil {
			got = through.String()
		}
		if err != nil || got != tt.want {
			t.Errorf("%v with HTTPS_PROXY=%q: the proxy is %q, want %q: %v", tt.settings, tt.env, got, tt.want, err)
		}
	}
}

// TestExclusiveSettings checks that an error names two settings of which only one could count.
func TestExclusiveSettings(t *testing.T) {
	role := func(attrs map[string]cty.Value) cty.Value {
		attrs["role_arn"] = cty.StringVal("arn:aws:iam::123456789012:role/r")
		return cty.ObjectVal(attrs)
	}
	list, empty := cty.SetVal([]cty.Value{cty.StringVal("1")}), cty.SetValEmpty(cty.String)
	token, file := cty.StringVal("canary-4711"), cty.StringVal("token")
	for _, tt := range []struct {
		name     string
		settings map[string]cty.Value
		refused  bool
	}{
		{"accounts", map[string]cty.Value{"allowed_account_ids": list, "forbidden_account_ids": list}, true},
		{"an empty list", map[string]cty.Value{"allowed_account_ids": list, "forbidden_account_ids": empty}, false},
		{"files", map[string]cty.Value{"shared_credentials_file": file, "shared_credentials_files": cty.ListVal([]cty.Value{file})}, true},
		{"endpoints", map[string]cty.Value{"endpoint": cty.StringVal("https://a.example"), "endpoints": cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal("https://b.example")})}, true},
		{"tokens", map[string]cty.Value{"assume_role_with_web_identity": role(map[string]cty.Value{"web_identity_token": token, "web_identity_token_file": file})}, true},
		{"no token", map[string]cty.Value{"assume_role_with_web_identity": role(map[string]cty.Value{})}, true},
		{"a token", map[string]cty.Value{"assume_role_with_web_identity": role(map[string]cty.Value{"web_identity_token": token})}, false},
	} {
		tt.settings["region"] = cty.StringVal("us-east-1")
		r := awsReaderOf(t, tt.settings)
		AWS(t.Context(), r.Reader)
		Endpoint(r.Reader, "s3", "endpoint")
		if (r.Err != nil) != tt.refused {
			t.Errorf("%s: %v", tt.name, r.Err)
		}
	}
}
