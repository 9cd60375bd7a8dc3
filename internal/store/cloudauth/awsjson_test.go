package cloudauth

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
)

// awsConfig returns the configuration for a region and further settings.
func awsConfig(t *testing.T, region string, more map[string]cty.Value) aws.Config {
	settings := map[string]cty.Value{"region": cty.StringVal(region), "access_key": cty.StringVal("user"), "secret_key": cty.StringVal("canary-4711")}
	for name, v := range more {
		settings[name] = v
	}
	r := &store.Reader{S: store.Settings{Config: cty.ObjectVal(settings), Getenv: func(string) string { return "" }}}
	c := AWS(t.Context(), r)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	return c
}

// TestAddresses checks that AWSService computes the same addresses as the SDK's clients.
func TestAddresses(t *testing.T) {
	fips, dual := map[string]cty.Value{"use_fips_endpoint": cty.True}, map[string]cty.Value{"use_dualstack_endpoint": cty.True}
	for _, tt := range []struct {
		region, service string
		more            map[string]cty.Value
		want            string
	}{
		{"eu-central-1", "dynamodb", nil, "https://dynamodb.eu-central-1.amazonaws.com"},
		{"cn-north-1", "dynamodb", nil, "https://dynamodb.cn-north-1.amazonaws.com.cn"},
		{"us-isob-east-1", "dynamodb", nil, "https://dynamodb.us-isob-east-1.sc2s.sgov.gov"},
		{"us-iso-east-1", "kms", nil, "https://kms.us-iso-east-1.c2s.ic.gov"},
		{"eusc-de-east-1", "kms", nil, "https://kms.eusc-de-east-1.amazonaws.eu"},
		{"us-east-1", "dynamodb", fips, "https://dynamodb-fips.us-east-1.amazonaws.com"},
		{"us-gov-west-1", "dynamodb", fips, "https://dynamodb.us-gov-west-1.amazonaws.com"},
		{"us-gov-west-1", "kms", fips, "https://kms-fips.us-gov-west-1.amazonaws.com"},
		{"us-east-1", "dynamodb", dual, "https://dynamodb.us-east-1.api.aws"},
	} {
		s := &AWSService{Config: awsConfig(t, tt.region, tt.more), Name: tt.service}
		if got, err := s.address(t.Context()); err != nil || got != tt.want {
			t.Errorf("%s in %s: %q, not %q: %v", tt.service, tt.region, got, tt.want, err)
		}
	}
}

// TestConfiguredAddress checks that AWSService uses the address in AWS_ENDPOINT_URL.
func TestConfiguredAddress(t *testing.T) {
	address := func() string {
		at, err := (&AWSService{Config: awsConfig(t, "us-east-1", nil), Name: "dynamodb"}).address(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	t.Setenv("AWS_ENDPOINT_URL", "http://all.example")
	if at := address(); at != "http://all.example" {
		t.Error(at)
	}
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://one.example")
	if at := address(); at != "http://one.example" {
		t.Error(at)
	}
	t.Setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
	if at := address(); strings.Contains(at, "example") {
		t.Error(at)
	}
}

// TestAWSLater checks that a request is repeated after a busy service's refusal, and after a refusal because of this
// machine's clock, with a corrected time.
func TestAWSLater(t *testing.T) {
	for code, again := range map[string]bool{
		"ProvisionedThroughputExceededException": true, "ThrottlingException": true, "RequestLimitExceeded": true, "Throttling": true, "RequestThrottled": true, "SlowDown": true, "RequestTimeout": true,
		"ResourceNotFoundException": false, "ConditionalCheckFailedException": false,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"__type": "com.amazonaws#%s", "message": "m"}`, code)
		}))
		t.Cleanup(server.Close)
		s := &AWSService{Config: awsConfig(t, "us-east-1", nil), Name: "dynamodb", Endpoint: server.URL}
		var noAnswer *store.UnansweredError
		if err := s.Call(t.Context(), "GetItem", struct{}{}, nil); errors.As(err, &noAnswer) != again || again && noAnswer.After != 7*time.Second {
			t.Errorf("%s: %#v", code, err)
		}
	}
}

func TestAWSClock(t *testing.T) {
	const behind = time.Hour
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := time.Now().Add(behind)
		w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
		if signed, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date")); err != nil || now.Sub(signed).Abs() > 5*time.Minute {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"__type": "com.amazonaws#InvalidSignatureException", "message": "Signature expired"}`)
			return
		}
		fmt.Fprint(w, "{}")
	}))
	t.Cleanup(server.Close)
	s := &AWSService{Config: aws.Config{HTTPClient: http.DefaultClient, Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("user", "canary-4711", "")}, Name: "dynamodb", Endpoint: server.URL}
	if err := (store.Tries{Retries: 1}).Do(t.Context(), func() error { return s.Call(t.Context(), "GetItem", struct{}{}, nil) }); err != nil {
		t.Error(err)
	}
}
