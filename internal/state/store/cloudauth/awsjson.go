package cloudauth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
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
}

// Call makes a request once. The error is an *store.UnansweredError for one that the service asks to make later.
func (s *AWSService) Call(ctx context.Context, operation string, in, out any) error {
	to, err := url.Parse(cmp.Or(s.Endpoint, "https://"+s.Name+"."+s.Config.Region+"."+domain(s.Config.Region)))
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
		return v4.NewSigner().SignHTTP(ctx, credentials, req, hex.EncodeToString(sum[:]), s.Name, s.Config.Region, time.Now())
	}}
	err = api.JSON(ctx, http.MethodPost, to, header, in, out)
	if AWSRefused(err, "ThrottlingException") || AWSRefused(err, "ProvisionedThroughputExceededException") {
		err = &store.UnansweredError{Err: err}
	}
	return err
}

// AWSRefused reports whether a service of AWS refused a request with an error of that type.
func AWSRefused(err error, kind string) bool {
	var r *store.RefusedError
	return errors.As(err, &r) && strings.HasPrefix(awsSaid(r.Body), kind+":")
}

// domain is that of the partition of a region.
func domain(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
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
