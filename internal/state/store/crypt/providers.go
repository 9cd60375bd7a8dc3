package crypt

import (
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/cloudauth"
	"github.com/zclconf/go-cty/cty"
)

// ChainArgument is how a key provider refers to another whose keys it takes.
const ChainArgument = "chain"

// AliasArgument is the setting of all key providers that names their metadata otherwise than they are named.
const AliasArgument = "encrypted_metadata_alias"

func settings(attrs ...*schema.Attr) *schema.Block {
	return store.Schema(append(attrs, &schema.Attr{Name: AliasArgument, Type: cty.String, Optional: true, Description: "The name of the metadata in encrypted files, so that it stays when the provider is renamed."})...)
}

func attr(name string, t cty.Type, description string) *schema.Attr {
	return &schema.Attr{Name: name, Type: t, Optional: true, Description: description}
}

func required(a *schema.Attr) *schema.Attr {
	a.Optional, a.Required = false, true
	return a
}

func hidden(a *schema.Attr) *schema.Attr {
	a.Sensitive = true
	return a
}

// ProviderKinds are the key providers that there are.
var ProviderKinds = Kinds[Provider]{
	{Name: "pbkdf2", Argument: Maybe, Make: newPBKDF2, Schema: settings(
		hidden(attr("passphrase", cty.String, "What the key is made of: at least 16 characters.")),
		attr("key_length", cty.Number, "The length of the key in bytes: 32 if not set."),
		attr("iterations", cty.Number, "How often the derivation is repeated: 600000 if not set, at least 200000."),
		attr("salt_length", cty.Number, "The length of the salt in bytes: 32 if not set."),
		attr("hash_function", cty.String, "sha256 or sha512: sha512 if not set."),
	)},
	{Name: "aws_kms", Make: newAWSKMS, Schema: settings(cloudauth.AWSAttrs(
		required(attr("kms_key_id", cty.String, "The key: its ID, ARN, alias, or the ARN of that.")),
		required(attr("key_spec", cty.String, "The keys that it makes: AES_256 or AES_128.")),
		attr("encryption_context", cty.Map(cty.String), "What it takes besides, and has to be the same again."),
		cloudauth.Nested("endpoints", "The addresses of the services.",
			attr("kms", cty.String, "Of KMS. AWS_ENDPOINT_URL_KMS."), attr("sts", cty.String, "Of STS. AWS_ENDPOINT_URL_STS."), attr("iam", cty.String, "Of IAM. It is not asked."),
		),
		attr("skip_credentials_validation", cty.Bool, "Without effect: the first request shows what credentials are worth."),
		attr("skip_requesting_account_id", cty.Bool, "Without effect: the account is asked for where accounts are allowed or forbidden."),
		attr("max_retries", cty.Number, "Without effect: requests are made again three times."),
		attr("retry_mode", cty.String, "Without effect: requests are made again in one way."),
	)...)},
	{Name: "azure_vault", Make: newAzureVault, Schema: settings(cloudauth.AzureAttrs(
		required(attr("vault_uri", cty.String, "The vault or managed HSM: https://NAME.vault.azure.net.")),
		required(attr("vault_key_name", cty.String, "The key in it.")),
		required(attr("key_length", cty.Number, "The length of the keys that it encrypts, in bytes.")),
		attr("symmetric", cty.Bool, "Whether the key is one of AES, as managed HSMs have it, and not of RSA."),
		attr("symmetric_key_size", cty.Number, "Its size in bits: 128, 192 or 256."),
	)...)},
	{Name: "gcp_kms", Make: newGCPKMS, Schema: settings(cloudauth.GoogleAttrs(
		required(attr("kms_encryption_key", cty.String, "The key: projects/P/locations/L/keyRings/R/cryptoKeys/K.")),
		required(attr("key_length", cty.Number, "The length of the keys that it encrypts, in bytes.")),
		attr("kms_custom_endpoint", cty.String, "The address of the service, if it is another. GOOGLE_KMS_CUSTOM_ENDPOINT."),
	)...)},
	{Name: "age", Make: newAge, Schema: settings(
		required(attr("recipients", cty.List(cty.String), "Who can decrypt: age1... or ssh-...")),
		hidden(attr("identity", cty.String, "Who decrypts: AGE-SECRET-KEY-1..., or an ssh key. AGE_IDENTITY.")),
		attr("identity_file", cty.String, "A file with that. AGE_IDENTITY_FILE."),
		attr("key_length", cty.Number, "The length of the key in bytes: 32 if not set."),
	)},
	{Name: "external", Make: newExternalProvider, Schema: settings(
		required(attr("command", cty.List(cty.String), "The program that gives keys, and its arguments.")),
	)},
	{Name: "openbao", Make: newOpenBao, Schema: settings(
		required(attr("key_name", cty.String, "The key of the transit engine.")),
		hidden(attr("token", cty.String, "The token. BAO_TOKEN.")),
		attr("address", cty.String, "The address of the server. BAO_ADDR."),
		attr("transit_engine_path", cty.String, "Where the transit engine is mounted: /transit if not set."),
		attr("key_length", cty.Number, "The length of the key in bytes, 16 or 32: 32 if not set."),
		attr("associated_data", cty.String, "Associated data of the key, in base64."),
	)},
}

// pbkdf2Provider derives keys from a passphrase, or from a key of another provider.
type pbkdf2Provider struct {
	passphrase string
	salt       int
	want       pbkdf2Meta
}

// pbkdf2Meta is what a key was derived with.
type pbkdf2Meta struct {
	Salt       []byte `json:"salt"`
	Iterations int    `json:"iterations"`
	Hash       string `json:"hash_function"`
	Length     int    `json:"key_length"`
}

const (
	leastIterations = 200_000
	leastPassphrase = 16
	// mostIterations and mostLength keep a file that was made to be read from taking hours and gigabytes.
	mostIterations = 100_000_000
	mostLength     = 1 << 10
)

var hashes = map[string]func() hash.Hash{"sha256": sha256.New, "sha512": sha512.New}

func newPBKDF2(s store.Settings) (Provider, error) {
	p := &pbkdf2Provider{}
	p.passphrase, _ = s.Text("passphrase")
	var err [3]error
	p.want.Length, err[0] = s.Int("key_length", 32)
	p.want.Iterations, err[1] = s.Int("iterations", 600_000)
	p.salt, err[2] = s.Int("salt_length", 32)
	p.want.Hash = "sha512"
	if t, ok := s.Text("hash_function"); ok {
		p.want.Hash = t
	}
	if err := errors.Join(err[:]...); err != nil {
		return nil, err
	}
	if _, set := s.Text("passphrase"); set && utf8.RuneCountInString(p.passphrase) < leastPassphrase {
		return nil, fmt.Errorf(`"passphrase" is too short: it needs %d characters`, leastPassphrase)
	}
	switch {
	case p.want.Iterations < leastIterations:
		return nil, fmt.Errorf(`"iterations" is too low: at least %d are needed`, leastIterations)
	case p.salt < 1 || p.salt > mostLength:
		return nil, fmt.Errorf(`"salt_length" is to be a number of bytes from 1 to %d`, mostLength)
	}
	return p, p.want.check()
}

func (m *pbkdf2Meta) check() error {
	switch {
	case hashes[m.Hash] == nil:
		return fmt.Errorf(`the hash function %q is not known: it is to be sha256 or sha512`, m.Hash)
	case m.Length < 1 || m.Length > mostLength:
		return fmt.Errorf(`the length of a key is to be a number of bytes from 1 to %d, not %d`, mostLength, m.Length)
	case m.Iterations < 1 || m.Iterations > mostIterations:
		return fmt.Errorf("%d iterations are not from 1 to %d", m.Iterations, mostIterations)
	}
	return nil
}

func (p *pbkdf2Provider) derive(m pbkdf2Meta, chain []byte) ([]byte, error) {
	secret := p.passphrase
	if chain != nil {
		secret = string(chain)
	}
	return pbkdf2.Key(hashes[m.Hash], secret, m.Salt, m.Iterations, m.Length)
}

// Fresh implements Provider.
func (p *pbkdf2Provider) Fresh(_ context.Context, chain []byte) (key, meta []byte, err error) {
	m := p.want
	m.Salt = make([]byte, p.salt)
	_, _ = rand.Read(m.Salt) // never fails
	if key, err = p.derive(m, chain); err != nil {
		return nil, nil, err
	}
	meta, err = json.Marshal(m)
	return key, meta, err
}

// Again implements Provider.
func (p *pbkdf2Provider) Again(_ context.Context, meta, chain []byte) ([]byte, bool, error) {
	var m pbkdf2Meta
	if err := json.Unmarshal(meta, &m); err != nil {
		return nil, false, errors.New("its metadata in the file is damaged")
	}
	if err := m.check(); err != nil {
		return nil, false, err
	}
	key, err := p.derive(m, chain)
	current := m.Iterations == p.want.Iterations && m.Hash == p.want.Hash && m.Length == p.want.Length && len(m.Salt) == p.salt
	return key, current, err
}
