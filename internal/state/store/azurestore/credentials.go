package azurestore

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// reader reads the settings.
type reader struct {
	store.Reader
	cloud cloud.Configuration
}

// orFile is a setting that may be in a file.
func (r *reader) orFile(name, env, fileName, fileEnv string) string {
	if t := r.Text(name, env); t != "" {
		return t
	}
	path := r.Text(fileName, fileEnv)
	if path == "" {
		return ""
	}
	data, err := os.ReadFile(path)
	if err != nil {
		r.Fail(fmt.Errorf("the file of %q cannot be read: %w", fileName, err))
	}
	t := strings.TrimSpace(string(data))
	r.S.Secret(t)
	return t
}

// container makes the client, by the first of the ways to authenticate that the settings name.
func (r *reader) container(ctx context.Context, at, account string, o *container.ClientOptions) (*container.Client, error) {
	key := r.Text("access_key", "ARM_ACCESS_KEY")
	if sas := r.Text("sas_token", "ARM_SAS_TOKEN"); key == "" && sas != "" {
		return container.NewClientWithNoCredential(at+"?"+strings.TrimPrefix(sas, "?"), o)
	}
	if key == "" {
		token, err := r.credential()
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
		return nil, fmt.Errorf("the access key is none: %w", err)
	}
	return container.NewClientWithSharedKeyCredential(at, shared, o)
}

// accountKey asks for the key of the account.
func (r *reader) accountKey(ctx context.Context, token azcore.TokenCredential, account string) (string, error) {
	group, subscription := r.Text("resource_group_name"), r.Text("subscription_id", "ARM_SUBSCRIPTION_ID")
	if group == "" || subscription == "" {
		return "", errors.New(`there are no credentials for the storage account: set "access_key" or "sas_token", or "use_azuread_auth", or "resource_group_name" and "subscription_id", by which the key of the account is asked for`)
	}
	manager := r.cloud.Services[cloud.ResourceManager]
	t, err := token.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{manager.Audience + "/.default"}})
	if err != nil {
		return "", err
	}
	to := manager.Endpoint + "/subscriptions/" + url.PathEscape(subscription) + "/resourceGroups/" + url.PathEscape(group) + "/providers/Microsoft.Storage/storageAccounts/" + url.PathEscape(account) + "/listKeys?api-version=2023-01-01"
	var said struct{ Keys []struct{ Value string } }
	if err := ask(ctx, http.MethodPost, to, t.Token, &said); err != nil {
		return "", fmt.Errorf("the key of the storage account cannot be had: %w", err)
	}
	if len(said.Keys) == 0 {
		return "", errors.New("the storage account has no keys")
	}
	return said.Keys[0].Value, nil
}

// ask makes a request with a token, and reads the answer.
func ask(ctx context.Context, method, to, token string, into any) error {
	u, err := url.Parse(to)
	if err != nil {
		return err
	}
	api := store.API{Client: http.DefaultClient, Header: http.Header{"Authorization": {"Bearer " + token}}}
	return api.JSON(ctx, method, u, nil, nil, into)
}

// credential is that of Entra ID.
func (r *reader) credential() (azcore.TokenCredential, error) {
	o := azcore.ClientOptions{Cloud: r.cloud}
	tenant, client := r.Text("tenant_id", "ARM_TENANT_ID"), r.orFile("client_id", "ARM_CLIENT_ID", "client_id_file_path", "ARM_CLIENT_ID_FILE_PATH")
	secret := r.orFile("client_secret", "ARM_CLIENT_SECRET", "client_secret_file_path", "ARM_CLIENT_SECRET_FILE_PATH")
	certificate, path := r.Text("client_certificate", "ARM_CLIENT_CERTIFICATE"), r.Text("client_certificate_path", "ARM_CLIENT_CERTIFICATE_PATH")
	cli, set := r.Text("use_cli", "ARM_USE_CLI"), r.Flag("use_cli", "ARM_USE_CLI")
	oidc, aks, msi := r.Flag("use_oidc", "ARM_USE_OIDC"), r.Flag("use_aks_workload_identity", "ARM_USE_AKS_WORKLOAD_IDENTITY"), r.Flag("use_msi", "ARM_USE_MSI")
	if r.Err != nil {
		return nil, r.Err
	}
	switch {
	case secret != "":
		return azidentity.NewClientSecretCredential(tenant, client, secret, &azidentity.ClientSecretCredentialOptions{ClientOptions: o})
	case certificate != "" || path != "":
		data, err := base64.StdEncoding.DecodeString(certificate)
		if path != "" {
			data, err = os.ReadFile(path)
		}
		if err != nil {
			return nil, fmt.Errorf("the client certificate cannot be read: %w", err)
		}
		certs, key, err := azidentity.ParseCertificates(data, []byte(r.Text("client_certificate_password", "ARM_CLIENT_CERTIFICATE_PASSWORD")))
		if err != nil {
			return nil, fmt.Errorf("the client certificate cannot be used: %w", err)
		}
		return azidentity.NewClientCertificateCredential(tenant, client, certs, key, &azidentity.ClientCertificateCredentialOptions{ClientOptions: o})
	case oidc:
		return r.identity(tenant, client, o)
	case aks:
		return azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{ClientOptions: o, ClientID: client, TenantID: tenant})
	case msi:
		if r.Text("msi_endpoint", "ARM_MSI_ENDPOINT") != "" || r.Text("endpoint") != "" {
			return nil, errors.New(`"msi_endpoint" is not honoured: the identity of a machine is asked for where Azure has it`)
		}
		m := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: o}
		if client != "" {
			m.ID = azidentity.ClientID(client)
		}
		return azidentity.NewManagedIdentityCredential(m)
	case cli == "" || set:
		return azidentity.NewAzureCLICredential(&azidentity.AzureCLICredentialOptions{TenantID: tenant, Subscription: r.Text("subscription_id", "ARM_SUBSCRIPTION_ID")})
	}
	return nil, errors.New("there are no credentials for the storage account: every way to authenticate is switched off")
}

// identity is the credential by a token of another identity provider.
func (r *reader) identity(tenant, client string, o azcore.ClientOptions) (azcore.TokenCredential, error) {
	request := r.Text("oidc_request_url", "ARM_OIDC_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_URL", "SYSTEM_OIDCREQUESTURI")
	with := r.Text("oidc_request_token", "ARM_OIDC_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "SYSTEM_ACCESSTOKEN")
	if connection := r.Text("ado_pipeline_service_connection_id", "ARM_ADO_PIPELINE_SERVICE_CONNECTION_ID", "ARM_OIDC_AZURE_SERVICE_CONNECTION_ID"); connection != "" {
		return azidentity.NewAzurePipelinesCredential(tenant, client, connection, with, &azidentity.AzurePipelinesCredentialOptions{ClientOptions: o})
	}
	token := r.orFile("oidc_token", "ARM_OIDC_TOKEN", "oidc_token_file_path", "ARM_OIDC_TOKEN_FILE_PATH")
	if r.Err != nil {
		return nil, r.Err
	}
	assertion := func(ctx context.Context) (string, error) {
		if token != "" {
			return token, nil
		}
		u, err := url.Parse(request)
		if err != nil || request == "" {
			return "", errors.New(`there is no token of an identity provider: set "oidc_token", "oidc_token_file_path", or "oidc_request_url" and "oidc_request_token"`)
		}
		q := u.Query()
		q.Set("audience", "api://AzureADTokenExchange")
		u.RawQuery = q.Encode()
		var said struct{ Value string }
		err = ask(ctx, http.MethodGet, u.String(), with, &said)
		r.S.Secret(said.Value)
		return said.Value, err
	}
	return azidentity.NewClientAssertionCredential(tenant, client, assertion, &azidentity.ClientAssertionCredentialOptions{ClientOptions: o})
}
