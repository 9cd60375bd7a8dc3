package crypt

import (
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/cloudauth"
	"github.com/zclconf/go-cty/cty"
)

// ChainArgument is the name of the argument with which a key provider refers to another provider, from whose keys it
// makes its own.
const ChainArgument = "chain"

// AliasArgument is the setting of all key providers that replaces their name in the metadata of encrypted files.
const AliasArgument = "encrypted_metadata_alias"

func settings(attrs ...*schema.Attr) *schema.Block {
	return store.Schema(append(attrs, &schema.Attr{Name: AliasArgument, Type: cty.String, Optional: true, Description: "The name of the key provider in encrypted files. Set it to keep files readable after renaming the provider."})...)
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

// ProviderKinds lists the kinds of key providers.
var ProviderKinds = Kinds[Provider]{
	{Name: "pbkdf2", Argument: Maybe, Make: newPBKDF2, Schema: settings(
		hidden(attr("passphrase", cty.String, "The passphrase that the key is derived from: at least 16 characters.")),
		attr("key_length", cty.Number, "The length of the key in bytes: 32 if not set."),
		attr("iterations", cty.Number, "The number of iterations: 600000 if not set, at least 200000."),
		attr("salt_length", cty.Number, "The length of the salt in bytes: 32 if not set."),
		attr("hash_function", cty.String, "sha256 or sha512: sha512 if not set."),
	)},
	{Name: "aws_kms", Make: newAWSKMS, Schema: settings(cloudauth.AWSAttrs(
		required(attr("kms_key_id", cty.String, "The key: its ID, ARN, alias or alias ARN.")),
		required(attr("key_spec", cty.String, "The type of the data keys: AES_256 or AES_128.")),
		attr("encryption_context", cty.Map(cty.String), "The encryption context, which decryption needs again."),
		cloudauth.Nested("endpoints", "The addresses of the services.",
			attr("kms", cty.String, "The address of KMS. AWS_ENDPOINT_URL_KMS, AWS_ENDPOINT_URL."), attr("sts", cty.String, "The address of STS. AWS_ENDPOINT_URL_STS, AWS_STS_ENDPOINT, AWS_ENDPOINT_URL."), attr("iam", cty.String, "The address of IAM. It is not used."),
		),
		attr("skip_credentials_validation", cty.Bool, "Without effect: the first request checks the credentials."),
		attr("skip_requesting_account_id", cty.Bool, "Without effect: Lethe looks up the account if accounts are allowed or forbidden."),
		attr("max_retries", cty.Number, "Without effect: failed requests are repeated three times."),
		attr("retry_mode", cty.String, "Without effect: there is one way to repeat requests."),
	)...)},
	{Name: "azure_vault", Make: newAzureVault, Schema: settings(cloudauth.AzureAttrs(
		required(attr("vault_uri", cty.String, "The vault or managed HSM: https://NAME.vault.azure.net.")),
		required(attr("vault_key_name", cty.String, "The key in the vault.")),
		required(attr("key_length", cty.Number, "The length of the keys that the service encrypts, in bytes.")),
		attr("symmetric", cty.Bool, "Whether the key is an AES key of a managed HSM instead of an RSA key."),
		attr("symmetric_key_size", cty.Number, "The size of the AES key in bits: 128, 192 or 256."),
	)...)},
	{Name: "gcp_kms", Make: newGCPKMS, Schema: settings(cloudauth.GoogleAttrs(
		required(attr("kms_encryption_key", cty.String, "The key: projects/P/locations/L/keyRings/R/cryptoKeys/K.")),
		required(attr("key_length", cty.Number, "The length of the keys that the service encrypts, in bytes.")),
		attr("kms_custom_endpoint", cty.String, "The address of the service, if it differs. GOOGLE_KMS_CUSTOM_ENDPOINT."),
	)...)},
	{Name: "age", Make: newAge, Schema: settings(
		required(attr("recipients", cty.List(cty.String), "Who can decrypt: age1... or ssh-...")),
		hidden(attr("identity", cty.String, "Who decrypts: AGE-SECRET-KEY-1..., or an ssh key. AGE_IDENTITY.")),
		attr("identity_file", cty.String, "A file with the identity. AGE_IDENTITY_FILE."),
		attr("key_length", cty.Number, "The length of the key in bytes: 32 if not set."),
	)},
	{Name: "external", Make: newExternalProvider, Schema: settings(
		required(attr("command", cty.List(cty.String), "The program that returns keys, and its arguments.")),
	)},
	{Name: "openbao", Make: newOpenBao, Schema: settings(
		required(attr("key_name", cty.String, "The key of the transit engine.")),
		hidden(attr("token", cty.String, "The token. BAO_TOKEN, VAULT_TOKEN.")),
		attr("address", cty.String, "The address of the server. BAO_ADDR, VAULT_ADDR."),
		attr("transit_engine_path", cty.String, "Where the transit engine is mounted: /transit if not set."),
		attr("key_length", cty.Number, "The length of the key in bytes, 16 or 32: 32 if not set."),
		attr("associated_data", cty.String, "Associated data of the key, in base64."),
	)},
}
