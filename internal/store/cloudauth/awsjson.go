package cloudauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/lethe-iac/lethe/internal/store"
)

// AWSService is an AWS service with a JSON protocol. The SDK's client would cost every command a fraction of a
// millisecond and megabytes for a few requests.
type AWSService struct {
	Config   aws.Config
	Name     string // in signatures and addresses: "dynamodb"
	Target   string // the prefix of operation names: "DynamoDB_20120810"
	Version  string // the version of the protocol: "1.0", "1.1"
	Endpoint string // "": the default address

	ahead atomic.Int64 // how far the service's clock is ahead of this machine's
}

// Call sends a request once: it encodes in as JSON, and decodes the answer into out. It returns a
// *store.UnansweredError if the service does not answer, or asks to repeat the request later, and a *store.RefusedError
// if it refuses the request.
func (s *AWSService) Call(ctx context.Context, operation string, in, out any) error {
	at, err := s.address(ctx)
	if err != nil {
		return err
	}
	to, err := url.Parse(at)
	if err != nil {
		return err
	}
	header := http.Header{"Content-Type": {"application/x-amz-json-" + s.Version}, "X-Amz-Target": {s.Target + "." + operation}}
	api := store.API{Client: s.Config.HTTPClient, ErrorMessage: awsErrorMessage, Sign: func(req *http.Request, body []byte) error {
		credentials, err := s.Config.Credentials.Retrieve(ctx)
		if err != nil {
			return fmt.Errorf("there are no credentials: %w", err)
		}
		sum := sha256.Sum256(body)
		return v4.NewSigner().SignHTTP(ctx, credentials, req, hex.EncodeToString(sum[:]), s.Name, s.Config.Region, time.Now().Add(time.Duration(s.ahead.Load())))
	}}
	err = api.JSON(ctx, http.MethodPost, to, header, in, out)
	var r *store.RefusedError
	var noAnswer *store.UnansweredError
	if !errors.As(err, &r) || errors.As(err, &noAnswer) {
		return err
	}
	code, _, _ := strings.Cut(awsErrorMessage(r.Body), ":")
	_, timeout := retry.DefaultRetryableErrorCodes[code]
	if busy := awsBusy(code) || s.skewed(r, code); busy || timeout {
		err = &store.UnansweredError{Err: err, Unsent: busy, After: store.RetryAfter(r.Header)}
	}
	return err
}

// skewed reports whether the service refused a request because of this machine's clock. It corrects the clock for later
// requests.
func (s *AWSService) skewed(r *store.RefusedError, code string) bool {
	switch code {
	case "InvalidSignatureException", "SignatureDoesNotMatch", "RequestTimeTooSkewed", "RequestExpired", "AccessDeniedException":
	default:
		return false
	}
	now, err := http.ParseTime(r.Header.Get("Date"))
	if err != nil || r.Header.Get("Age") != "" {
		return false
	}
	const most = 4 * time.Minute // less than the validity of a signature
	ahead := time.Until(now)
	return (ahead - time.Duration(s.ahead.Swap(int64(ahead)))).Abs() > most
}

// address returns the address of the service. The SDK knows the domains of all partitions. This function derives the
// address from the address of STS, which is in the same domain and whose client is compiled in already.
func (s *AWSService) address(ctx context.Context) (string, error) {
	if s.Endpoint != "" {
		return s.Endpoint, nil
	}
	if at := s.configured(ctx); at != "" {
		return at, nil
	}
	o := sts.NewFromConfig(s.Config).Options().EndpointOptions
	fips, dual := o.UseFIPSEndpoint == aws.FIPSEndpointStateEnabled, o.UseDualStackEndpoint == aws.DualStackEndpointStateEnabled
	found, err := sts.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, sts.EndpointParameters{Region: &s.Config.Region, UseFIPS: &fips, UseDualStack: &dual})
	if err != nil {
		return "", fmt.Errorf("the address of %s in the region %s is not known: %w", s.Name, s.Config.Region, err)
	}
	first, domain, _ := strings.Cut(found.URI.Host, ".")
	name := s.Name
	if strings.HasSuffix(first, "-fips") || fips && s.Name == "kms" { // for other services, some partitions use FIPS without the suffix
		name += "-fips"
	}
	return "https://" + name + "." + domain, nil
}

// configured returns the address in AWS_ENDPOINT_URL or the shared configuration, by the rules of the SDK's clients, or
// "" if neither is set.
func (s *AWSService) configured(ctx context.Context) string {
	_, all := os.LookupEnv("AWS_ENDPOINT_URL")
	_, own := os.LookupEnv("AWS_ENDPOINT_URL_" + strings.ToUpper(s.Name))
	at := aws.ToString(s.Config.BaseEndpoint)
	if ignore, _, _ := config.GetIgnoreConfiguredEndpoints(ctx, s.Config.ConfigSources); ignore || all && !own {
		return at
	}
	id := map[string]string{"dynamodb": "DynamoDB", "kms": "KMS"}[s.Name]
	for _, from := range s.Config.ConfigSources {
		if p, ok := from.(interface {
			GetServiceBaseEndpoint(context.Context, string) (string, bool, error)
		}); ok {
			if text, found, err := p.GetServiceBaseEndpoint(ctx, id); found && err == nil {
				return text
			}
		}
	}
	return at
}

// AWSRefused reports whether an AWS service refused a request with an error of that type.
func AWSRefused(err error, kind string) bool {
	var r *store.RefusedError
	return errors.As(err, &r) && strings.HasPrefix(awsErrorMessage(r.Body), kind+":")
}

// awsErrorMessage returns the message in a refusal: the type of the error, a colon, and the text.
func awsErrorMessage(text []byte) string {
	var refusal struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal(text, &refusal)
	return refusal.Type[strings.LastIndexByte(refusal.Type, '#')+1:] + ": " + refusal.Message
}
