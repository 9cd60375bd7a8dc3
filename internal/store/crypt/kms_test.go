package crypt

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/zclconf/go-cty/cty"
)

// vault is a fake key service, which encrypts with a different mask for each key.
type vault struct {
	*testing.T
	refuse func(key string) (status int, want string) // returns the status and error of a refusal; status 0 refuses nothing
	calls  int
}

func (v *vault) mask(key string, data []byte) []byte {
	sum := sha256.Sum256([]byte(key))
	out := bytes.Clone(data)
	for i := range out {
		out[i] ^= sum[i%len(sum)]
	}
	return out
}

func (v *vault) encrypt(key string, data []byte) []byte {
	return append([]byte(key+"|"), v.mask(key, data)...)
}

func (v *vault) decrypt(key string, data []byte) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(data, []byte(key+"|"))
	return v.mask(key, rest), ok
}

// signed compares the signature of an AWS request with a signature computed by the SDK.
func (v *vault) signed(r *http.Request, body []byte) {
	_, list, _ := strings.Cut(r.Header.Get("Authorization"), "SignedHeaders=")
	list, _, _ = strings.Cut(list, ",")
	again, err := http.NewRequest(r.Method, "http://"+r.Host+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		v.Error(err)
		return
	}
	for _, name := range strings.Split(list, ";") {
		if values := r.Header.Values(name); len(values) > 0 {
			again.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		v.Error(err)
	}
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(v.Context(), aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "canary-4711"}, again, hex.EncodeToString(sum[:]), "kms", "eu-central-1", at); err != nil {
		v.Error(err)
	}
	if got, want := r.Header.Get("Authorization"), again.Header.Get("Authorization"); got != want {
		v.Errorf("the signature is\n%s\nand not\n%s", got, want)
	}
}

func (v *vault) awsKMS(w http.ResponseWriter, r *http.Request) {
	v.calls++
	body, _ := io.ReadAll(r.Body)
	v.signed(r, body)
	var in struct {
		KeyId, KeySpec    string
		CiphertextBlob    []byte
		EncryptionContext map[string]string
	}
	if err := json.Unmarshal(body, &in); err != nil {
		v.Error(err)
	}
	respond := func(status int, out map[string]any) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(out)
	}
	if status, want := v.refuse(in.KeyId); status != 0 {
		kind, text, _ := strings.Cut(want, ": ")
		respond(status, map[string]any{"__type": "com.amazonaws.kms#" + kind, "message": text})
		return
	}
	bound := in.KeyId + in.EncryptionContext["for"]
	switch target := r.Header.Get("X-Amz-Target"); target {
	case "TrentService.GenerateDataKey":
		plain := make([]byte, map[string]int{"AES_256": 32, "AES_128": 16}[in.KeySpec])
		_, _ = rand.Read(plain)
		respond(200, map[string]any{"KeyId": in.KeyId, "Plaintext": plain, "CiphertextBlob": v.encrypt(bound, plain)})
	case "TrentService.Decrypt":
		plain, ok := v.decrypt(bound, in.CiphertextBlob)
		if !ok {
			respond(400, map[string]any{"__type": "IncorrectKeyException", "message": "The key ID in the request does not identify a CMK that can perform this operation."})
			return
		}
		respond(200, map[string]any{"KeyId": in.KeyId, "Plaintext": plain})
	default:
		v.Errorf("the operation is %q", target)
	}
}

func (v *vault) gcpKMS(w http.ResponseWriter, r *http.Request) {
	v.calls++
	if got := r.Header.Get("Authorization"); got != "Bearer canary-4711" {
		v.Errorf("Authorization is %q", got)
	}
	key, operation, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/"), ":")
	var in struct{ Plaintext, Ciphertext []byte }
	_ = json.NewDecoder(r.Body).Decode(&in)
	status, want := v.refuse(key)
	out := map[string]any{}
	switch {
	case status != 0:
	case operation == "encrypt":
		c := v.encrypt(key, in.Plaintext)
		out = map[string]any{"ciphertext": c, "ciphertextCrc32c": crc(c), "verifiedPlaintextCrc32c": true}
	default:
		plain, ok := v.decrypt(key, in.Ciphertext)
		if out["plaintext"] = plain; !ok {
			status, want = 400, "Decryption failed: the ciphertext is invalid."
		}
	}
	if status != 0 {
		w.WriteHeader(status)
		out = map[string]any{"error": map[string]any{"message": want}}
	}
	_ = json.NewEncoder(w).Encode(out)
}

// rsaKey is the private key of Azure's fake vault.
var rsaKey, _ = rsa.GenerateKey(rand.Reader, 2048)

func (v *vault) azureVault(w http.ResponseWriter, r *http.Request) {
	v.calls++
	if got := r.Header.Get("Authorization"); got != "Bearer canary-4711" {
		v.Errorf("Authorization is %q", got)
	}
	var in struct{ Alg, Value string }
	_ = json.NewDecoder(r.Body).Decode(&in)
	value, err := base64.RawURLEncoding.DecodeString(in.Value)
	if err != nil || in.Alg != "RSA-OAEP-256" || r.URL.Query().Get("api-version") == "" {
		v.Errorf("%+v %v %s", in, err, r.URL)
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/keys/"), "/")
	status, want := v.refuse(parts[0])
	if status == 0 && parts[len(parts)-1] == "wrapkey" {
		value, err = rsa.EncryptOAEP(sha256.New(), rand.Reader, &rsaKey.PublicKey, value, nil)
	} else if status == 0 {
		if len(parts) != 3 || parts[1] != "v1" {
			v.Errorf("the version is not asked for: %s", r.URL)
		}
		if value, err = rsa.DecryptOAEP(sha256.New(), nil, rsaKey, value, nil); parts[0] != "main" {
			err = errors.New("another key")
		}
	}
	if err != nil && status == 0 {
		status, want = 400, "The parameter is incorrect."
	}
	if status != 0 {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": "X", "message": want}})
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"kid": "https://v.vault.azure.net/keys/main/v1", "value": base64.RawURLEncoding.EncodeToString(value)})
}

type fixedToken struct{}

func (fixedToken) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	if o.Scopes[0] != "https://vault.azure.net/.default" {
		return azcore.AccessToken{}, fmt.Errorf("the scope is %s", o.Scopes[0])
	}
	return azcore.AccessToken{Token: "canary-4711"}, nil
}

// TestKMS encrypts and decrypts with a key of each service, and checks the errors.
func TestKMS(t *testing.T) {
	services := map[string]struct {
		handler func(*vault) http.HandlerFunc
		open    func(t *testing.T, url, key string) *Source
		denied  string
		off     string
	}{
		"aws_kms": {
			func(v *vault) http.HandlerFunc { return v.awsKMS },
			func(t *testing.T, url, key string) *Source {
				return provider(t, "aws_kms", "main", map[string]cty.Value{
					"kms_key_id": cty.StringVal(key), "key_spec": cty.StringVal("AES_256"), "region": cty.StringVal("eu-central-1"),
					"access_key": cty.StringVal("AKID"), "secret_key": cty.StringVal("canary-4711"),
					"endpoints": cty.ObjectVal(map[string]cty.Value{"kms": cty.StringVal(url), "sts": cty.NullVal(cty.String), "iam": cty.NullVal(cty.String)}),
				})
			}, "AccessDeniedException: the user is not authorized", "DisabledException: the key is disabled",
		},
		"gcp_kms": {
			func(v *vault) http.HandlerFunc { return v.gcpKMS },
			func(t *testing.T, url, key string) *Source {
				return provider(t, "gcp_kms", "main", map[string]cty.Value{
					"kms_encryption_key": cty.StringVal("projects/p/locations/l/keyRings/r/cryptoKeys/" + key), "key_length": cty.NumberIntVal(32),
					"access_token": cty.StringVal("canary-4711"), "kms_custom_endpoint": cty.StringVal(url),
				})
			}, "Permission 'cloudkms.cryptoKeyVersions.useToEncrypt' denied", "the key is not enabled, current state is: DISABLED.",
		},
		"azure_vault": {
			func(v *vault) http.HandlerFunc { return v.azureVault },
			func(t *testing.T, at, key string) *Source {
				u, err := url.Parse(at)
				if err != nil {
					t.Fatal(err)
				}
				return &Source{Name: "key_provider.azure_vault.main", Meta: "key_provider.azure_vault.main", Provider: &azureVault{
					at: u.JoinPath("keys", key), alg: "RSA-OAEP-256", length: 32, scope: "https://vault.azure.net/.default", who: fixedToken{}, learn: func(string) {},
				}}
			}, "Caller is not authorized to perform action on resource", "Operation wrapKey is not allowed on a disabled key.",
		},
	}
	for name, service := range services {
		t.Run(name, func(t *testing.T) {
			v := &vault{T: t, refuse: func(string) (int, string) { return 0, "" }}
			srv := httptest.NewServer(service.handler(v))
			defer srv.Close()
			data, err := with(service.open(t, srv.URL, "main")).Seal(t.Context(), []byte(plainState))
			if err != nil {
				t.Fatal(err)
			}
			if v.calls != 1 {
				t.Errorf("%d calls", v.calls)
			}
			plain, outdated, err := with(service.open(t, srv.URL, "main")).Open(t.Context(), data)
			if err != nil || string(plain) != plainState || outdated {
				t.Errorf("%s, %v, %v", plain, outdated, err)
			}
			problem := func(at, key string, parts ...string) {
				t.Helper()
				_, _, err := with(service.open(t, at, key)).Open(t.Context(), data)
				var e *Error
				if !errors.As(err, &e) {
					t.Fatal(err)
				}
				for _, p := range parts {
					if !strings.Contains(e.Text, p) {
						t.Errorf("no %q in: %s", p, e.Text)
					}
				}
				if strings.Contains(e.Text, "canary") {
					t.Error(e.Text)
				}
			}
			problem(srv.URL, "other", "did not encrypt this", "Configure the key and the method that encrypted it")
			for status, want := range map[int]string{403: service.denied, 409: service.off} {
				v.refuse = func(string) (int, string) { return status, want }
				problem(srv.URL, "main", "its key could not be obtained", "refuses", want)
				var e *Error
				if _, err := with(service.open(t, srv.URL, "main")).Seal(t.Context(), []byte(plainState)); !errors.As(err, &e) || !strings.Contains(e.Text, want) {
					t.Error(err)
				}
			}
			failures := 0
			v.refuse = func(string) (int, string) {
				if failures++; failures < 3 {
					return 503, "Later: later"
				}
				return 0, ""
			}
			if _, _, err := with(service.open(t, srv.URL, "main")).Open(t.Context(), data); err != nil {
				t.Error(err)
			}
			var redirected []string
			other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				redirected = append(redirected, r.Header.Get("Authorization"))
			}))
			defer other.Close()
			elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
			}))
			defer elsewhere.Close()
			if _, err := with(service.open(t, elsewhere.URL, "main")).Seal(t.Context(), []byte(plainState)); err == nil || len(redirected) == 0 || strings.Contains(strings.Join(redirected, ""), "Bearer") {
				t.Errorf("after a redirect: %v, another server got %q", err, redirected)
			}
			gone := httptest.NewServer(nil)
			gone.Close()
			problem(gone.URL, "main", "its key could not be obtained", "does not answer")
		})
	}
}

// TestKMSSettings checks the messages about invalid settings.
func TestKMSSettings(t *testing.T) {
	text := cty.StringVal
	for _, c := range []struct {
		kind string
		set  map[string]cty.Value
		want string
	}{
		{"aws_kms", map[string]cty.Value{"kms_key_id": text(""), "key_spec": text("AES_256")}, `"kms_key_id" must not be empty`},
		{"aws_kms", map[string]cty.Value{"kms_key_id": text("k"), "key_spec": text("RSA_2048")}, `"key_spec" must be AES_256 or AES_128`},
		{"aws_kms", map[string]cty.Value{"kms_key_id": text("k"), "key_spec": text("AES_256"), "region": text("r"), "access_key": text("k")}, "must be set together"},
		{"gcp_kms", map[string]cty.Value{"kms_encryption_key": text("k"), "key_length": cty.NumberIntVal(5000)}, `"key_length" must be a number of bytes from 1 to 1024`},
		{"gcp_kms", map[string]cty.Value{"kms_encryption_key": text("k"), "key_length": cty.NumberIntVal(32), "kms_custom_endpoint": text("nowhere")}, "must be an address"},
		{"azure_vault", map[string]cty.Value{"vault_uri": text("nowhere"), "vault_key_name": text("k"), "key_length": cty.NumberIntVal(32)}, `"vault_uri" must be an address`},
		{"azure_vault", map[string]cty.Value{"vault_uri": text("https://v.vault.azure.net"), "vault_key_name": text("k"), "key_length": cty.NumberIntVal(32), "symmetric": cty.True}, `"symmetric_key_size"`},
		{"azure_vault", map[string]cty.Value{"vault_uri": text("https://v.vault.azure.net"), "vault_key_name": text("k"), "key_length": cty.NumberIntVal(32), "environment": text("moon")}, "must be public"},
	} {
		t.Setenv("AWS_CONFIG_FILE", "none")
		if _, err := making(t, c.kind, c.set); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.kind, err)
		}
	}
	p, err := making(t, "azure_vault", map[string]cty.Value{"vault_uri": text("https://h.managedhsm.azure.net/"), "vault_key_name": text("k"), "key_length": cty.NumberIntVal(32), "symmetric": cty.True, "symmetric_key_size": cty.NumberIntVal(256)})
	if err != nil {
		t.Fatal(err)
	}
	if k := p.(*azureVault); k.alg != "A256KW" || k.scope != "https://managedhsm.azure.net/.default" || k.at.String() != "https://h.managedhsm.azure.net/keys/k" {
		t.Errorf("%+v", k)
	}
}
