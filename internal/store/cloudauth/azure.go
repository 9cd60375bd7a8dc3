package cloudauth

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
)

// AzureAttrs returns the schema attributes for a client of Azure services: the given attributes, and the settings for
// the cloud and the credentials.
func AzureAttrs(own ...*schema.Attr) []*schema.Attr {
	return append(own,
		store.Attr("environment", cty.String, "public, usgovernment or china: public if not set. ARM_ENVIRONMENT."),
		store.Attr("metadata_host", cty.String, "The metadata host of another cloud, instead of environment. ARM_METADATA_HOSTNAME."),
		store.Attr("subscription_id", cty.String, "The subscription. ARM_SUBSCRIPTION_ID."),
		store.Attr("tenant_id", cty.String, "The tenant. ARM_TENANT_ID."),
		store.Attr("client_id", cty.String, "The ID of the client. ARM_CLIENT_ID."), store.Attr("client_id_file_path", cty.String, "A file with the ID of the client. ARM_CLIENT_ID_FILE_PATH."),
		store.SecretAttr("client_secret", "The secret of the client. ARM_CLIENT_SECRET."), store.Attr("client_secret_file_path", cty.String, "A file with the secret of the client. ARM_CLIENT_SECRET_FILE_PATH."),
		store.SecretAttr("client_certificate", "The certificate of the client as PKCS #12, in base64. ARM_CLIENT_CERTIFICATE."),
		store.Attr("client_certificate_path", cty.String, "The file of the certificate. ARM_CLIENT_CERTIFICATE_PATH."),
		store.SecretAttr("client_certificate_password", "The password of the certificate. ARM_CLIENT_CERTIFICATE_PASSWORD."),
		store.Attr("use_oidc", cty.Bool, "Whether a token of another identity provider is used. ARM_USE_OIDC."),
		store.SecretAttr("oidc_token", "The token for use_oidc. ARM_OIDC_TOKEN."), store.Attr("oidc_token_file_path", cty.String, "A file with the token for use_oidc. ARM_OIDC_TOKEN_FILE_PATH."),
		store.Attr("oidc_request_url", cty.String, "The address that issues the token for use_oidc. ARM_OIDC_REQUEST_URL, ACTIONS_ID_TOKEN_REQUEST_URL, SYSTEM_OIDCREQUESTURI."),
		store.SecretAttr("oidc_request_token", "The token for requests to oidc_request_url. ARM_OIDC_REQUEST_TOKEN, ACTIONS_ID_TOKEN_REQUEST_TOKEN, SYSTEM_ACCESSTOKEN."),
		store.Attr("ado_pipeline_service_connection_id", cty.String, "The service connection of Azure Pipelines. ARM_ADO_PIPELINE_SERVICE_CONNECTION_ID, ARM_OIDC_AZURE_SERVICE_CONNECTION_ID."),
		store.Attr("use_aks_workload_identity", cty.Bool, "Whether the workload identity of a cluster is used. ARM_USE_AKS_WORKLOAD_IDENTITY."),
		store.Attr("use_msi", cty.Bool, "Whether the identity of the machine is used. ARM_USE_MSI."), store.Attr("msi_endpoint", cty.String, "The address of the identity service. ARM_MSI_ENDPOINT."),
		store.Attr("use_cli", cty.Bool, "Whether the user of the Azure CLI is used: true if not set. ARM_USE_CLI."),
		store.Attr("endpoint", cty.String, "Without effect, as in Terraform: only older versions knew it."),
	)
}

// Bearer returns a client that authenticates every request with a bearer token.
func Bearer(token string) *store.API {
	return &store.API{Client: store.Client(), Header: http.Header{"Authorization": {"Bearer " + token}}}
}

// azureReader reads the settings that AzureAttrs describes.
type azureReader struct{ *store.Reader }

// orFile returns the value of one setting, or else the content of the file that another setting (fileName) names. env
// and fileEnv are the environment variables of the two settings. It returns "" if neither is set. If the file cannot be
// read, it records an error.
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

// AzureFiles reads the files that client_id_file_path, client_secret_file_path and oidc_token_file_path name. It
// records an error in s for each file that cannot be read, even if the credential does not use the file. If the value
// itself is set, such as client_id, AzureFiles does not read the file for it.
func AzureFiles(s *store.Reader) {
	r := &azureReader{s}
	r.orFile("client_id", "ARM_CLIENT_ID", "client_id_file_path", "ARM_CLIENT_ID_FILE_PATH")
	r.orFile("client_secret", "ARM_CLIENT_SECRET", "client_secret_file_path", "ARM_CLIENT_SECRET_FILE_PATH")
	r.orFile("oidc_token", "ARM_OIDC_TOKEN", "oidc_token_file_path", "ARM_OIDC_TOKEN_FILE_PATH")
}

// Azure returns the Entra ID credential that the settings of AzureAttrs describe, for a cloud. Later, if the credential
// cannot get a token, its error is a *store.UnansweredError if another attempt may succeed, and otherwise a
// *NoTokenError.
func Azure(s *store.Reader, in Cloud) (azcore.TokenCredential, error) {
	c, err := (&azureReader{s}).credential(in)
	if err != nil {
		return nil, err
	}
	return credential{c}, nil
}

// NoTokenError reports that no token could be obtained. Its text is one line.
type NoTokenError struct{ text string }

func (e *NoTokenError) Error() string { return e.text }

// credential wraps a credential of the Azure SDK and converts its errors.
type credential struct{ azcore.TokenCredential }

// GetToken returns a token of the wrapped credential. If a later attempt may succeed, the error is a
// *store.UnansweredError, otherwise a *NoTokenError. If ctx has ended, GetToken returns the error of the Azure SDK
// unchanged.
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
		noAnswer := &store.UnansweredError{Err: errors.New("Microsoft Entra ID does not answer: " + strings.Join(strings.Fields(err.Error()), " ")), Unsent: true}
		if failed.RawResponse != nil {
			noAnswer.Err, noAnswer.After = errors.New("Microsoft Entra ID refused a token: "+failed.RawResponse.Status), store.RetryAfter(failed.RawResponse.Header)
		}
		return token, noAnswer
	case errors.As(err, &failed) && failed.RawResponse != nil: // the text of this error has several lines about the request and the response
		var reply struct {
			Description string `json:"error_description"`
		}
		body, _ := runtime.Payload(failed.RawResponse)
		_ = json.Unmarshal(body, &reply)
		description, _, _ := strings.Cut(reply.Description, "\r\n")
		return token, &NoTokenError{strings.TrimRight("Microsoft Entra ID refused a token: "+failed.RawResponse.Status+": "+description, ":. ")}
	}
	return token, &NoTokenError{"no token of Microsoft Entra ID could be obtained: " + strings.Join(strings.Fields(err.Error()), " ")}
}

// later reports whether a later attempt to get a token may succeed. If the error has no response, the connection
// failed, so a later attempt may succeed. The exception is the Azure CLI, which is a program.
func (c credential) later(failed *azidentity.AuthenticationFailedError) bool {
	if failed.RawResponse == nil {
		_, program := c.TokenCredential.(*azidentity.AzureCLICredential)
		return !program
	}
	return failed.RawResponse.StatusCode >= 500 || failed.RawResponse.StatusCode == http.StatusTooManyRequests
}

// credential returns the credential that the settings describe. If they describe several, it is the first of this list:
// a client certificate, a client secret, a token of another identity provider, the workload identity of a cluster, the
// identity of the machine, the user of the Azure CLI.
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
	named := tenant != "" && client != "" // as in Terraform, a secret has no effect without a tenant and a client
	switch {
	case (certificate != "" || path != "") && named:
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
	case secret != "" && named:
		return azidentity.NewClientSecretCredential(tenant, client, secret, &azidentity.ClientSecretCredentialOptions{ClientOptions: o, DisableInstanceDiscovery: in.Other})
	case oidc && named:
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
		o := &azidentity.AzureCLICredentialOptions{TenantID: tenant}
		if tenant == "" { // az refuses a tenant together with a subscription
			o.Subscription = r.Text("subscription_id", "ARM_SUBSCRIPTION_ID")
		}
		return azidentity.NewAzureCLICredential(o)
	}
	return nil, errors.New("there are no credentials for Azure: set tenant_id, client_id and one of client_secret, a client certificate and use_oidc, or set use_msi or use_cli")
}

// identity returns a credential that exchanges a token of another identity provider for a token of Azure. o has the
// options of the HTTP client. The parameter other is true if the addresses of the cloud come from a metadata host.
func (r *azureReader) identity(tenant, client string, o azcore.ClientOptions, other bool) (azcore.TokenCredential, error) {
	token := r.orFile("oidc_token", "ARM_OIDC_TOKEN", "oidc_token_file_path", "ARM_OIDC_TOKEN_FILE_PATH")
	if r.Err != nil {
		return nil, r.Err
	}
	assertion := func(ctx context.Context) (string, error) {
		if token != "" { // the file is read for each request, because its content changes from time to time
			again := &azureReader{&store.Reader{S: r.S}}
			return cmp.Or(again.orFile("oidc_token", "ARM_OIDC_TOKEN", "oidc_token_file_path", "ARM_OIDC_TOKEN_FILE_PATH"), token), nil
		}
		return r.request(ctx)
	}
	return azidentity.NewClientAssertionCredential(tenant, client, assertion, &azidentity.ClientAssertionCredentialOptions{ClientOptions: o, DisableInstanceDiscovery: other})
}

// request asks the identity provider of a job for a token: GitHub Actions or, if the settings name a service connection,
// Azure Pipelines.
func (r *azureReader) request(ctx context.Context) (string, error) {
	at := r.Text("oidc_request_url", "ARM_OIDC_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_URL", "SYSTEM_OIDCREQUESTURI")
	with := r.Text("oidc_request_token", "ARM_OIDC_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "SYSTEM_ACCESSTOKEN")
	u, err := url.Parse(at)
	if err != nil || at == "" {
		return "", errors.New(`there is no token of an identity provider: set "oidc_token", "oidc_token_file_path", or "oidc_request_url" and "oidc_request_token"`)
	}
	method, q := http.MethodGet, u.Query()
	q.Set("audience", "api://AzureADTokenExchange")
	if connection := r.Text("ado_pipeline_service_connection_id", "ARM_ADO_PIPELINE_SERVICE_CONNECTION_ID", "ARM_OIDC_AZURE_SERVICE_CONNECTION_ID"); connection != "" {
		method = http.MethodPost
		q.Set("api-version", "7.1")
		q.Set("serviceConnectionId", connection)
	}
	u.RawQuery = q.Encode()
	var reply struct{ Value, OIDCToken string } // of GitHub Actions, and of Azure Pipelines
	err = Bearer(with).JSON(ctx, method, u, nil, nil, &reply)
	token := cmp.Or(reply.OIDCToken, reply.Value)
	r.S.Secret(token)
	if err == nil && token == "" {
		err = fmt.Errorf("the answer of %s has no token", store.Shown(u))
	}
	return token, err
}
