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
	"github.com/lethe-iac/lethe/internal/state/store"
)

// AWSService is a service of AWS that speaks JSON. For the few requests that are made of one, the SDK's client would cost every
// command a part of a millisecond and megabytes.
type AWSService struct {
	Config   aws.Config
	Name     string // as signatures and addresses have it: "dynamodb"
	Target   string // what names of operations begin with: "DynamoDB_20120810"
	Version  string // of the protocol: "1.0", "1.1"
	Endpoint string // "" for the usual one

	ahead atomic.Int64 // by how much the clock of the service is ahead of that of this machine
}

// Call makes a request once. The error is an *store.UnansweredError for one that the service asks to make later.
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
	api := store.API{Client: s.Config.HTTPClient, Said: awsSaid, Sign: func(req *http.Request, body []byte) error {
		credentials, err := s.Config.Credentials.Retrieve(ctx)
		if err != nil {
			return fmt.Errorf("there are no credentials: %w", err)
		}
		sum := sha256.Sum256(body)
		return v4.NewSigner().SignHTTP(ctx, credentials, req, hex.EncodeToString(sum[:]), s.Name, s.Config.Region, time.Now().Add(time.Duration(s.ahead.Load())))
	}}
	err = api.JSON(ctx, http.MethodPost, to, header, in, out)
	var r *store.RefusedError
	var lost *store.UnansweredError
	if !errors.As(err, &r) || errors.As(err, &lost) {
		return err
	}
	code, _, _ := strings.Cut(awsSaid(r.Body), ":")
	_, timeout := retry.DefaultRetryableErrorCodes[code]
	if busy := awsBusy(code) || s.skewed(r, code); busy || timeout {
		err = &store.UnansweredError{Err: err, Unsent: busy, After: store.RetryAfter(r.Header)}
	}
	return err
}

// skewed reports whether a request was refused because of the clock of this machine, and corrects the time of the next ones.
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
	const most = 4 * time.Minute // less than signatures are valid
	ahead := time.Until(now)
	return (ahead - time.Duration(s.ahead.Swap(int64(ahead)))).Abs() > most
}

// address is where the service is. The SDK knows the domains of all partitions; those of its clients that are at hand here
// are of other services, in the same domains.
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
	if strings.HasSuffix(first, "-fips") || fips && s.Name == "kms" { // for others, all endpoints of some partitions are such
		name += "-fips"
	}
	return "https://" + name + "." + domain, nil
}

// configured is the address that AWS_ENDPOINT_URL or the shared configuration name, as the clients of the SDK find it; "" for
// none.
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

// AWSRefused reports whether a service of AWS refused a request with an error of that type.
func AWSRefused(err error, kind string) bool {
	var r *store.RefusedError
	return errors.As(err, &r) && strings.HasPrefix(awsSaid(r.Body), kind+":")
}

// awsSaid finds in a refusal what the service says of it: the type of the error, and a message.
func awsSaid(text []byte) string {
	var refusal struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal(text, &refusal)
	return refusal.Type[strings.LastIndexByte(refusal.Type, '#')+1:] + ": " + refusal.Message
}
