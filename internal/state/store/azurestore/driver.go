package azurestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/zclconf/go-cty/cty"
)

// Driver is the backend "azurerm". What the block leaves out may come from the environment.
var Driver = store.Driver{Name: "azurerm", Schema: store.Schema(
	store.Attr("storage_account_name", cty.String, "The storage account."),
	store.Attr("container_name", cty.String, "The container."),
	store.Attr("key", cty.String, "The name of the default workspace's blob."),
	store.Attr("snapshot", cty.Bool, "Whether what is replaced is kept as a snapshot. ARM_SNAPSHOT."),
	store.Attr("environment", cty.String, "public, usgovernment or china: public if not set. ARM_ENVIRONMENT."),
	store.Attr("metadata_host", cty.String, "The host that knows other clouds. ARM_METADATA_HOSTNAME."),
	store.Attr("lookup_blob_endpoint", cty.Bool, "Whether the address of the account is asked for. ARM_USE_DNS_STORAGE_ENDPOINT."),

	store.SecretAttr("access_key", "The key of the account. ARM_ACCESS_KEY."),
	store.SecretAttr("sas_token", "A shared access signature. ARM_SAS_TOKEN."),
	store.Attr("use_azuread_auth", cty.Bool, "Whether the blob service is asked with a token of Entra ID. ARM_USE_AZUREAD."),
	store.Attr("resource_group_name", cty.String, "The resource group, where the key of the account is asked for."),
	store.Attr("subscription_id", cty.String, "The subscription, likewise. ARM_SUBSCRIPTION_ID."),
	store.Attr("tenant_id", cty.String, "The tenant. ARM_TENANT_ID."),
	store.Attr("client_id", cty.String, "The client. ARM_CLIENT_ID."), store.Attr("client_id_file_path", cty.String, "Its file. ARM_CLIENT_ID_FILE_PATH."),
	store.SecretAttr("client_secret", "The secret of the client. ARM_CLIENT_SECRET."), store.Attr("client_secret_file_path", cty.String, "Its file. ARM_CLIENT_SECRET_FILE_PATH."),
	store.SecretAttr("client_certificate", "Its certificate as PKCS #12, in base64. ARM_CLIENT_CERTIFICATE."),
	store.Attr("client_certificate_path", cty.String, "The file of that. ARM_CLIENT_CERTIFICATE_PATH."),
	store.SecretAttr("client_certificate_password", "The password of that. ARM_CLIENT_CERTIFICATE_PASSWORD."),
	store.Attr("use_oidc", cty.Bool, "Whether a token of another identity provider is used. ARM_USE_OIDC."),
	store.SecretAttr("oidc_token", "That token. ARM_OIDC_TOKEN."), store.Attr("oidc_token_file_path", cty.String, "Its file. ARM_OIDC_TOKEN_FILE_PATH."),
	store.Attr("oidc_request_url", cty.String, "Where it is asked for. ARM_OIDC_REQUEST_URL, ACTIONS_ID_TOKEN_REQUEST_URL."),
	store.SecretAttr("oidc_request_token", "The token for that. ARM_OIDC_REQUEST_TOKEN, ACTIONS_ID_TOKEN_REQUEST_TOKEN."),
	store.Attr("ado_pipeline_service_connection_id", cty.String, "The service connection of Azure Pipelines. ARM_ADO_PIPELINE_SERVICE_CONNECTION_ID."),
	store.Attr("use_aks_workload_identity", cty.Bool, "Whether the workload identity of a cluster is used. ARM_USE_AKS_WORKLOAD_IDENTITY."),
	store.Attr("use_msi", cty.Bool, "Whether the identity of the machine is used. ARM_USE_MSI."), store.Attr("msi_endpoint", cty.String, "Where that is asked for. ARM_MSI_ENDPOINT."),
	store.Attr("use_cli", cty.Bool, "Whether the user of the Azure CLI is used: true if not set. ARM_USE_CLI."),
	store.Attr("endpoint", cty.String, "Older form of msi_endpoint."),
), Open: open}

// clouds are those that are known by name, each with the domain of its blobs.
var clouds = map[string]struct {
	cloud.Configuration
	blobs string
}{
	"public":       {cloud.AzurePublic, "blob.core.windows.net"},
	"usgovernment": {cloud.AzureGovernment, "blob.core.usgovcloudapi.net"},
	"china":        {cloud.AzureChina, "blob.core.chinacloudapi.cn"},
}

func open(ctx context.Context, s store.Settings) (store.Store, error) {
	r := &reader{Reader: store.Reader{S: s}}
	account, name, key := r.Must("storage_account_name"), r.Must("container_name"), r.Must("key")
	environment := strings.ToLower(cmp.Or(r.Text("environment", "ARM_ENVIRONMENT"), "public"))
	where, known := clouds[environment]
	switch {
	case !known:
		r.Fail(fmt.Errorf(`the "environment" %q is none of public, usgovernment and china`, environment))
	case r.Text("metadata_host", "ARM_METADATA_HOSTNAME") != "":
		r.Fail(errors.New(`"metadata_host" is not honoured: of clouds there are public, usgovernment and china`))
	case r.Flag("lookup_blob_endpoint", "ARM_USE_DNS_STORAGE_ENDPOINT"):
		r.Fail(errors.New(`"lookup_blob_endpoint" is not honoured: accounts are found at their usual address`))
	}
	snapshot := r.Flag("snapshot", "ARM_SNAPSHOT")
	r.cloud = where.Configuration
	o := &container.ClientOptions{ClientOptions: azcore.ClientOptions{Cloud: r.cloud, Retry: policy.RetryOptions{MaxRetries: -1}}}
	if s.Agent != "" {
		o.Telemetry.ApplicationID = strings.ReplaceAll(s.Agent, " ", "-")
	}
	if r.Err != nil {
		return nil, r.Err
	}
	client, err := r.container(ctx, "https://"+account+"."+where.blobs+"/"+url.PathEscape(name), account, o)
	if err != nil {
		return nil, err
	}
	return store.Careful(New(Options{Container: client, Key: key, Snapshot: snapshot}), store.Tries{Again: 5, Shortest: 250 * time.Millisecond, Longest: 20 * time.Second}), nil
}
