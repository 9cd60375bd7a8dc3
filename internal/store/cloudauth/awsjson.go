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

// AWSService is a client of an AWS service with a JSON protocol, such as DynamoDB or KMS. The SDK's client for such a
// service would add megabytes to the program, and a fraction of a millisecond to every command.
type AWSService struct {
	Config   aws.Config
	Name     string // the name in signatures and addresses, such as "dynamodb"
	Target   string // the prefix of operation names, such as "DynamoDB_20120810"
	Version  string // the version of the JSON protocol: "1.0" or "1.1"
	Endpoint string // the address of the service; "" means the default address

	ahead atomic.Int64 // how far the service's clock is ahead of this machine's clock, in nanoseconds
}

// Call sends a request once: it encodes the input as JSON, and decodes the answer into out. It returns a
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

// skewed reports whether the service refused a request because this machine's clock is wrong. It then corrects the time
// in the signatures of later requests.
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
	const most = 4 * time.Minute // a smaller difference does not matter, because a signature is valid for longer
	ahead := time.Until(now)
	return (ahead - time.Duration(s.ahead.Swap(int64(ahead)))).Abs() > most
}

// address returns the address of the service: the configured address or the default address. It derives the default
// address from the address of STS, whose client is compiled in already, because both are in the same domain.
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
	if strings.HasSuffix(first, "-fips") || fips && s.Name == "kms" { // for services other than KMS, some partitions serve FIPS at the address without the suffix
		name += "-fips"
	}
	return "https://" + name + "." + domain, nil
}

// configured returns the address of the service in the environment (AWS_ENDPOINT_URL, or AWS_ENDPOINT_URL_ followed by
// the name of the service) or in the shared configuration files, by the rules of the SDK's clients. It returns "" if
// neither is set.
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

// AWSRefused reports whether err means that an AWS service refused a request with the given type of error, such as
// "ConditionalCheckFailedException".
func AWSRefused(err error, kind string) bool {
	var r *store.RefusedError
	return errors.As(err, &r) && strings.HasPrefix(awsErrorMessage(r.Body), kind+":")
}

// awsErrorMessage returns the message in the JSON of a refusal: the type of the error, a colon, and the text.
func awsErrorMessage(text []byte) string {
	var refusal struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal(text, &refusal)
	return refusal.Type[strings.LastIndexByte(refusal.Type, '#')+1:] + ": " + refusal.Message
}
