package cloudauth

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/zclconf/go-cty/cty"
)

// AzureAttrs are settings of what asks services of Azure: its own ones, and those that say who asks.
func AzureAttrs(own ...*schema.Attr) []*schema.Attr {
	return append(own,
		store.Attr("environment", cty.String, "public, usgovernment or china: public if not set. ARM_ENVIRONMENT."),
		store.Attr("metadata_host", cty.String, "The host that says what another cloud has, instead of environment. ARM_METADATA_HOSTNAME."),
		store.Attr("subscription_id", cty.String, "The subscription. ARM_SUBSCRIPTION_ID."),
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
		store.Attr("endpoint", cty.String, "Without effect, as in Terraform: only older versions knew it."),
	)
}

// Bearer asks with a token.
func Bearer(token string) *store.API {
	return &store.API{Client: http.DefaultClient, Header: http.Header{"Authorization": {"Bearer " + token}}}
}

// azureReader reads the settings for services of Azure.
type azureReader struct{ *store.Reader }

// orFile is a setting that may be in a file.
func (r *azureReader) orFile(name, env, fileName, fileEnv string) string {
	if t := r.Text(name, env); t != "" {
		return t
	}
	path := r.Text(fileName, fileEnv)
	if path == "" {
		return ""
	}
	data, err := os.ReadFile(r.S.File(path))
	if err != nil {
		r.Bad(fileName, "the file that %q names cannot be read: %w", fileName, err)
	}
	t := strings.TrimSpace(string(data))
	r.S.Secret(t)
	return t
}

// Azure is the credential of Entra ID that the settings of AzureAttrs name, in one of the clouds. That it gives no token is
// a *NoTokenError, or a *store.UnansweredError where a later attempt may have more luck.
func Azure(s *store.Reader, in Cloud) (azcore.TokenCredential, error) {
	c, err := (&azureReader{s}).credential(in)
	if err != nil {
		return nil, err
	}
	return credential{c}, nil
}

// NoTokenError says why there is no token, in one line.
type NoTokenError struct{ text string }

func (e *NoTokenError) Error() string { return e.text }

// credential tells errors in one line.
type credential struct{ azcore.TokenCredential }

// GetToken implements azcore.TokenCredential.
func (c credential) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	token, err := c.TokenCredential.GetToken(ctx, o)
	var failed *azidentity.AuthenticationFailedError
	var unanswered *store.UnansweredError
	switch {
	case err == nil || ctx.Err() != nil:
		return token, err
	case errors.As(err, &unanswered):
		return token, store.Unsent(err)
	case errors.As(err, &failed) && c.later(failed):
		lost := &store.UnansweredError{Err: errors.New("Microsoft Entra ID does not answer: " + strings.Join(strings.Fields(err.Error()), " ")), Unsent: true}
		if failed.RawResponse != nil {
			lost.Err, lost.After = errors.New("Microsoft Entra ID gives no token: "+failed.RawResponse.Status), store.RetryAfter(failed.RawResponse.Header)
		}
		return token, lost
	case errors.As(err, &failed) && failed.RawResponse != nil: // its text has lines for what was sent and what came
		var said struct {
			Description string `json:"error_description"`
		}
		body, _ := runtime.Payload(failed.RawResponse)
		_ = json.Unmarshal(body, &said)
		description, _, _ := strings.Cut(said.Description, "\r\n")
		return token, &NoTokenError{strings.TrimRight("Microsoft Entra ID gives no token: "+failed.RawResponse.Status+": "+description, ":. ")}
	}
	return token, &NoTokenError{"there is no token of Microsoft Entra ID: " + strings.Join(strings.Fields(err.Error()), " ")}
}

// later reports whether a later attempt may have more luck. An error without an answer is one of the way there, but for the
// program of the Azure CLI.
func (c credential) later(failed *azidentity.AuthenticationFailedError) bool {
	if failed.RawResponse == nil {
		_, program := c.TokenCredential.(*azidentity.AzureCLICredential)
		return !program
	}
	return failed.RawResponse.StatusCode >= 500 || failed.RawResponse.StatusCode == http.StatusTooManyRequests
}

// credential is the one that the settings name.
func (r *azureReader) credential(in Cloud) (azcore.TokenCredential, error) {
	o := azcore.ClientOptions{Cloud: in.Configuration}
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
		return azidentity.NewClientSecretCredential(tenant, client, secret, &azidentity.ClientSecretCredentialOptions{ClientOptions: o, DisableInstanceDiscovery: in.Other})
	case certificate != "" || path != "":
		data, err := base64.StdEncoding.DecodeString(certificate)
		if path != "" {
			data, err = os.ReadFile(r.S.File(path))
		}
		if err != nil {
			return nil, r.S.Bad(r.Which("client_certificate", "client_certificate_path"), "the client certificate cannot be read: %w", err)
		}
		certs, key, err := azidentity.ParseCertificates(data, []byte(r.Text("client_certificate_password", "ARM_CLIENT_CERTIFICATE_PASSWORD")))
		if err != nil {
			return nil, r.S.Bad(r.Which("client_certificate", "client_certificate_path"), "the client certificate cannot be used: %w", err)
		}
		return azidentity.NewClientCertificateCredential(tenant, client, certs, key, &azidentity.ClientCertificateCredentialOptions{ClientOptions: o, DisableInstanceDiscovery: in.Other})
	case oidc:
		return r.identity(tenant, client, o, in.Other)
	case aks:
		return azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{ClientOptions: o, ClientID: client, TenantID: tenant, DisableInstanceDiscovery: in.Other})
	case msi:
		if at := r.Text("msi_endpoint", "ARM_MSI_ENDPOINT"); at != "" {
			return newMachine(r.S, at, client)
		}
		m := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: o}
		if client != "" {
			m.ID = azidentity.ClientID(client)
		}
		return azidentity.NewManagedIdentityCredential(m)
	case cli == "" || set:
		return azidentity.NewAzureCLICredential(&azidentity.AzureCLICredentialOptions{TenantID: tenant, Subscription: r.Text("subscription_id", "ARM_SUBSCRIPTION_ID")})
	}
	return nil, errors.New("there are no credentials for Azure, because every way to authenticate is switched off: set a client secret or a client certificate, or use_oidc, use_msi or use_cli")
}

// identity is the credential by a token of another identity provider.
func (r *azureReader) identity(tenant, client string, o azcore.ClientOptions, other bool) (azcore.TokenCredential, error) {
	request := r.Text("oidc_request_url", "ARM_OIDC_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_URL", "SYSTEM_OIDCREQUESTURI")
	with := r.Text("oidc_request_token", "ARM_OIDC_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "SYSTEM_ACCESSTOKEN")
	if connection := r.Text("ado_pipeline_service_connection_id", "ARM_ADO_PIPELINE_SERVICE_CONNECTION_ID", "ARM_OIDC_AZURE_SERVICE_CONNECTION_ID"); connection != "" {
		return azidentity.NewAzurePipelinesCredential(tenant, client, connection, with, &azidentity.AzurePipelinesCredentialOptions{ClientOptions: o, DisableInstanceDiscovery: other})
	}
	token := r.orFile("oidc_token", "ARM_OIDC_TOKEN", "oidc_token_file_path", "ARM_OIDC_TOKEN_FILE_PATH")
	if r.Err != nil {
		return nil, r.Err
	}
	assertion := func(ctx context.Context) (string, error) {
		if token != "" { // a file has a new one from time to time
			again := &azureReader{&store.Reader{S: r.S}}
			return cmp.Or(again.orFile("oidc_token", "ARM_OIDC_TOKEN", "oidc_token_file_path", "ARM_OIDC_TOKEN_FILE_PATH"), token), nil
		}
		u, err := url.Parse(request)
		if err != nil || request == "" {
			return "", errors.New(`there is no token of an identity provider: set "oidc_token", "oidc_token_file_path", or "oidc_request_url" and "oidc_request_token"`)
		}
		q := u.Query()
		q.Set("audience", "api://AzureADTokenExchange")
		u.RawQuery = q.Encode()
		var said struct{ Value string }
		err = Bearer(with).JSON(ctx, http.MethodGet, u, nil, nil, &said)
		r.S.Secret(said.Value)
		return said.Value, err
	}
	return azidentity.NewClientAssertionCredential(tenant, client, assertion, &azidentity.ClientAssertionCredentialOptions{ClientOptions: o, DisableInstanceDiscovery: other})
}
