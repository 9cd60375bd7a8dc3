package s3store

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/cloudauth"
	"github.com/zclconf/go-cty/cty"
)

// Driver is the backend "s3". Settings that the block omits come from the sources of the AWS SDK: its environment
// variables, the shared files, and the role of a container or a machine.
var Driver = store.Driver{Name: "s3", Schema: store.Schema(cloudauth.AWSAttrs(
	store.Attr("bucket", cty.String, "The bucket."),
	store.Attr("key", cty.String, "The key of the default workspace's state."),
	store.Attr("workspace_key_prefix", cty.String, "The prefix of the keys of the other workspaces: env: if not set."),
	store.Attr("use_lockfile", cty.Bool, "Whether an object beside the state locks it."),
	store.Attr("dynamodb_table", cty.String, "The DynamoDB table for locks and checksums."),
	store.Attr("journal", cty.Bool, "Whether journals of applies are also stored in objects beside the state: KEY.journal/*. Terraform and OpenTofu do not have this setting. LETHE_S3_JOURNAL."),
	store.Attr("encrypt", cty.Bool, "Whether the service encrypts the state."),
	store.Attr("kms_key_id", cty.String, "The KMS key for encrypt. Without encrypt it has no effect."),
	store.SecretAttr("sse_customer_key", "The customer-provided key for encrypt, in base64. Without encrypt it has no effect. AWS_SSE_CUSTOMER_KEY."),
	store.Attr("skip_s3_checksum", cty.Bool, "Whether objects are written without their SHA-256."),
	store.Attr("acl", cty.String, "The canned ACL of the state."),

	cloudauth.Nested("endpoints", "The addresses of the services.",
		store.Attr("s3", cty.String, "The address of S3. AWS_ENDPOINT_URL_S3, AWS_S3_ENDPOINT, AWS_ENDPOINT_URL."), store.Attr("dynamodb", cty.String, "The address of DynamoDB. AWS_ENDPOINT_URL_DYNAMODB, AWS_DYNAMODB_ENDPOINT, AWS_ENDPOINT_URL."),
		store.Attr("iam", cty.String, "The address of IAM. It is not used."), store.Attr("sso", cty.String, "The address of SSO. AWS_ENDPOINT_URL_SSO."), store.Attr("sts", cty.String, "The address of STS. AWS_ENDPOINT_URL_STS, AWS_STS_ENDPOINT, AWS_ENDPOINT_URL."),
	),
	store.Attr("endpoint", cty.String, "Older form of endpoints.s3."), store.Attr("dynamodb_endpoint", cty.String, "Older form of endpoints.dynamodb."),
	store.Attr("iam_endpoint", cty.String, "Older form of endpoints.iam."), store.Attr("sts_endpoint", cty.String, "Older form of endpoints.sts."),
	store.Attr("use_path_style", cty.Bool, "Whether the bucket is in the path instead of the host name."),
	store.Attr("force_path_style", cty.Bool, "Older form of use_path_style."),
	store.Attr("max_retries", cty.Number, "The attempts of a failing request: 5 if not set. Unless it is 0, writes are repeated for longer. AWS_MAX_ATTEMPTS."),
	store.Attr("retry_mode", cty.String, "standard or adaptive. Both repeat requests in the same way. AWS_RETRY_MODE."),

	// these settings of Terraform disable checks that Lethe does not do
	store.Attr("skip_credentials_validation", cty.Bool, "Without effect: the first request to the bucket checks the credentials."),
	store.Attr("skip_requesting_account_id", cty.Bool, "Without effect: Lethe looks up the account if accounts are allowed or forbidden."),
	store.Attr("skip_region_validation", cty.Bool, "Without effect: any region is valid."),
)...), Open: open}

func open(ctx context.Context, s store.Settings) (store.Store, error) {
	o, err := optionsOf(ctx, s)
	if err != nil {
		return nil, err
	}
	return store.Retrying(New(o), o.Tries), nil
}

// optionsOf reads the settings.
func optionsOf(ctx context.Context, s store.Settings) (Options, error) {
	r := &store.Reader{S: s}
	o := Options{
		Bucket: r.Must("bucket"), Key: r.Must("key"), Prefix: r.Text("workspace_key_prefix"), LockFile: r.Flag("use_lockfile"), Journal: r.Flag("journal", journalVariable),
		NoChecksum: r.Flag("skip_s3_checksum"), ACL: r.Text("acl"), Encrypt: r.Flag("encrypt"), KMSKey: r.Text("kms_key_id"), CustomerKey: customerKey(r),
	}
	if _, set := s.Text("workspace_key_prefix"); !set {
		o.Prefix = "env:"
	}
	switch {
	case strings.HasPrefix(o.Key, "/"), strings.HasSuffix(o.Key, "/"), strings.Contains(o.Key, "//"):
		r.Bad("key", `the value of "key", %q, must not start or end with "/", nor contain "//"`, o.Key)
	case strings.HasPrefix(o.Prefix, "/"), strings.HasSuffix(o.Prefix, "/"):
		r.Bad("workspace_key_prefix", `the value of "workspace_key_prefix", %q, must not start or end with "/"`, o.Prefix)
	case !slices.Contains([]string{"", "standard", "adaptive"}, r.Text("retry_mode")):
		r.Bad("retry_mode", `the value of "retry_mode" must be "standard" or "adaptive", not %q`, r.Text("retry_mode"))
	case o.KMSKey != "" && o.CustomerKey != nil:
		r.Bad("sse_customer_key", `only one of "kms_key_id" and "sse_customer_key" can be set`)
	}
	r.Exclusive("use_path_style", "force_path_style")
	if !o.Encrypt { // a service refuses to read an unencrypted object with a key
		o.CustomerKey = nil
	}
	const usual = 5
	o.Tries = s.Tries(cloudauth.AWSReading)
	switch attempts := r.Int("max_retries", usual, "AWS_MAX_ATTEMPTS"); { // AWS and Terraform count the first attempt, too
	case attempts == 0:
		o.Tries = o.Tries.Times(0)
	case attempts < usual:
		o.Tries.Retries, o.Tries.Reading = attempts-1, 0
	default:
		o.Tries.Retries = attempts - 1
	}
	config := cloudauth.AWS(ctx, r)
	cloudauth.AWSAccount(ctx, r, config)
	if r.Err != nil {
		return o, r.Err
	}
	o.Client = s3.NewFromConfig(config, func(c *s3.Options) {
		c.DisableLogOutputChecksumValidationSkipped = true
		c.UsePathStyle = r.Flag("use_path_style") || r.Flag("force_path_style")
		if at := cloudauth.Endpoint(r, "s3", "endpoint", "AWS_ENDPOINT_URL_S3", "AWS_S3_ENDPOINT"); at != nil {
			c.BaseEndpoint = at
		} else {
			cloudauth.CheckEndpoint(r, "s3", aws.ToString(c.BaseEndpoint))
		}
		if c.BaseEndpoint != nil {
			cloudauth.AsGiven(&c.EndpointOptions.UseFIPSEndpoint, &c.EndpointOptions.UseDualStackEndpoint)
		}
	})
	if name := r.Text("dynamodb_table"); name != "" {
		o.Table = &Table{Name: name, Client: &cloudauth.AWSService{
			Config: config, Name: "dynamodb", Target: "DynamoDB_20120810", Version: "1.0",
			Endpoint: aws.ToString(cloudauth.Endpoint(r, "dynamodb", "dynamodb_endpoint", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_DYNAMODB_ENDPOINT")),
		}}
	}
	if r.Err != nil {
		return o, r.Err
	}
	return o, nil
}

func customerKey(r *store.Reader) *CustomerKey {
	text := r.Text("sse_customer_key", "AWS_SSE_CUSTOMER_KEY")
	if text == "" {
		return nil
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != 32 {
		r.Bad("sse_customer_key", "the value of sse_customer_key must be 44 characters in length, representing a base64-encoded 256-bit key")
		return nil
	}
	sum := md5.Sum(key)
	return &CustomerKey{Key: text, MD5: base64.StdEncoding.EncodeToString(sum[:])}
}

// New returns a store that sends each request once. The function store.Retrying adds retries.
func New(o Options) store.Remote {
	r := &remote{o}
	if o.Journal {
		return &journaling{remote: r, runs: map[string]*ownRun{}}
	}
	return r
}
