package azurestore

import (
	"context"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/cloudauth"
	"github.com/zclconf/go-cty/cty"
)

// Driver is the backend "azurerm". What the block leaves out may come from the environment.
var Driver = store.Driver{Name: "azurerm", Schema: store.Schema(cloudauth.AzureAttrs(
	store.Attr("storage_account_name", cty.String, "The storage account."),
	store.Attr("container_name", cty.String, "The container."),
	store.Attr("key", cty.String, "The name of the default workspace's blob."),
	store.Attr("snapshot", cty.Bool, "Whether what is replaced is kept as a snapshot. ARM_SNAPSHOT."),
	store.Attr("lookup_blob_endpoint", cty.Bool, "Whether the address of the account is asked for, as those with a DNS zone of their own need it. ARM_USE_DNS_ZONE_ENDPOINT."),

	store.SecretAttr("access_key", "The key of the account. ARM_ACCESS_KEY."),
	store.SecretAttr("sas_token", "A shared access signature. ARM_SAS_TOKEN."),
	store.Attr("use_azuread_auth", cty.Bool, "Whether the blob service is asked with a token of Entra ID. ARM_USE_AZUREAD."),
	store.Attr("resource_group_name", cty.String, "The resource group, where the key or the address of the account is asked for."),
)...), Open: open}

func open(ctx context.Context, s store.Settings) (store.Store, error) {
	s.Blank = true
	r := &reader{Reader: store.Reader{S: s}}
	account, name, key := r.Must("storage_account_name"), r.Must("container_name"), r.Must("key")
	snapshot, lookup := r.Flag("snapshot", "ARM_SNAPSHOT"), r.Flag("lookup_blob_endpoint", "ARM_USE_DNS_ZONE_ENDPOINT")
	if r.Err != nil {
		return nil, r.Err
	}
	r.cloud = cloudauth.AzureCloud(ctx, &r.Reader)
	o := &container.ClientOptions{ClientOptions: azcore.ClientOptions{Cloud: r.cloud.Configuration, Retry: policy.RetryOptions{MaxRetries: -1}}}
	if s.Agent != "" {
		o.Telemetry.ApplicationID = strings.ReplaceAll(s.Agent, " ", "-")
	}
	if r.Err != nil {
		return nil, r.Err
	}
	at := "https://" + account + "." + r.cloud.Blobs
	if lookup {
		var err error
		if at, err = r.blobEndpoint(ctx, account); err != nil {
			return nil, err
		}
	}
	client, err := r.container(ctx, strings.TrimRight(at, "/")+"/"+url.PathEscape(name), account, o)
	if err != nil {
		return nil, err
	}
	return store.Careful(New(Options{Container: client, Key: key, Snapshot: snapshot}), s.Tries(cloudauth.AzureReading)), nil
}
