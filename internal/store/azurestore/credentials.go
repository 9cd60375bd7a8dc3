package azurestore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/cloudauth"
)

// reader reads the settings of the backend "azurerm". cloud is the Azure cloud that they select.
type reader struct {
	store.Reader
	cloud cloudauth.Cloud
}

// container returns a client for the container at an address. It uses the first of these credentials that is
// configured: the account's key, a SAS token, or a credential of Entra ID. The last is used directly, or to look up the
// account's key.
func (r *reader) container(ctx context.Context, at, account string, o *container.ClientOptions) (*container.Client, error) {
	key := r.Text("access_key", "ARM_ACCESS_KEY")
	if sas := r.Text("sas_token", "ARM_SAS_TOKEN"); key == "" && sas != "" {
		if q, err := url.ParseQuery(strings.TrimPrefix(sas, "?")); err == nil { // the Azure client changes the order and encoding of the parameters, so the signature is registered as a secret separately
			r.S.Secret(q.Get("sig"))
			r.S.Secret(url.QueryEscape(q.Get("sig")))
		}
		return container.NewClientWithNoCredential(at+"?"+strings.TrimPrefix(sas, "?"), o)
	}
	if key == "" {
		token, err := cloudauth.Azure(&r.Reader, r.cloud)
		if err != nil {
			return nil, err
		}
		if r.Flag("use_azuread_auth", "ARM_USE_AZUREAD") {
			return container.NewClient(at, token, o)
		}
		if key, err = r.accountKey(ctx, token, account); err != nil {
			return nil, err
		}
		r.S.Secret(key)
	}
	shared, err := container.NewSharedKeyCredential(account, key)
	if err != nil {
		return nil, r.S.Bad("access_key", "the access key cannot be used: %w", err)
	}
	return container.NewClientWithSharedKeyCredential(at, shared, o)
}

// asksForKey reports whether the key of the account must be looked up with the Azure Resource Manager: the settings
// have a resource group and no other credential.
func (r *reader) asksForKey() bool {
	return r.Text("access_key", "ARM_ACCESS_KEY") == "" && r.Text("sas_token", "ARM_SAS_TOKEN") == "" && !r.Flag("use_azuread_auth", "ARM_USE_AZUREAD") && r.Text("resource_group_name") != ""
}

// accountKey looks up the key of the storage account with the Azure Resource Manager.
func (r *reader) accountKey(ctx context.Context, token azcore.TokenCredential, account string) (string, error) {
	if r.Text("resource_group_name") == "" || r.Text("subscription_id", "ARM_SUBSCRIPTION_ID") == "" {
		return "", errors.New(`there are no credentials for the storage account: set "access_key", "sas_token" or "use_azuread_auth", or set "resource_group_name" and "subscription_id", so that Lethe can look up the key of the account`)
	}
	var reply struct{ Keys []struct{ Value string } }
	if err := r.manager(ctx, token, http.MethodPost, account, "/listKeys", &reply); err != nil {
		return "", fmt.Errorf("the key of the storage account could not be obtained: %w", err)
	}
	if len(reply.Keys) == 0 {
		return "", errors.New("the storage account has no keys")
	}
	return reply.Keys[0].Value, nil
}

// blobEndpoint looks up the address of the storage account with the Azure Resource Manager.
func (r *reader) blobEndpoint(ctx context.Context, account string) (string, error) {
	if r.Text("resource_group_name") == "" || r.Text("subscription_id", "ARM_SUBSCRIPTION_ID") == "" {
		return "", r.S.Bad("lookup_blob_endpoint", `"lookup_blob_endpoint" needs "resource_group_name" and "subscription_id"`)
	}
	token, err := cloudauth.Azure(&r.Reader, r.cloud)
	if err != nil {
		return "", err
	}
	var reply struct {
		Properties struct{ PrimaryEndpoints struct{ Blob string } }
	}
	if err := r.manager(ctx, token, http.MethodGet, account, "", &reply); err != nil {
		return "", fmt.Errorf("the address of the storage account could not be obtained: %w", err)
	}
	if at := reply.Properties.PrimaryEndpoints.Blob; at != "" {
		return at, nil
	}
	return "", errors.New("the storage account has no address for blobs")
}

// manager sends a request about the storage account to the Azure Resource Manager, and decodes the JSON answer into
// reply.
func (r *reader) manager(ctx context.Context, token azcore.TokenCredential, method, account, operation string, reply any) error {
	manager := r.cloud.Services[cloud.ResourceManager]
	var t azcore.AccessToken
	err := r.S.Tries(cloudauth.AzureReading).Do(ctx, func() (err error) {
		t, err = token.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{manager.Audience + "/.default"}})
		return err
	})
	if err != nil {
		return err
	}
	group, subscription := r.Text("resource_group_name"), r.Text("subscription_id", "ARM_SUBSCRIPTION_ID")
	to, err := url.Parse(manager.Endpoint + "/subscriptions/" + url.PathEscape(subscription) + "/resourceGroups/" + url.PathEscape(group) + "/providers/Microsoft.Storage/storageAccounts/" + url.PathEscape(account) + operation + "?api-version=2023-01-01")
	if err != nil {
		return err
	}
	return r.S.Tries(cloudauth.AzureReading).Do(ctx, func() error { return cloudauth.Bearer(t.Token).JSON(ctx, method, to, nil, nil, reply) })
}
