// Package bucket prepares downloads of objects in S3, in stores with its protocol, and in Google Cloud Storage. It
// finds credentials in the same places as the command-line programs of these services: environment variables, files and
// services of the machine.
package bucket

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/encoding/httpbinding"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

// Object is the address of an object, with a function that signs requests for it.
type Object struct {
	URL *url.URL // the address for the request
	// Authorize signs a request for the object. It leaves requests to other hosts unsigned. If no credentials exist, it
	// leaves the request unsigned, because the object may be public. If credentials exist, and the address is on
	// another machine without https, it returns an error.
	Authorize func(context.Context, *http.Request) error
}

// Access finds the credentials with which a command reads objects.
type Access struct {
	Getenv  func(string) string
	Learned func(secret, host string) // called with each secret before the secret is used; nil: not called
}

// S3 parses the address of an object in S3, as Terraform and OpenTofu do. Addresses are:
//
//   - https://s3.amazonaws.com/BUCKET/KEY
//   - https://s3-REGION.… and https://s3.REGION.…
//   - https://BUCKET.s3.…
//   - an address of another store, with its region in the parameter region
//
// The parameter version is the version of the object. The parameter aws_profile names credentials. The parameters
// aws_access_key_id, aws_access_key_secret and aws_access_token contain credentials.
func (a *Access) S3(u *url.URL) (*Object, error) {
	q := u.Query()
	region := q.Get("region")
	if own, is := amazonRegion(u.Hostname()); is {
		region = own
	}
	if key := strings.Trim(u.Path, "/"); key == "" || !strings.Contains(key, "/") && !strings.Contains(u.Hostname(), ".s3") {
		return nil, errors.New("it names a bucket, but no object in it")
	}
	at := *u
	at.User, at.RawQuery = nil, ""
	at.RawPath = httpbinding.EscapePath(at.Path, false) // the server signs the key in this form
	if version := q.Get("version"); version != "" {
		at.RawQuery = url.Values{"versionId": {version}}.Encode()
	}
	own := aws.Credentials{AccessKeyID: q.Get("aws_access_key_id"), SecretAccessKey: q.Get("aws_access_key_secret"), SessionToken: q.Get("aws_access_token")}
	return &Object{URL: &at, Authorize: func(ctx context.Context, r *http.Request) error {
		if r.URL.Host != at.Host {
			return nil
		}
		keys := own
		if keys.SecretAccessKey == "" {
			var err error
			if keys, region, err = ambient(ctx, q.Get("aws_profile"), region); err != nil || keys.SecretAccessKey == "" {
				return err
			}
		}
		if err := protected(r.URL); err != nil {
			return err
		}
		a.learn(at.Host, keys.SecretAccessKey, keys.SessionToken)
		if region == "" {
			region = "us-east-1"
		}
		empty := sha256.Sum256(nil)
		r.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(empty[:]))
		return v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).
			SignHTTP(ctx, keys, r, hex.EncodeToString(empty[:]), "s3", region, time.Now())
	}}, nil
}

// IsAmazon reports whether an address is in Amazon's S3, and not in another store with its protocol.
func IsAmazon(u *url.URL) bool {
	_, is := amazonRegion(u.Hostname())
	return is
}

// amazonRegion reports whether a host belongs to Amazon's S3. If the name of the host contains a region, it also
// returns the region, and otherwise "".
func amazonRegion(host string) (region string, is bool) {
	m := amazonHost().FindStringSubmatch(host)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// amazonHost matches the hosts of Amazon's S3. It does not match hosts of other Amazon services, because users can
// choose parts of their names. The group of the expression is the region.
var amazonHost = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[a-z0-9._-]+\.)?s3(?:-fips|-accelerate|-accesspoint|-accesspoint-fips)?(?:\.dualstack)?(?:[.-]([a-z]{2}(?:-[a-z]+)+-[0-9]+))?(?:\.vpce)?\.amazonaws\.com(?:\.cn)?$`)
})

// ambient returns the user's credentials for Amazon, and the region for a request. If region is not "", it takes
// precedence over the user's region.
func ambient(ctx context.Context, profile, region string) (aws.Credentials, string, error) {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithSharedConfigProfile(profile))
	if err != nil {
		return aws.Credentials{}, "", fmt.Errorf("the credentials for S3 cannot be read: %w", err)
	}
	if region == "" {
		region = cfg.Region
	}
	keys, err := cfg.Credentials.Retrieve(ctx)
	if err != nil && profile == "" {
		return aws.Credentials{}, region, nil // the user has no credentials, so the request is not signed
	}
	return keys, region, err
}

// GCS parses the address of an object in Google Cloud Storage, https://www.googleapis.com/storage/v1/BUCKET/OBJECT. Its
// credentials are GOOGLE_OAUTH_ACCESS_TOKEN, or the credentials of gcloud and the client libraries.
// STORAGE_EMULATOR_HOST replaces the server.
func (a *Access) GCS(u *url.URL) (*Object, error) {
	rest, ok := strings.CutPrefix(u.Path, "/storage/v1/")
	bucket, object, named := strings.Cut(rest, "/")
	if !ok || !named || bucket == "" || object == "" || !strings.HasSuffix("."+u.Host, ".googleapis.com") {
		return nil, errors.New("an address in Google Cloud Storage is https://www.googleapis.com/storage/v1/BUCKET/OBJECT")
	}
	server := "https://storage.googleapis.com"
	if other := a.Getenv("STORAGE_EMULATOR_HOST"); other != "" {
		server = other
		if !strings.Contains(other, "://") {
			server = "http://" + other
		}
	}
	at, err := url.Parse(strings.TrimSuffix(server, "/") + "/storage/v1/b/" + url.PathEscape(bucket) + "/o/" + url.PathEscape(object) + "?alt=media")
	if err != nil {
		return nil, fmt.Errorf("STORAGE_EMULATOR_HOST is not a valid address: %w", err)
	}
	if generation := u.Query().Get("generation") + u.Fragment; generation != "" {
		at.RawQuery += "&generation=" + url.QueryEscape(generation)
	}
	var tokens oauth2.TokenSource
	payer := QuotaProject(a.Getenv, nil)
	return &Object{URL: at, Authorize: func(ctx context.Context, r *http.Request) error {
		if r.URL.Host != at.Host {
			return nil
		}
		token := a.Getenv("GOOGLE_OAUTH_ACCESS_TOKEN")
		if token == "" {
			if tokens == nil {
				found, err := google.FindDefaultCredentials(context.WithoutCancel(ctx), "https://www.googleapis.com/auth/devstorage.read_only")
				if err != nil {
					return nil // the user has no credentials, so the request is not signed
				}
				tokens, payer = found.TokenSource, QuotaProject(a.Getenv, found.JSON)
			}
			got, err := tokens.Token()
			if err != nil {
				return fmt.Errorf("the credentials for Google Cloud Storage are refused: %w", err)
			}
			token = got.AccessToken
		}
		if err := protected(r.URL); err != nil {
			return err
		}
		a.learn(at.Host, token)
		r.Header.Set("Authorization", "Bearer "+token)
		if payer != "" {
			r.Header.Set(QuotaHeader, payer)
		}
		return nil
	}}, nil
}

// QuotaHeader is the header that names the project to which Google Cloud bills a request.
const QuotaHeader = "X-Goog-User-Project"

// QuotaProject returns the value of QuotaHeader: the variable GOOGLE_CLOUD_QUOTA_PROJECT, or else the project in
// credentials, a JSON document. It returns "" if neither names a project.
func QuotaProject(getenv func(string) string, credentials []byte) string {
	if project := getenv("GOOGLE_CLOUD_QUOTA_PROJECT"); project != "" {
		return project
	}
	var named struct {
		Project string `json:"quota_project_id"`
	}
	_ = json.Unmarshal(credentials, &named) // other credentials name none
	return named.Project
}

func (a *Access) learn(host string, secrets ...string) {
	for _, s := range secrets {
		if a.Learned != nil && s != "" {
			a.Learned(s, host)
		}
	}
}

// protected returns an error if u is an address on another machine without https. Credentials are not sent there.
func protected(u *url.URL) error {
	if host := u.Hostname(); u.Scheme == "https" || host == "localhost" || host == "127.0.0.1" || host == "::1" {
		return nil
	}
	return fmt.Errorf("credentials are not sent to %s, because its address is not https", u.Host)
}
