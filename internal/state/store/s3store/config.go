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

// reader takes the settings apart, and keeps the first mistake.
type reader struct {
	s   store.Settings
	err error
}

func (r *reader) fail(err error) { r.err = cmp.Or(r.err, err) }

// in reads the attributes of an attribute.
func (r *reader) in(name string) *reader { return &reader{s: r.s.In(name)} }

func (r *reader) text(name string, env ...string) string {
	t, _ := r.s.Text(name, env...)
	return t
}

func (r *reader) must(name string) string {
	t := r.text(name)
	if t == "" {
		r.fail(fmt.Errorf("%q is not set: not in the backend block, and not with -backend-config", name))
	}
	return t
}

func (r *reader) flag(name string) bool {
	b, err := r.s.Bool(name)
	r.fail(err)
	return b
}

func (r *reader) int(name string, otherwise int, env ...string) int {
	n, err := r.s.Int(name, otherwise, env...)
	r.fail(err)
	return n
}

// duration gives one, otherwise where it is not set.
func (r *reader) duration(name string, otherwise time.Duration) time.Duration {
	t := r.text(name)
	if t == "" {
		return otherwise
	}
	d, err := time.ParseDuration(t)
	if err != nil {
		r.fail(fmt.Errorf("the setting %q is to be a duration such as 1h, not %q", name, t))
	}
	return d
}

// config is that of all clients: who asks, from where, and over what.
func (r *reader) config(ctx context.Context) aws.Config {
	options := []func(*config.LoadOptions) error{
		config.WithRegion(r.text("region", "AWS_REGION", "AWS_DEFAULT_REGION")),
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
	profile := r.text("profile")
	add(profile != "", config.WithSharedConfigProfile(profile))
	files := r.s.List("shared_config_files")
	add(len(files) > 0, config.WithSharedConfigFiles(files))
	files = r.s.List("shared_credentials_files")
	if older := r.text("shared_credentials_file"); older != "" {
		files = append(files, older)
	}
	add(len(files) > 0, config.WithSharedCredentialsFiles(files))
	key, secret := r.text("access_key"), r.text("secret_key")
	if (key == "") != (secret == "") {
		r.fail(errors.New(`"access_key" and "secret_key" belong together, and only one is set`))
	}
	add(key != "", config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(key, secret, r.text("token"))))
	add(r.flag("use_fips_endpoint"), config.WithUseFIPSEndpoint(aws.FIPSEndpointStateEnabled))
	add(r.flag("use_dualstack_endpoint"), config.WithUseDualStackEndpoint(aws.DualStackEndpointStateEnabled))
	add(r.flag("skip_metadata_api_check"), config.WithEC2IMDSClientEnableState(imds.ClientDisabled))
	if at := r.text("ec2_metadata_service_endpoint"); at != "" {
		options = append(options, config.WithEC2IMDSEndpoint(at))
	}
	if text := r.text("ec2_metadata_service_endpoint_mode"); text != "" {
		var mode imds.EndpointModeState
		r.fail(mode.SetFromString(text))
		options = append(options, config.WithEC2IMDSEndpointMode(mode))
	}
	if path := r.text("custom_ca_bundle"); path != "" {
		f, err := os.Open(path)
		if err != nil {
			r.fail(fmt.Errorf("the file of custom_ca_bundle cannot be read: %w", err))
			return aws.Config{}
		}
		defer f.Close()
		options = append(options, config.WithCustomCABundle(f))
	}
	if agent := r.s.Agent; agent != "" {
		options = append(options, config.WithAPIOptions([]func(*middleware.Stack) error{awsmiddleware.AddUserAgentKey(agent)}))
	}
	if r.err != nil {
		return aws.Config{}
	}
	c, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		r.fail(fmt.Errorf("the settings for AWS cannot be used: %w", err))
		return c
	}
	if c.Region == "" {
		r.fail(errors.New(`"region" is not set: not in the backend block, not with -backend-config, not in AWS_REGION or AWS_DEFAULT_REGION, and not in a profile`))
	}
	r.assume(&c)
	r.accounts(ctx, c)
	return c
}

// client is one that goes by the proxies of the settings, or else by those of the environment.
func (r *reader) client() *awshttp.BuildableClient {
	proxies := httpproxy.FromEnvironment()
	proxies.HTTPProxy = cmp.Or(r.text("http_proxy"), proxies.HTTPProxy)
	proxies.HTTPSProxy = cmp.Or(r.text("https_proxy"), proxies.HTTPSProxy)
	proxies.NoProxy = cmp.Or(r.text("no_proxy"), proxies.NoProxy)
	through := proxies.ProxyFunc()
	insecure := r.flag("insecure")
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
		o.Region = cmp.Or(r.text("sts_region"), o.Region)
	})
}

// assume takes the roles that the settings name, the one with a web identity first.
func (r *reader) assume(c *aws.Config) {
	if web := r.in("assume_role_with_web_identity"); web.s.Set() {
		token := stscreds.IdentityTokenRetriever(stscreds.IdentityTokenFile(web.text("web_identity_token_file", "AWS_WEB_IDENTITY_TOKEN_FILE")))
		if text := web.text("web_identity_token"); text != "" {
			token = identityToken(text)
		}
		duration := web.duration("duration", 0)
		c.Credentials = aws.NewCredentialsCache(stscreds.NewWebIdentityRoleProvider(r.sts(*c), web.text("role_arn", "AWS_ROLE_ARN"), token, func(o *stscreds.WebIdentityRoleOptions) {
			o.RoleSessionName, o.Duration = web.text("session_name", "AWS_ROLE_SESSION_NAME"), duration
			o.PolicyARNs = policies(web.s.List("policy_arns"))
			if p := web.text("policy"); p != "" {
				o.Policy = &p
			}
		}))
		r.fail(web.err)
	}
	role := r.in("assume_role")
	if !role.s.Set() {
		return
	}
	duration := role.duration("duration", time.Hour)
	c.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(r.sts(*c), role.must("role_arn"), func(o *stscreds.AssumeRoleOptions) {
		o.Duration, o.RoleSessionName = duration, role.text("session_name")
		o.PolicyARNs, o.TransitiveTagKeys = policies(role.s.List("policy_arns")), role.s.List("transitive_tag_keys")
		for k, v := range role.s.Texts("tags") {
			o.Tags = append(o.Tags, ststypes.Tag{Key: aws.String(k), Value: aws.String(v)})
		}
		for name, to := range map[string]**string{"external_id": &o.ExternalID, "policy": &o.Policy, "source_identity": &o.SourceIdentity} {
			if t := role.text(name); t != "" {
				*to = &t
			}
		}
	}))
	r.fail(role.err)
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
	allowed, forbidden := r.s.List("allowed_account_ids"), r.s.List("forbidden_account_ids")
	if len(allowed)+len(forbidden) == 0 || r.err != nil {
		return
	}
	who, err := r.sts(c).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		r.fail(fmt.Errorf("the account of the credentials cannot be found out: %w", err))
		return
	}
	id := aws.ToString(who.Account)
	if len(allowed) > 0 && !slices.Contains(allowed, id) || slices.Contains(forbidden, id) {
		r.fail(fmt.Errorf("the AWS account ID %q is not allowed", id))
	}
}
