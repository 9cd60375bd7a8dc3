package cloudauth

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
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	ststypes "github.com/aws/aws-sdk-go-v2/service/sts/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/net/http/httpproxy"
)

// Nested returns an optional setting that is an object with the given attributes.
func Nested(name, description string, attrs ...*schema.Attr) *schema.Attr {
	b := store.Schema(attrs...)
	return &schema.Attr{Name: name, Type: b.Type(), Object: &schema.Object{Attrs: b.Attrs, Nesting: schema.Single}, Optional: true, Description: description}
}

// AWSAttrs returns the schema attributes for a client of AWS services: the given attributes, and the settings for
// region, credentials and connections.
func AWSAttrs(own ...*schema.Attr) []*schema.Attr {
	return append(own,
		store.Attr("region", cty.String, "The region. AWS_REGION, AWS_DEFAULT_REGION."),
		store.SecretAttr("access_key", "The access key. AWS_ACCESS_KEY_ID."),
		store.SecretAttr("secret_key", "The secret key. AWS_SECRET_ACCESS_KEY."),
		store.SecretAttr("token", "The session token. AWS_SESSION_TOKEN."),
		store.Attr("profile", cty.String, "The profile in the shared files. AWS_PROFILE."),
		store.Attr("shared_config_files", cty.List(cty.String), "The shared configuration files. AWS_CONFIG_FILE."),
		store.Attr("shared_credentials_files", cty.List(cty.String), "The shared credentials files. AWS_SHARED_CREDENTIALS_FILE."),
		store.Attr("shared_credentials_file", cty.String, "Older form of shared_credentials_files."),
		Nested("assume_role", "The role to assume.",
			store.Attr("role_arn", cty.String, "The ARN of the role."), store.Attr("duration", cty.String, "The duration of the role session, such as 1h."),
			store.Attr("external_id", cty.String, "The external ID."), store.Attr("policy", cty.String, "A session policy, as JSON."),
			store.Attr("policy_arns", cty.Set(cty.String), "Session policies, as ARNs."), store.Attr("session_name", cty.String, "The name of the session."),
			store.Attr("source_identity", cty.String, "The source identity."), store.Attr("tags", cty.Map(cty.String), "Tags of the session."),
			store.Attr("transitive_tag_keys", cty.Set(cty.String), "The session tags that are transitive."),
		),
		Nested("assume_role_with_web_identity", "The role to assume with a web identity token.",
			store.Attr("role_arn", cty.String, "The ARN of the role. AWS_ROLE_ARN."), store.Attr("duration", cty.String, "The duration of the role session."),
			store.Attr("policy", cty.String, "A session policy, as JSON."), store.Attr("policy_arns", cty.Set(cty.String), "Session policies, as ARNs."),
			store.Attr("session_name", cty.String, "The name of the session. AWS_ROLE_SESSION_NAME."),
			store.SecretAttr("web_identity_token", "The token."), store.Attr("web_identity_token_file", cty.String, "The file with the token. AWS_WEB_IDENTITY_TOKEN_FILE."),
		),
		store.Attr("allowed_account_ids", cty.Set(cty.String), "The accounts that are allowed."),
		store.Attr("forbidden_account_ids", cty.Set(cty.String), "The accounts that are forbidden."),
		store.Attr("sts_region", cty.String, "The region of STS, if it differs, for roles in these settings and for the account. Roles in a profile use the region of the profile."),
		store.Attr("use_fips_endpoint", cty.Bool, "Whether FIPS endpoints are used. An address in the settings is used unchanged. AWS_USE_FIPS_ENDPOINT."),
		store.Attr("use_dualstack_endpoint", cty.Bool, "Whether endpoints with IPv6 are used, except for addresses in the settings. AWS_USE_DUALSTACK_ENDPOINT."),
		store.Attr("ec2_metadata_service_endpoint", cty.String, "The address of the metadata service of a machine. AWS_EC2_METADATA_SERVICE_ENDPOINT."),
		store.Attr("ec2_metadata_service_endpoint_mode", cty.String, "IPv4 or IPv6. AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE."),
		store.Attr("skip_metadata_api_check", cty.Bool, "Whether credentials of the metadata service of a machine are ignored. AWS_EC2_METADATA_DISABLED."),
		store.Attr("custom_ca_bundle", cty.String, "A file with certificates of authorities. AWS_CA_BUNDLE."),
		store.Attr("http_proxy", cty.String, "The proxy for http, and for https if https_proxy and HTTPS_PROXY are not set: none if empty. HTTP_PROXY."), store.Attr("https_proxy", cty.String, "The proxy for https: none if empty. HTTPS_PROXY."),
		store.Attr("no_proxy", cty.String, "Hosts without a proxy. NO_PROXY."),
		store.Attr("insecure", cty.Bool, "Whether certificates of servers are left unchecked."),
	)
}

// AWSReading is the minimum time during which a request to AWS that only reads is retried. The AWS SDK retries for
// about the same time.
const AWSReading = 30 * time.Second

// awsReader reads the settings that AWSAttrs describes.
type awsReader struct{ *store.Reader }

// in returns a reader for the attributes of a nested setting.
func (r *awsReader) in(name string) *awsReader { return &awsReader{&store.Reader{S: r.S.In(name)}} }

// duration reads a duration. It returns 0, which selects the SDK's default, if the setting is not set. If the text is
// not a duration, it records an error.
func (r *awsReader) duration(name string) time.Duration {
	t := r.Text(name)
	if t == "" {
		return 0
	}
	d, err := time.ParseDuration(t)
	if err != nil {
		r.Bad(name, "the value of %q cannot be parsed as a duration such as 1h: %q", name, t)
	}
	return d
}

// AWS returns the configuration that all AWS clients share: credentials, region and HTTP client. Settings of AWSAttrs
// that are not set come from the environment variables and files that the AWS SDK reads. Errors are recorded in s.
func AWS(ctx context.Context, s *store.Reader) aws.Config {
	r := &awsReader{s}
	options := []func(*config.LoadOptions) error{
		config.WithRegion(r.Text("region", "AWS_REGION", "AWS_DEFAULT_REGION")),
		config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }), // the SDK must not retry, because store.Retrying retries requests
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
	r.Exclusive("shared_credentials_files", "shared_credentials_file")
	r.Exclusive("allowed_account_ids", "forbidden_account_ids")
	profile := r.Text("profile")
	add(profile != "", config.WithSharedConfigProfile(profile))
	files := r.files(r.S.List("shared_config_files"), "AWS_CONFIG_FILE")
	add(len(files) > 0, config.WithSharedConfigFiles(files))
	files = r.S.List("shared_credentials_files")
	if older := r.Text("shared_credentials_file"); older != "" {
		files = append(files, older)
	}
	files = r.files(files, "AWS_SHARED_CREDENTIALS_FILE")
	add(len(files) > 0, config.WithSharedCredentialsFiles(files))
	key, secret := r.Text("access_key"), r.Text("secret_key")
	if (key == "") != (secret == "") {
		r.Bad(r.Which("access_key", "secret_key"), `"access_key" and "secret_key" must be set together, but only one is set`)
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
		if err := mode.SetFromString(text); err != nil {
			r.Bad("ec2_metadata_service_endpoint_mode", "%w", err)
		}
		add(mode != imds.EndpointModeStateUnset, config.WithEC2IMDSEndpointMode(mode))
	}
	if path := r.Text("custom_ca_bundle", "AWS_CA_BUNDLE"); path != "" {
		f, err := os.Open(r.S.File(path))
		if err != nil {
			r.Bad("custom_ca_bundle", "the file that custom_ca_bundle names cannot be read: %w", err)
		} else {
			defer f.Close()
			options = append(options, config.WithCustomCABundle(f))
		}
	}
	if agent := r.S.Agent; agent != "" {
		options = append(options, config.WithAPIOptions([]func(*middleware.Stack) error{awsmiddleware.AddUserAgentKey(agent)}))
	}
	options = append(options, config.WithAPIOptions([]func(*middleware.Stack) error{r.elsewhere}))
	c, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		r.Fail(fmt.Errorf("the settings for AWS cannot be used: %w", err))
		return c
	}
	if c.Region == "" {
		r.Fail(r.S.Missing("region", "AWS_REGION", "AWS_DEFAULT_REGION"))
	}
	r.assume(&c)
	c.Credentials = asker{c.Credentials, &atomic.Bool{}}
	return c
}

// files returns the absolute paths of the files in a setting. If the setting is empty, it returns the path in the SDK's
// environment variable env. files resolves relative paths against the directory of the settings; the SDK would resolve
// them against its working directory.
func (r *awsReader) files(named []string, env string) (paths []string) {
	if at := r.Text("", env); len(named) == 0 && at != "" {
		named = []string{at}
	}
	for _, path := range named {
		paths = append(paths, r.S.File(path))
	}
	return paths
}

// asker retrieves credentials from an AWS provider of credentials. If that provider gets no answer, asker returns a
// *store.UnansweredError with Unsent, because the request that needs the credentials was not sent.
type asker struct {
	aws.CredentialsProvider
	had *atomic.Bool // whether credentials were obtained before
}

// Retrieve implements aws.CredentialsProvider.
func (a asker) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c, err := a.CredentialsProvider.Retrieve(ctx)
	if err == nil {
		a.had.Store(true)
	}
	var op *smithy.OperationError
	if errors.As(err, &op) && op.ServiceID == "ec2imds" && awsStatus(err) == 0 && !a.had.Load() {
		return c, err // no credentials were ever obtained, so this machine is probably not in AWS, and a retry would not help
	}
	return c, store.Unsent(AWSAnswered(err))
}

// awsLater has the codes of AWS errors that ask to repeat a request later. The service has not executed the request.
var awsLater = []string{
	"ConditionalRequestConflict", "OperationAborted", // another request is writing the same object
	"InvalidIdentityToken", "InvalidIdentityTokenException", "IDPCommunicationError", // the identity provider's keys are not available yet
	"ThrottlingError", "ServiceUnavailable",
}

// awsBusy reports whether an error with this code asks to repeat the request later.
func awsBusy(code string) bool {
	_, throttled := retry.DefaultThrottleErrorCodes[code]
	return throttled || slices.Contains(awsLater, code)
}

func awsStatus(err error) int {
	var resp *awshttp.ResponseError
	if errors.As(err, &resp) {
		return resp.HTTPStatusCode()
	}
	return 0
}

// AWSAnswered returns a *store.UnansweredError if err is one of these: a failed connection, a failure of the service,
// or a request of the service to try later. It returns other errors unchanged, because they are answers of the service.
// It returns nil for nil.
func AWSAnswered(err error) error {
	var known *store.UnansweredError
	if err == nil || errors.As(err, &known) {
		return err
	}
	var refused smithy.APIError
	var resp *awshttp.ResponseError
	var sending *smithyhttp.RequestSendError
	var cancelled *smithy.CanceledError           // the SDK returns it instead of a RequestSendError: the request may have been executed
	var skewed interface{ RetryableError() bool } // the SDK has adjusted its clock to the clock of the service, so a retry may succeed
	noAnswer, status, code := &store.UnansweredError{Err: err}, awsStatus(err), ""
	if errors.As(err, &resp) && resp.HTTPResponse() != nil {
		noAnswer.After = store.RetryAfter(resp.HTTPResponse().Header)
	}
	if errors.As(err, &refused) {
		code = refused.ErrorCode()
	}
	_, timeout := retry.DefaultRetryableErrorCodes[code]
	switch {
	case awsBusy(code), status == http.StatusTooManyRequests, errors.As(err, &skewed) && skewed.RetryableError() && code != "":
		noAnswer.Unsent = true
	case timeout:
	case code != "" && (status < 500 || status == http.StatusNotImplemented): // a repeated request gets the same answer
		return err
	case status == 0 && !errors.As(err, &sending) && !errors.As(err, &cancelled): // the request was not sent, for example because it could not be signed
		return err
	}
	return noAnswer
}

// client returns an HTTP client that uses the proxies of the settings, or else of the environment. If only http_proxy is
// set, it is also the proxy for https.
func (r *awsReader) client() *awshttp.BuildableClient {
	proxies := httpproxy.FromEnvironment()
	if plain, set := r.S.Text("http_proxy"); set {
		proxies.HTTPProxy = plain // "" for no proxy
	}
	switch secure, set := r.S.Text("https_proxy"); {
	case set:
		proxies.HTTPSProxy = secure // "" for no proxy
	case proxies.HTTPSProxy == "":
		proxies.HTTPSProxy = r.Text("http_proxy") // as in Terraform
	}
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

// elsewhere adds middleware to the SDK that sends requests for credentials to the addresses in the settings. It is
// necessary because the SDK creates some clients itself: for roles in profiles, and for a web identity token in the
// environment.
func (r *awsReader) elsewhere(stack *middleware.Stack) error {
	at := map[string]*string{
		sts.ServiceID: Endpoint(r.Reader, "sts", "sts_endpoint", "AWS_ENDPOINT_URL_STS", "AWS_STS_ENDPOINT"),
		"SSO":         Endpoint(r.Reader, "sso", "", "AWS_ENDPOINT_URL_SSO"),
	}
	return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("AddressOfSettings", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		req, ok := in.Request.(*smithyhttp.Request)
		if text := at[awsmiddleware.GetServiceID(ctx)]; ok && text != nil {
			to, err := url.Parse(*text)
			if err != nil { // the text of the error would show the address, which may contain a password
				return middleware.FinalizeOutput{}, middleware.Metadata{}, errors.New("the address of the service is not a URL")
			}
			req.URL.Scheme, req.URL.Host = to.Scheme, to.Host
			if !strings.HasPrefix(req.URL.Path, to.Path) { // the SDK knows some of the variables, too, and has then added the path already
				req.URL.Path = smithyhttp.JoinPath(to.Path, req.URL.Path)
			}
		}
		return next.HandleFinalize(ctx, in)
	}), "ResolveEndpointV2", middleware.After)
}

func (r *awsReader) sts(c aws.Config) *sts.Client {
	return sts.NewFromConfig(c, func(o *sts.Options) {
		o.Region = cmp.Or(r.Text("sts_region"), o.Region)
		if o.BaseEndpoint != nil {
			AsGiven(&o.EndpointOptions.UseFIPSEndpoint, &o.EndpointOptions.UseDualStackEndpoint)
		}
	})
}

// AsGiven makes a client use exactly the address in its settings. It disables FIPS and dual-stack endpoints, which the
// environment may select for all services and which the SDK refuses to combine with an address.
func AsGiven(fips *aws.FIPSEndpointState, dual *aws.DualStackEndpointState) {
	*fips, *dual = aws.FIPSEndpointStateDisabled, aws.DualStackEndpointStateDisabled
}

// assume makes the configuration c use the credentials of the roles in the settings: first the role with a web
// identity, then the other roles in order. Missing and malformed settings are recorded as errors.
func (r *awsReader) assume(c *aws.Config) {
	if web := r.in("assume_role_with_web_identity"); web.S.Set() {
		token := stscreds.IdentityTokenRetriever(stscreds.IdentityTokenFile(r.S.File(web.Text("web_identity_token_file", "AWS_WEB_IDENTITY_TOKEN_FILE"))))
		switch text := web.Text("web_identity_token"); {
		case text != "":
			token = identityToken(text)
		case web.Text("web_identity_token_file", "AWS_WEB_IDENTITY_TOKEN_FILE") == "":
			web.Bad("web_identity_token", `one of "web_identity_token" and "web_identity_token_file" must be set, or the environment variable AWS_WEB_IDENTITY_TOKEN_FILE`)
		}
		web.Exclusive("web_identity_token", "web_identity_token_file")
		duration := web.duration("duration")
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
	duration := role.duration("duration")
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

// AWSAccount compares the account of the credentials with the settings that allow or forbid accounts. It sends a
// request only if one of these settings is set. Errors, such as a forbidden account, are recorded in s.
func AWSAccount(ctx context.Context, s *store.Reader, c aws.Config) {
	r := &awsReader{s}
	allowed, forbidden := r.S.List("allowed_account_ids"), r.S.List("forbidden_account_ids")
	if len(allowed)+len(forbidden) == 0 || r.Err != nil {
		return
	}
	var who *sts.GetCallerIdentityOutput
	client := r.sts(c)
	err := r.S.Tries(AWSReading).Do(ctx, func() (err error) {
		who, err = client.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
		return AWSAnswered(err)
	})
	if err != nil {
		r.Fail(fmt.Errorf("the AWS account that the credentials belong to could not be determined: %w", err))
		return
	}
	id := aws.ToString(who.Account)
	if len(allowed) > 0 && !slices.Contains(allowed, id) || slices.Contains(forbidden, id) {
		r.Fail(fmt.Errorf("the AWS account ID %q is not allowed", id))
	}
}

// CheckEndpoint records an error in s if the address of a service is not a URL, or has a user or a query. The SDK would
// check the address later, and show it in the message although it may contain a password.
func CheckEndpoint(s *store.Reader, service, address string) {
	if u, err := url.Parse(address); err != nil || u.User != nil || u.RawQuery != "" {
		s.Fail(fmt.Errorf("the address of the service %q must be a URL without a user and a query, such as https://s3.example.com", service))
	}
}

// Endpoint returns the address of a service from the settings, or nil for the default address. name is the setting in
// the nested setting "endpoints". env are environment variables that may have the address. older is the name of an
// older setting for the address, or "". If the address is not valid, Endpoint records an error in s.
func Endpoint(s *store.Reader, name, older string, env ...string) *string {
	r := &awsReader{s}
	text := r.in("endpoints").Text(name, env...)
	if r.S.In("endpoints").Has(name) && r.S.Has(older) {
		r.Bad(older, `only one of "endpoints.%s" and %q can be set`, name, older)
	}
	if text == "" {
		text = r.Text(older)
	}
	if text == "" {
		return nil
	}
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	CheckEndpoint(s, name, text)
	return aws.String(text)
}
