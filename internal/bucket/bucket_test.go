package bucket

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestAmazonRegion(t *testing.T) {
	for host, want := range map[string]string{
		"s3.amazonaws.com": "", "s3-eu-west-1.amazonaws.com": "eu-west-1", "s3.eu-west-1.amazonaws.com": "eu-west-1", "b.c.s3.amazonaws.com": "",
		"b.s3.eu-west-1.amazonaws.com": "eu-west-1", "b.s3-eu-west-1.amazonaws.com": "eu-west-1", "b.s3.cn-north-1.amazonaws.com.cn": "cn-north-1",
		"b.s3.dualstack.us-east-1.amazonaws.com": "us-east-1", "s3-fips.us-gov-west-1.amazonaws.com": "us-gov-west-1", "b.s3-accelerate.amazonaws.com": "",
		"bucket.vpce-1a2b.s3.us-east-1.vpce.amazonaws.com": "us-east-1",
	} {
		if got, is := amazonRegion(host); !is || got != want {
			t.Errorf("%s: %q", host, got)
		}
	}
	for _, host := range []string{"example.com", "s3.example.com", "amazonaws.com", "evilamazonaws.com", "ec2-1-2-3-4.compute-1.amazonaws.com", "x.us-east-1.elb.amazonaws.com", "a.execute-api.us-east-1.amazonaws.com", "s3.x.elb.amazonaws.com", "xs3.us-east-1.amazonaws.com"} {
		if _, is := amazonRegion(host); is {
			t.Error(host)
		}
	}
}

// TestKeysAreEscaped checks that an address contains its key as S3 escapes it. S3 computes the signature from this form:
// it answers 403 if a character such as "+" or "=" is not escaped.
func TestKeysAreEscaped(t *testing.T) {
	a := &Access{}
	for path, want := range map[string]string{
		"m-1.0_x~.zip": "m-1.0_x~.zip", "m+1.zip": "m%2B1.zip", "m%2B1.zip": "m%2B1.zip", "a%20b.zip": "a%20b.zip", "v=1/x@y,z;w:&$.zip": "v%3D1/x%40y%2Cz%3Bw%3A%26%24.zip",
		"it's(1)!*.zip": "it%27s%281%29%21%2A.zip", "%C3%BC.zip": "%C3%BC.zip", "100%25.zip": "100%25.zip",
	} {
		u, err := url.Parse("https://s3.eu-west-1.amazonaws.com/b/" + path + "?version=7")
		if err != nil {
			t.Fatal(err)
		}
		o, err := a.S3(u)
		if err != nil {
			t.Fatal(err)
		}
		if got, wanted := o.URL.String(), "https://s3.eu-west-1.amazonaws.com/b/"+want+"?versionId=7"; got != wanted {
			t.Errorf("%s: %s, want %s", path, got, wanted)
		}
		if again, err := url.Parse(o.URL.String()); err != nil || again.EscapedPath() != "/b/"+want {
			t.Errorf("%s: parsed again it is %v, %v", path, again, err)
		}
	}
}

// TestQuotaProject checks the order of the sources of the project to which Google Cloud bills a request.
func TestQuotaProject(t *testing.T) {
	for env, want := range map[string]string{"": "net", "other": "other"} {
		if got := QuotaProject(func(string) string { return env }, []byte(`{"quota_project_id": "net"}`)); got != want {
			t.Errorf("%q: %q", env, got)
		}
	}
	a := &Access{Getenv: func(name string) string {
		return map[string]string{"GOOGLE_OAUTH_ACCESS_TOKEN": "canary-token", "GOOGLE_CLOUD_QUOTA_PROJECT": "net"}[name]
	}}
	u, _ := url.Parse("https://www.googleapis.com/storage/v1/b/k.zip")
	o, err := a.GCS(u)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := http.NewRequest(http.MethodGet, o.URL.String(), nil)
	if err := o.Authorize(t.Context(), r); err != nil || r.Header.Get(QuotaHeader) != "net" {
		t.Errorf("%q, %v", r.Header, err)
	}
}

// Credentials are sent only to the server of the object, and only over encrypted connections.
func TestSigned(t *testing.T) {
	var learned []string
	a := &Access{Getenv: func(name string) string {
		return map[string]string{"GOOGLE_OAUTH_ACCESS_TOKEN": "canary-token"}[name]
	}, Learned: func(secret, _ string) { learned = append(learned, secret) }}
	ask := func(o *Object, address string) (string, error) {
		r, err := http.NewRequest(http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = o.Authorize(t.Context(), r)
		return r.Header.Get("Authorization"), err
	}
	s3 := func(text string) (*Object, error) {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return a.S3(u)
	}
	const keys = "aws_access_key_id=AK&aws_access_key_secret=canary-secret&aws_access_token=canary-session"
	o, err := s3("https://s3.eu-west-1.amazonaws.com/b/k.zip?version=7&" + keys)
	if err != nil || o.URL.String() != "https://s3.eu-west-1.amazonaws.com/b/k.zip?versionId=7" {
		t.Fatal(o, err)
	}
	if got, err := ask(o, o.URL.String()); err != nil || !strings.Contains(got, "AK/") || !strings.Contains(got, "/eu-west-1/s3/") || len(learned) != 2 {
		t.Error(got, err, learned)
	}
	if got, err := ask(o, "https://example.com/b/k.zip"); err != nil || got != "" {
		t.Error(got, err)
	}
	o, _ = s3("http://store.example.com/b/k.zip?" + keys)
	if got, err := ask(o, o.URL.String()); err == nil || got != "" || strings.Contains(err.Error(), "canary") {
		t.Error(got, err)
	}
	for _, text := range []string{"https://s3.amazonaws.com/b", "https://s3.amazonaws.com/", "https://b.s3.amazonaws.com/"} {
		if _, err := s3(text); err == nil {
			t.Error(text)
		}
	}
	for text, want := range map[string]string{
		"https://www.googleapis.com/storage/v1/b/dir/k.zip":              "https://storage.googleapis.com/storage/v1/b/b/o/dir%2Fk.zip?alt=media",
		"https://www.googleapis.com/storage/v1/b/k.zip#12":               "https://storage.googleapis.com/storage/v1/b/b/o/k.zip?alt=media&generation=12",
		"https://www.googleapis.com/storage/v1/b":                        "",
		"https://evil.example.com/storage/v1/b/k.zip":                    "",
		"https://evil.example.com/www.googleapis.com/storage/v1/b/k.zip": "",
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		o, err := a.GCS(u)
		if want == "" {
			if err == nil {
				t.Error(text)
			}
			continue
		}
		if err != nil || o.URL.String() != want {
			t.Errorf("%s: %v %v", text, o, err)
			continue
		}
		if got, err := ask(o, o.URL.String()); err != nil || got != "Bearer canary-token" {
			t.Error(got, err)
		}
		if got, _ := ask(o, "https://example.com/x"); got != "" {
			t.Error(got)
		}
	}
}
