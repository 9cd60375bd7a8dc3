package cloudauth

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/lethe-iac/lethe/internal/store"
)

// AzureReading is the minimum time during which a request to Azure that only reads is retried. At least the number of
// retries in store.Tries is done in any case.
const AzureReading = time.Minute

// Cloud is an Azure cloud.
type Cloud struct {
	cloud.Configuration
	Blobs string // the domain of the storage accounts' blobs
	Other bool   // the addresses come from a metadata host, so the client must not ask public authorities about the cloud
}

var clouds = map[string]Cloud{
	"public":       {cloud.AzurePublic, "blob.core.windows.net", false},
	"usgovernment": {cloud.AzureGovernment, "blob.core.usgovcloudapi.net", false},
	"china":        {cloud.AzureChina, "blob.core.chinacloudapi.cn", false},
}

// AzureCloud returns the cloud that the settings select: the cloud of metadata_host, or else the cloud of environment,
// whose default is public. After an error, which it records in s, it returns a Cloud without addresses.
func AzureCloud(ctx context.Context, s *store.Reader) Cloud {
	if host := s.Text("metadata_host", "ARM_METADATA_HOSTNAME"); host != "" {
		var c Cloud
		err := s.S.Tries(AzureReading).Do(ctx, func() (err error) {
			c, err = otherCloud(ctx, host)
			return err
		})
		if err != nil {
			s.Bad("metadata_host", `the "metadata_host" %q did not return the metadata of its cloud: %w`, host, err)
		}
		return c
	}
	name, set := s.S.Text("environment", "ARM_ENVIRONMENT")
	if !set {
		name = "public"
	}
	c, known := clouds[strings.ToLower(name)]
	if !known {
		s.Fail(fmt.Errorf(`the "environment" must be public, usgovernment or china, not %q`, name))
	}
	return c
}

// otherCloud asks a metadata host for the addresses of its cloud. It returns an error if the host does not answer
// within 30 seconds, or if an address is missing in the answer.
func otherCloud(ctx context.Context, host string) (Cloud, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	api := &store.API{Client: store.Client(), ErrorMessage: ErrorMessage}
	answer, err := api.Ask(ctx, http.MethodGet, &url.URL{Scheme: "https", Host: host, Path: "/metadata/endpoints", RawQuery: "api-version=2022-09-01"}, nil, nil)
	if err != nil {
		return Cloud{}, err
	}
	var reply struct {
		ResourceManager string
		Authentication  struct{ LoginEndpoint string }
		Suffixes        struct{ Storage string }
	}
	answer.Body = bytes.TrimPrefix(answer.Body, []byte("\ufeff")) // some clouds begin the answer with a byte order mark
	if err := answer.JSON(&reply); err != nil {
		return Cloud{}, err
	}
	manager, domain := strings.TrimRight(reply.ResourceManager, "/"), strings.Trim(reply.Suffixes.Storage, ".")
	if manager == "" || domain == "" || reply.Authentication.LoginEndpoint == "" {
		return Cloud{}, fmt.Errorf("the answer lacks the address of the resource manager, the address of the login, or the domain of storage")
	}
	return Cloud{cloud.Configuration{
		ActiveDirectoryAuthorityHost: reply.Authentication.LoginEndpoint,
		Services:                     map[cloud.ServiceName]cloud.ServiceConfiguration{cloud.ResourceManager: {Audience: manager, Endpoint: manager}},
	}, "blob." + domain, true}, nil
}

// machine is the credential of a machine's managed identity, from an identity service at a configured address.
type machine struct {
	at     *url.URL
	client string       // the client ID that selects one of several identities; "" selects the only one
	learn  func(string) // receives each token, so that output does not show it
}

// newMachine returns the credential of the machine's managed identity from the identity service at an address. It
// returns an error if the address is not an absolute URL. client may be "".
func newMachine(s store.Settings, at, client string) (azcore.TokenCredential, error) {
	u, err := url.Parse(at)
	if err != nil || u.Host == "" {
		return nil, s.Bad("msi_endpoint", `the value of "msi_endpoint" must be an address, such as http://169.254.169.254/metadata/identity/oauth2/token`)
	}
	return &machine{u, client, s.Secret}, nil
}

// GetToken implements azcore.TokenCredential. Each call sends a request to the identity service.
func (m *machine) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	to, q := *m.at, m.at.Query()
	q.Set("api-version", "2018-02-01")
	q.Set("resource", strings.TrimSuffix(strings.Join(o.Scopes, " "), "/.default"))
	if m.client != "" {
		q.Set("client_id", m.client)
	}
	to.RawQuery = q.Encode()
	var reply struct {
		Token string      `json:"access_token"`
		For   json.Number `json:"expires_in"` // the validity of the token, in seconds
	}
	api := &store.API{Client: store.Client(), Header: http.Header{"Metadata": {"true"}}, ErrorMessage: ErrorMessage}
	if err := api.JSON(ctx, http.MethodGet, &to, nil, nil, &reply); err != nil {
		return azcore.AccessToken{}, fmt.Errorf("there is no token for the identity of the machine: %w", err)
	}
	m.learn(reply.Token)
	seconds, _ := reply.For.Int64() // without expires_in, the token counts as expired, and each call requests a new token
	return azcore.AccessToken{Token: reply.Token, ExpiresOn: time.Now().Add(time.Duration(seconds) * time.Second)}, nil
}
