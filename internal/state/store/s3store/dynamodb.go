package s3store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
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

// conditionError says that the condition of a request does not hold.
type conditionError struct{ error }

// call makes a request once, and gives the item of the answer.
func (d *DynamoDB) call(ctx context.Context, operation string, in request) (item, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	endpoint := d.Endpoint
	if endpoint == "" {
		endpoint = "https://dynamodb." + d.Config.Region + "." + domain(d.Config.Region)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	credentials, err := d.Config.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, fmt.Errorf("there are no credentials: %w", err)
	}
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, credentials, req, hex.EncodeToString(sum[:]), "dynamodb", d.Config.Region, time.Now()); err != nil {
		return nil, err
	}
	resp, err := d.Config.HTTPClient.Do(req)
	if err != nil {
		return nil, &store.UnansweredError{Err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // an item has at most 400 KB
	if err != nil {
		return nil, &store.UnansweredError{Err: err}
	}
	if resp.StatusCode != http.StatusOK {
		return nil, refusal(operation, resp.StatusCode, text)
	}
	var out struct{ Item item }
	err = json.Unmarshal(text, &out)
	return out.Item, err
}

// domain is that of the partition of a region.
func domain(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}

// refusal is the error for an answer that is none.
func refusal(operation string, status int, text []byte) error {
	var said struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal(text, &said)
	_, kind, _ := strings.Cut(said.Type, "#")
	err := fmt.Errorf("DynamoDB, %s: %d %s: %s", operation, status, kind, said.Message)
	switch {
	case kind == "ConditionalCheckFailedException":
		return &conditionError{err}
	case status >= 500, status == http.StatusTooManyRequests, strings.Contains(kind, "Throttling"), strings.Contains(kind, "ThroughputExceeded"):
		return &store.UnansweredError{Err: err}
	}
	return err
}
