package s3store

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	ststypes "github.com/aws/aws-sdk-go-v2/service/sts/types"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"
	"github.com/lethe-iac/lethe/internal/state/store"
	"golang.org/x/net/http/httpproxy"
)

// reader reads the settings.
type reader struct {
	store.Reader
}

// in reads the attributes of an attribute.
func (r *reader) in(name string) *reader { return &reader{store.Reader{S: r.S.In(name)}} }

// duration gives one, otherwise where it is not set.
func (r *reader) duration(name string, otherwise time.Duration) time.Duration {
	t := r.Text(name)
	if t == "" {
		return otherwise
	}
	d, err := time.ParseDuration(t)
	if err != nil {
		r.Fail(fmt.Errorf("the setting %q is to be a duration such as 1h, not %q", name, t))
	}
	return d
}

// config is that of all clients: who asks, from where, and over what.
func (r *reader) config(ctx context.Context) aws.Config {
	options := []func(*config.LoadOptions) error{
		config.WithRegion(r.Text("region", "AWS_REGION", "AWS_DEFAULT_REGION")),
		config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }), // store.Careful knows what may be done again
		config.WithHTTPClient(r.client()),
		config.WithLogger(logging.Nop{}),
		config.WithRequestChecksumCalculation(aws.RequestChecksumCalculationWhenRequired),
		config.WithResponseChecksumValidation(aws.ResponseChecksumValidationWhenRequired),
	}
	add := func(set bool, o func(*config.LoadOptions) error) {
		if set {
			options = append(options, o)
		}
	}
	profile := r.Text("profile")
	add(profile != "", config.WithSharedConfigProfile(profile))
	files := r.S.List("shared_config_files")
	add(len(files) > 0, config.WithSharedConfigFiles(files))
	files = r.S.List("shared_credentials_files")
	if older := r.Text("shared_credentials_file"); older != "" {
		files = append(files, older)
	}
	add(len(files) > 0, config.WithSharedCredentialsFiles(files))
	key, secret := r.Text("access_key"), r.Text("secret_key")
	if (key == "") != (secret == "") {
		r.Fail(errors.New(`"access_key" and "secret_key" belong together, and only one is set`))
	}
	add(key != "", config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(key, secret, r.Text("token"))))
	add(r.Flag("use_fips_endpoint"), config.WithUseFIPSEndpoint(aws.FIPSEndpointStateEnabled))
	add(r.Flag("use_dualstack_endpoint"), config.WithUseDualStackEndpoint(aws.DualStackEndpointStateEnabled))
	add(r.Flag("skip_metadata_api_check"), config.WithEC2IMDSClientEnableState(imds.ClientDisabled))
	if at := r.Text("ec2_metadata_service_endpoint"); at != "" {
		options = append(options, config.WithEC2IMDSEndpoint(at))
	}
	if text := r.Text("ec2_metadata_service_endpoint_mode"); text != "" {
		var mode imds.EndpointModeState
		r.Fail(mode.SetFromString(text))
		options = append(options, config.WithEC2IMDSEndpointMode(mode))
	}
	if path := r.Text("custom_ca_bundle"); path != "" {
		f, err := os.Open(path)
		if err != nil {
			r.Fail(fmt.Errorf("the file of custom_ca_bundle cannot be read: %w", err))
			return aws.Config{}
		}
		defer f.Close()
		options = append(options, config.WithCustomCABundle(f))
	}
	if agent := r.S.Agent; agent != "" {
		options = append(options, config.WithAPIOptions([]func(*middleware.Stack) error{awsmiddleware.AddUserAgentKey(agent)}))
	}
	if r.Err != nil {
		return aws.Config{}
	}
	c, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		r.Fail(fmt.Errorf("the settings for AWS cannot be used: %w", err))
		return c
	}
	if c.Region == "" {
		r.Fail(errors.New(`"region" is not set: not in the backend block, not with -backend-config, not in AWS_REGION or AWS_DEFAULT_REGION, and not in a profile`))
	}
	r.assume(&c)
	r.accounts(ctx, c)
	return c
}

// client is one that goes by the proxies of the settings, or else by those of the environment.
func (r *reader) client() *awshttp.BuildableClient {
	proxies := httpproxy.FromEnvironment()
	proxies.HTTPProxy = cmp.Or(r.Text("http_proxy"), proxies.HTTPProxy)
	proxies.HTTPSProxy = cmp.Or(r.Text("https_proxy"), proxies.HTTPSProxy)
	proxies.NoProxy = cmp.Or(r.Text("no_proxy"), proxies.NoProxy)
	through := proxies.ProxyFunc()
	insecure := r.Flag("insecure")
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.Proxy = func(req *http.Request) (*url.URL, error) { return through(req.URL) }
		if insecure {
			if t.TLSClientConfig == nil {
				t.TLSClientConfig = &tls.Config{}
			}
			t.TLSClientConfig.InsecureSkipVerify = true
		}
	})
}

func (r *reader) sts(c aws.Config) *sts.Client {
	return sts.NewFromConfig(c, func(o *sts.Options) {
		o.BaseEndpoint = r.endpoint("sts", "sts_endpoint", "AWS_ENDPOINT_URL_STS", "AWS_STS_ENDPOINT")
		o.Region = cmp.Or(r.Text("sts_region"), o.Region)
	})
}

// assume takes the roles that the settings name, the one with a web identity first.
func (r *reader) assume(c *aws.Config) {
	if web := r.in("assume_role_with_web_identity"); web.S.Set() {
		token := stscreds.IdentityTokenRetriever(stscreds.IdentityTokenFile(web.Text("web_identity_token_file", "AWS_WEB_IDENTITY_TOKEN_FILE")))
		if text := web.Text("web_identity_token"); text != "" {
			token = identityToken(text)
		}
		duration := web.duration("duration", 0)
		c.Credentials = aws.NewCredentialsCache(stscreds.NewWebIdentityRoleProvider(r.sts(*c), web.Text("role_arn", "AWS_ROLE_ARN"), token, func(o *stscreds.WebIdentityRoleOptions) {
			o.RoleSessionName, o.Duration = web.Text("session_name", "AWS_ROLE_SESSION_NAME"), duration
			o.PolicyARNs = policies(web.S.List("policy_arns"))
			if p := web.Text("policy"); p != "" {
				o.Policy = &p
			}
		}))
		r.Fail(web.Err)
	}
	role := r.in("assume_role")
	if !role.S.Set() {
		return
	}
	duration := role.duration("duration", time.Hour)
	c.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(r.sts(*c), role.Must("role_arn"), func(o *stscreds.AssumeRoleOptions) {
		o.Duration, o.RoleSessionName = duration, role.Text("session_name")
		o.PolicyARNs, o.TransitiveTagKeys = policies(role.S.List("policy_arns")), role.S.List("transitive_tag_keys")
		for k, v := range role.S.Texts("tags") {
			o.Tags = append(o.Tags, ststypes.Tag{Key: aws.String(k), Value: aws.String(v)})
		}
		for name, to := range map[string]**string{"external_id": &o.ExternalID, "policy": &o.Policy, "source_identity": &o.SourceIdentity} {
			if t := role.Text(name); t != "" {
				*to = &t
			}
		}
	}))
	r.Fail(role.Err)
}

func policies(arns []string) []ststypes.PolicyDescriptorType {
	var out []ststypes.PolicyDescriptorType
	for _, a := range arns {
		out = append(out, ststypes.PolicyDescriptorType{Arn: aws.String(a)})
	}
	return out
}

type identityToken string

func (t identityToken) GetIdentityToken() ([]byte, error) { return []byte(t), nil }

// accounts refuses credentials of an account that the settings do not allow.
func (r *reader) accounts(ctx context.Context, c aws.Config) {
	allowed, forbidden := r.S.List("allowed_account_ids"), r.S.List("forbidden_account_ids")
	if len(allowed)+len(forbidden) == 0 || r.Err != nil {
		return
	}
	who, err := r.sts(c).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		r.Fail(fmt.Errorf("the account of the credentials cannot be found out: %w", err))
		return
	}
	id := aws.ToString(who.Account)
	if len(allowed) > 0 && !slices.Contains(allowed, id) || slices.Contains(forbidden, id) {
		r.Fail(fmt.Errorf("the AWS account ID %q is not allowed", id))
	}
}
