package cloudauth

import (
	"bytes"
	"cmp"
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
	"github.com/lethe-iac/lethe/internal/state/store"
)

// AzureReading is how long requests to Azure that read are retried at least.
const AzureReading = time.Minute

// Cloud is one of Azure's.
type Cloud struct {
	cloud.Configuration
	Blobs string // the domain of its storage accounts
	Other bool   // it is none of those that everybody knows, whose authorities are not asked about it
}

var clouds = map[string]Cloud{
	"public":       {cloud.AzurePublic, "blob.core.windows.net", false},
	"usgovernment": {cloud.AzureGovernment, "blob.core.usgovcloudapi.net", false},
	"china":        {cloud.AzureChina, "blob.core.chinacloudapi.cn", false},
}

// AzureCloud is the cloud that the settings name. Mistakes are noted in s.
func AzureCloud(ctx context.Context, s *store.Reader) Cloud {
	if host := s.Text("metadata_host", "ARM_METADATA_HOSTNAME"); host != "" {
		var c Cloud
		err := s.S.Tries(AzureReading).Do(ctx, func() (err error) {
			c, err = otherCloud(ctx, host)
			return err
		})
		if err != nil {
			s.Bad("metadata_host", `the "metadata_host" %q does not say what its cloud has: %w`, host, err)
		}
		return c
	}
	name := strings.ToLower(cmp.Or(s.Text("environment", "ARM_ENVIRONMENT"), "public"))
	c, known := clouds[name]
	if !known {
		s.Fail(fmt.Errorf(`the "environment" %q is none of public, usgovernment and china`, name))
	}
	return c
}

// otherCloud asks a host what its cloud has.
func otherCloud(ctx context.Context, host string) (Cloud, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	api := &store.API{Client: http.DefaultClient, Said: ErrorMessage}
	answer, err := api.Ask(ctx, http.MethodGet, &url.URL{Scheme: "https", Host: host, Path: "/metadata/endpoints", RawQuery: "api-version=2022-09-01"}, nil, nil)
	if err != nil {
		return Cloud{}, err
	}
	var said struct {
		ResourceManager string
		Authentication  struct{ LoginEndpoint string }
		Suffixes        struct{ Storage string }
	}
	answer.Body = bytes.TrimPrefix(answer.Body, []byte("\ufeff")) // some clouds begin with one
	if err := answer.JSON(&said); err != nil {
		return Cloud{}, err
	}
	manager, domain := strings.TrimRight(said.ResourceManager, "/"), strings.Trim(said.Suffixes.Storage, ".")
	if manager == "" || domain == "" || said.Authentication.LoginEndpoint == "" {
		return Cloud{}, fmt.Errorf("the answer lacks the address of the resource manager, that of the login, or the domain of storage")
	}
	return Cloud{cloud.Configuration{
		ActiveDirectoryAuthorityHost: said.Authentication.LoginEndpoint,
		Services:                     map[cloud.ServiceName]cloud.ServiceConfiguration{cloud.ResourceManager: {Audience: manager, Endpoint: manager}},
	}, "blob." + domain, true}, nil
}

// machine is the credential of a machine whose identity is asked for at another address than that of Azure.
type machine struct {
	at     *url.URL
	client string // which of several identities; "" for the only one
	learn  func(string)
}

func newMachine(s store.Settings, at, client string) (azcore.TokenCredential, error) {
	u, err := url.Parse(at)
	if err != nil || u.Host == "" {
		return nil, s.Bad("msi_endpoint", `the value of "msi_endpoint" must be an address, such as http://169.254.169.254/metadata/identity/oauth2/token`)
	}
	return &machine{u, client, s.Secret}, nil
}

// GetToken implements azcore.TokenCredential.
func (m *machine) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	to, q := *m.at, m.at.Query()
	q.Set("api-version", "2018-02-01")
	q.Set("resource", strings.TrimSuffix(strings.Join(o.Scopes, " "), "/.default"))
	if m.client != "" {
		q.Set("client_id", m.client)
	}
	to.RawQuery = q.Encode()
	var said struct {
		Token string      `json:"access_token"`
		For   json.Number `json:"expires_in"` // seconds
	}
	api := &store.API{Client: http.DefaultClient, Header: http.Header{"Metadata": {"true"}}, Said: ErrorMessage}
	if err := api.JSON(ctx, http.MethodGet, &to, nil, nil, &said); err != nil {
		return azcore.AccessToken{}, fmt.Errorf("there is no token for the identity of the machine: %w", err)
	}
	m.learn(said.Token)
	seconds, _ := said.For.Int64() // without it, the token is asked for anew each time
	return azcore.AccessToken{Token: said.Token, ExpiresOn: time.Now().Add(time.Duration(seconds) * time.Second)}, nil
}
