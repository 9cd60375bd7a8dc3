package s3store

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

// DynamoDB is a client for the three requests that a table of locks needs. That of the SDK costs every command a
// millisecond and six megabytes.
type DynamoDB struct {
	Config   aws.Config
	Endpoint string // "" for the usual one
}

// item is one of a table; all its fields are strings.
type item map[string]string

// MarshalJSON writes the form of the service, with the type of each field.
func (i item) MarshalJSON() ([]byte, error) {
	typed := map[string]map[string]string{}
	for name, s := range i {
		typed[name] = map[string]string{"S": s}
	}
	return json.Marshal(typed)
}

// UnmarshalJSON reads it. Fields that are not strings are left out.
func (i *item) UnmarshalJSON(data []byte) error {
	var typed map[string]struct{ S *string }
	if err := json.Unmarshal(data, &typed); err != nil {
		return err
	}
	*i = item{}
	for name, v := range typed {
		if v.S != nil {
			(*i)[name] = *v.S
		}
	}
	return nil
}

// request has the fields of GetItem, PutItem and DeleteItem.
type request struct {
	TableName                 string
	Key                       item   `json:",omitempty"`
	Item                      item   `json:",omitempty"`
	ConsistentRead            bool   `json:",omitempty"`
	ConditionExpression       string `json:",omitempty"`
	ExpressionAttributeValues item   `json:",omitempty"`
}

// conditionFailed is the type of the error for a condition that does not hold.
const conditionFailed = "ConditionalCheckFailedException"

// refused reports whether a table refused a request with an error of that type.
func refused(err error, kind string) bool {
	var r *store.RefusedError
	return errors.As(err, &r) && strings.HasPrefix(said(r.Body), kind+":")
}

// call makes a request once, and gives the item of the answer.
func (d *DynamoDB) call(ctx context.Context, operation string, in request) (item, error) {
	to, err := url.Parse(cmp.Or(d.Endpoint, "https://dynamodb."+d.Config.Region+"."+domain(d.Config.Region)))
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amz-Target": {"DynamoDB_20120810." + operation}}
	api := store.API{Client: d.Config.HTTPClient, Said: said, Sign: func(req *http.Request, body []byte) error {
		credentials, err := d.Config.Credentials.Retrieve(ctx)
		if err != nil {
			return fmt.Errorf("there are no credentials: %w", err)
		}
		sum := sha256.Sum256(body)
		return v4.NewSigner().SignHTTP(ctx, credentials, req, hex.EncodeToString(sum[:]), "dynamodb", d.Config.Region, time.Now())
	}}
	var out struct{ Item item }
	err = api.JSON(ctx, http.MethodPost, to, header, in, &out)
	if refused(err, "ThrottlingException") || refused(err, "ProvisionedThroughputExceededException") {
		err = &store.UnansweredError{Err: err}
	}
	return out.Item, err
}

// domain is that of the partition of a region.
func domain(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}

// said finds in a refusal what the service says of it: the type of the error, and a message.
func said(text []byte) string {
	var refusal struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal(text, &refusal)
	return refusal.Type[strings.LastIndexByte(refusal.Type, '#')+1:] + ": " + refusal.Message
}
