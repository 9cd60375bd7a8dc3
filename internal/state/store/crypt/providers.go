package crypt

import (
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
