package azurestore

import (
	"context"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/cloudauth"
	"github.com/zclconf/go-cty/cty"
)

// Driver is the backend "azurerm". Settings that the block omits may come from the environment.
var Driver = store.Driver{Name: "azurerm", Schema: store.Schema(cloudauth.AzureAttrs(
	store.Attr("storage_account_name", cty.String, "The storage account."),
	store.Attr("container_name", cty.String, "The container."),
	store.Attr("key", cty.String, "The name of the default workspace's blob."),
	store.Attr("snapshot", cty.Bool, "Whether a write keeps the previous state as a snapshot. ARM_SNAPSHOT."),
	store.Attr("lookup_blob_endpoint", cty.Bool, "Whether Lethe looks up the address of the account, for accounts with a separate DNS zone. ARM_USE_DNS_ZONE_ENDPOINT."),

	store.SecretAttr("access_key", "The key of the account. ARM_ACCESS_KEY."),
	store.SecretAttr("sas_token", "A shared access signature. ARM_SAS_TOKEN."),
	store.Attr("use_azuread_auth", cty.Bool, "Whether requests use a token of Entra ID. ARM_USE_AZUREAD."),
	store.Attr("resource_group_name", cty.String, "The resource group of the account, for looking up its key or address."),
)...), Open: open}

func open(ctx context.Context, s store.Settings) (store.Store, error) {
	r := &reader{Reader: store.Reader{S: s}}
	account, name, key := r.Must("storage_account_name"), r.Must("container_name"), r.Must("key")
	snapshot, lookup := r.Flag("snapshot", "ARM_SNAPSHOT"), r.Flag("lookup_blob_endpoint", "ARM_USE_DNS_ZONE_ENDPOINT")
	cloudauth.AzureFiles(&r.Reader)
	if strings.ContainsAny(key, "?#") { // Terraform would use the part before "?" or "#" as the name of one blob for all workspaces
		r.Bad("key", "the \"key\" %q must not contain ? or #", key)
	}
	if r.Err != nil {
		return nil, r.Err
	}
	if name, err := url.PathUnescape(key); err == nil {
		key = name // Terraform inserts the key into the address unchanged, so %20 in the key means a space
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
	if asks := r.asksForKey(); lookup || asks {
		stated, err := r.blobEndpoint(ctx, account)
		switch {
		case err == nil:
			at = stated
		case lookup || ctx.Err() != nil: // without "lookup_blob_endpoint" a failed look-up is not an error: use the default address, because the request may be forbidden
			return nil, err
		}
	}
	client, err := r.container(ctx, strings.TrimRight(at, "/")+"/"+url.PathEscape(name), account, o)
	if err != nil {
		return nil, err
	}
	return store.Retrying(New(Options{Container: client, Key: key, Snapshot: snapshot}), s.Tries(cloudauth.AzureReading)), nil
}
