package crypt

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/cloudauth"
)

// The key providers of this file use a key that never leaves its service. The service encrypts and decrypts a random
// key for each run, and the encrypted key is stored in the metadata of the file.

// awsKMS is a key provider that uses a key of AWS KMS.
type awsKMS struct {
	key, spec string
	length    int               // the length of the keys that spec selects, in bytes
	with      map[string]string // the encryption context, which decryption needs again; nil if not set
	settings  *store.Reader
	service   *cloudauth.AWSService
	account   sync.Once // checks once that the account of the credentials is allowed, and records an error in settings
}

var awsSpecs = map[string]int{"AES_256": 32, "AES_128": 16}

func newAWSKMS(s store.Settings) (Provider, error) {
	r := &store.Reader{S: s}
	k := &awsKMS{key: r.Text("kms_key_id"), spec: r.Text("key_spec"), with: s.Texts("encryption_context"), settings: r}
	k.length = awsSpecs[k.spec]
	switch {
	case k.key == "":
		r.Bad("kms_key_id", `the value of "kms_key_id" must not be empty`)
	case k.length == 0:
		r.Bad("key_spec", `the value of "key_spec" must be AES_256 or AES_128, not %q`, k.spec)
	}
	if r.Err != nil {
		return nil, r.Err
	}
	k.service = &cloudauth.AWSService{
		Config: cloudauth.AWS(context.Background(), r), Name: "kms", Target: "TrentService", Version: "1.1",
		Endpoint: aws.ToString(cloudauth.Endpoint(r, "kms", "", "AWS_ENDPOINT_URL_KMS")),
	}
	return k, r.Err
}

type awsMeta struct {
	Ciphertext []byte `json:"ciphertext_blob"`
}

// call sends a request about the key to KMS. At its first call it checks the account, if the settings restrict
// accounts. If another key encrypted the data, the error is the result of otherKey. If the service did not answer or
// refused the request for another reason, the error is a *serviceError.
func (k *awsKMS) call(ctx context.Context, operation string, in map[string]any, out any) error {
	k.account.Do(func() { cloudauth.AWSAccount(ctx, k.settings, k.service.Config) })
	if k.settings.Err != nil {
		return &serviceError{k.settings.Err}
	}
	in["KeyId"] = k.key
	if len(k.with) > 0 {
		in["EncryptionContext"] = k.with
	}
	err := asked(ctx, "AWS KMS", func(ctx context.Context) error { return k.service.Call(ctx, operation, in, out) })
	if cloudauth.AWSRefused(err, "IncorrectKeyException") || cloudauth.AWSRefused(err, "InvalidCiphertextException") {
		return otherKey(k.key, err)
	}
	return err
}

// NewKey makes a key, and the metadata from which RecoverKey recovers the key.
func (k *awsKMS) NewKey(ctx context.Context, _ []byte) (key, meta []byte, err error) {
	var out struct{ Plaintext, CiphertextBlob []byte }
	if err := k.call(ctx, "GenerateDataKey", map[string]any{"KeySpec": k.spec}, &out); err != nil {
		return nil, nil, err
	}
	if len(out.Plaintext) != k.length || len(out.CiphertextBlob) == 0 {
		return nil, nil, errors.New("the answer of AWS KMS has no key of that length")
	}
	meta, err = json.Marshal(awsMeta{out.CiphertextBlob})
	return out.Plaintext, meta, err
}

// RecoverKey recovers the key that was made with meta. It returns false if NewKey would now make keys in another way,
// so that the data should be encrypted again.
func (k *awsKMS) RecoverKey(ctx context.Context, meta, _ []byte) ([]byte, bool, error) {
	var m awsMeta
	if json.Unmarshal(meta, &m) != nil || len(m.Ciphertext) == 0 {
		return nil, false, errDamagedMeta
	}
	var out struct{ Plaintext []byte }
	err := k.call(ctx, "Decrypt", map[string]any{"CiphertextBlob": m.Ciphertext}, &out)
	if err == nil && len(out.Plaintext) == 0 {
		err = errors.New("the answer of AWS KMS has no key")
	}
	return out.Plaintext, len(out.Plaintext) == k.length, err
}

// gcpKMS is a key provider that uses a key of Google Cloud KMS.
type gcpKMS struct {
	at     *url.URL // the address of the key in the API
	name   string
	length int // the length of the keys that the service encrypts for this provider, in bytes
	api    *store.API
}

func newGCPKMS(s store.Settings) (Provider, error) {
	r := &store.Reader{S: s}
	k := &gcpKMS{name: r.Text("kms_encryption_key"), length: r.Int("key_length", 0)}
	if k.name == "" {
		r.Bad("kms_encryption_key", `the value of "kms_encryption_key" must not be empty`)
	}
	r.Fail(checkLength(k.length))
	server, err := url.Parse(cmp.Or(r.Text("kms_custom_endpoint", "GOOGLE_KMS_CUSTOM_ENDPOINT"), "https://cloudkms."+cloudauth.GoogleDomain(s)))
	if err != nil || server.Host == "" {
		r.Bad("kms_custom_endpoint", `the value of "kms_custom_endpoint" must be an address, such as https://kms.example.com`)
	}
	if r.Err != nil {
		return nil, r.Err
	}
	k.at = server.JoinPath("v1", k.name)
	tokens := cloudauth.Google(context.Background(), s, "https://www.googleapis.com/auth/cloudkms")
	k.api = &store.API{Client: store.Client(), Header: agent(s), ErrorMessage: cloudauth.ErrorMessage, Sign: cloudauth.Signed(tokens)}
	return k, nil
}

type gcpMeta struct {
	Ciphertext []byte `json:"ciphertext"`
}

func crc(b []byte) string {
	return strconv.FormatUint(uint64(crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))), 10)
}

func (k *gcpKMS) call(ctx context.Context, operation string, in, out any) error {
	to := *k.at
	to.Path += ":" + operation
	return asked(ctx, "Google Cloud KMS", func(ctx context.Context) error { return k.api.JSON(ctx, http.MethodPost, &to, nil, in, out) })
}

// NewKey makes a key, and the metadata from which RecoverKey recovers the key. It compares checksums with the service,
// because a key that was changed in transit could never be recovered.
func (k *gcpKMS) NewKey(ctx context.Context, _ []byte) (key, meta []byte, err error) {
	key = make([]byte, k.length)
	_, _ = rand.Read(key) // rand.Read never fails
	var out struct {
		Ciphertext              []byte
		CiphertextCRC32C        string
		VerifiedPlaintextCRC32C bool
	}
	if err := k.call(ctx, "encrypt", map[string]any{"plaintext": key, "plaintextCrc32c": crc(key)}, &out); err != nil {
		return nil, nil, err
	}
	if len(out.Ciphertext) == 0 || !out.VerifiedPlaintextCRC32C || out.CiphertextCRC32C != crc(out.Ciphertext) {
		return nil, nil, errors.New("the key was corrupted during the request to Google Cloud KMS")
	}
	meta, err = json.Marshal(gcpMeta{out.Ciphertext})
	return key, meta, err
}

// RecoverKey recovers the key that was made with meta. It returns false if NewKey would now make keys in another way,
// so that the data should be encrypted again.
func (k *gcpKMS) RecoverKey(ctx context.Context, meta, _ []byte) ([]byte, bool, error) {
	var m gcpMeta
	if json.Unmarshal(meta, &m) != nil || len(m.Ciphertext) == 0 {
		return nil, false, errDamagedMeta
	}
	var out struct{ Plaintext []byte }
	err := k.call(ctx, "decrypt", map[string]any{"ciphertext": m.Ciphertext, "ciphertextCrc32c": crc(m.Ciphertext)}, &out)
	switch {
	case store.Refused(err, http.StatusBadRequest):
		return nil, false, otherKey(k.name, err)
	case err == nil && len(out.Plaintext) == 0:
		err = errors.New("the answer of Google Cloud KMS has no key")
	}
	return out.Plaintext, len(out.Plaintext) == k.length, err
}

// azureVault is a key provider that uses a key of Azure Key Vault or of a managed HSM.
type azureVault struct {
	at     *url.URL // the address of the key in the API
	alg    string
	length int // the length of the keys that the service encrypts for this provider, in bytes
	scope  string
	who    azcore.TokenCredential
	header http.Header
	learn  func(string)
}

func newAzureVault(s store.Settings) (Provider, error) {
	r := &store.Reader{S: s}
	k := &azureVault{length: r.Int("key_length", 0), alg: "RSA-OAEP-256", header: agent(s), learn: s.Secret}
	name := r.Text("vault_key_name")
	u, err := url.Parse(r.Text("vault_uri"))
	switch {
	case err != nil || u.Scheme != "https" || !strings.Contains(u.Host, "."):
		r.Bad("vault_uri", `the value of "vault_uri" must be an address such as https://NAME.vault.azure.net`)
	case name == "":
		r.Bad("vault_key_name", `the value of "vault_key_name" must not be empty`)
	}
	r.Fail(checkLength(k.length))
	switch size := r.Int("symmetric_key_size", 0); {
	case !r.Flag("symmetric"):
	case size != 128 && size != 192 && size != 256:
		r.Bad("symmetric_key_size", `the value of "symmetric_key_size" must be 128, 192 or 256, not %d`, size)
	case k.length%8 != 0 || k.length < 16:
		r.Bad("key_length", `the value of "key_length" must be a multiple of 8 and at least 16 for a symmetric key, not %d`, k.length)
	default:
		k.alg = fmt.Sprintf("A%dKW", size)
	}
	in := cloudauth.AzureCloud(context.Background(), r)
	if r.Err != nil {
		return nil, r.Err
	}
	k.at = u.JoinPath("keys", name)
	_, domain, _ := strings.Cut(u.Hostname(), ".")
	k.scope = "https://" + domain + "/.default"
	k.who, err = cloudauth.Azure(r, in)
	return k, err
}

type azureMeta struct {
	Ciphertext []byte `json:"ciphertext"`
	Version    string `json:"key_version,omitempty"` // the version of the vault's key; "" means the current version
}

// call sends value to the vault with the operation wrapkey (encrypt) or unwrapkey (decrypt). version is the version of
// the vault's key, or "" for the current version. call returns the result, and the version that the service used.
func (k *azureVault) call(ctx context.Context, operation, version string, value []byte) (out []byte, used string, err error) {
	token, err := k.who.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{k.scope}})
	if err != nil {
		return nil, "", &serviceError{fmt.Errorf("there is no token for Azure Key Vault: %s", err)}
	}
	k.learn(token.Token)
	to := k.at.JoinPath(version, operation)
	if version == "" {
		to = k.at.JoinPath(operation)
	}
	to.RawQuery = "api-version=7.4"
	api := &store.API{Client: store.Client(), Header: http.Header{"Authorization": {"Bearer " + token.Token}}, ErrorMessage: cloudauth.ErrorMessage}
	var reply struct{ Kid, Value string }
	err = asked(ctx, "Azure Key Vault", func(ctx context.Context) error {
		return api.JSON(ctx, http.MethodPost, to, k.header, map[string]string{"alg": k.alg, "value": base64.RawURLEncoding.EncodeToString(value)}, &reply)
	})
	if err != nil {
		return nil, "", err
	}
	out, err = base64.RawURLEncoding.DecodeString(strings.TrimRight(reply.Value, "="))
	if err != nil || len(out) == 0 {
		return nil, "", errors.New("the answer of Azure Key Vault has no key")
	}
	return out, reply.Kid[strings.LastIndexByte(reply.Kid, '/')+1:], nil
}

// NewKey makes a key, and the metadata from which RecoverKey recovers the key.
func (k *azureVault) NewKey(ctx context.Context, _ []byte) (key, meta []byte, err error) {
	key = make([]byte, k.length)
	_, _ = rand.Read(key) // rand.Read never fails
	wrapped, version, err := k.call(ctx, "wrapkey", "", key)
	if err != nil {
		return nil, nil, err
	}
	meta, err = json.Marshal(azureMeta{wrapped, version})
	return key, meta, err
}

// RecoverKey recovers the key that was made with meta. It returns false if NewKey would now make keys in another way,
// so that the data should be encrypted again.
func (k *azureVault) RecoverKey(ctx context.Context, meta, _ []byte) ([]byte, bool, error) {
	var m azureMeta
	if json.Unmarshal(meta, &m) != nil || len(m.Ciphertext) == 0 || strings.ContainsAny(m.Version, "/?#.") {
		return nil, false, errDamagedMeta
	}
	key, _, err := k.call(ctx, "unwrapkey", m.Version, m.Ciphertext)
	if store.Refused(err, http.StatusBadRequest) {
		return nil, false, otherKey(k.at.String(), err)
	}
	return key, len(key) == k.length, err
}
