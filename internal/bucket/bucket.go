// Package bucket lets objects in S3, in stores that speak its protocol, and in Google Cloud Storage be downloaded with
// what the user's own programs of these clouds know: their environment variables, files and services of the machine.
package bucket

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

// Object is where an object is, and how to sign requests for it.
type Object struct {
	URL *url.URL // to ask for it
	// Authorize signs a request for the object. It lets a request pass that goes elsewhere, and one for which the user
	// has no credentials: others may be allowed to read it.
	Authorize func(context.Context, *http.Request) error
}

// Access is what the objects of a command are asked for with.
type Access struct {
	Getenv  func(string) string
	Learned func(secret, host string) // each secret before it is used; nil: nothing
}

// S3 reads the address of an object in S3 as Terraform and OpenTofu do: https://s3.amazonaws.com/BUCKET/KEY,
// https://s3-REGION.…, https://s3.REGION.…, https://BUCKET.s3.…, or that of another store, whose region is the
// parameter region. The parameter version is that of the object; aws_profile names credentials, and
// aws_access_key_id, aws_access_key_secret and aws_access_token are them.
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

// IsAmazon reports whether an address is of S3 itself, and not of another store that speaks its protocol.
func IsAmazon(u *url.URL) bool {
	_, is := amazonRegion(u.Hostname())
	return is
}

// amazonRegion is the region in the name of a host of S3 itself, "" where it names none.
func amazonRegion(host string) (region string, is bool) {
	m := amazonHost().FindStringSubmatch(host)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// amazonHost matches the hosts of S3, and not those that users of other services of Amazon get. The region is the group.
var amazonHost = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[a-z0-9._-]+\.)?s3(?:-fips|-accelerate|-accesspoint|-accesspoint-fips)?(?:\.dualstack)?(?:[.-]([a-z]{2}(?:-[a-z]+)+-[0-9]+))?(?:\.vpce)?\.amazonaws\.com(?:\.cn)?$`)
})

// ambient are the credentials that the user has for Amazon's services, and the region: the one given, else the user's.
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
		return aws.Credentials{}, region, nil // there are none
	}
	return keys, region, err
}

// GCS reads the address of an object in Google Cloud Storage, https://www.googleapis.com/storage/v1/BUCKET/OBJECT. What
// lets the user in is GOOGLE_OAUTH_ACCESS_TOKEN, or what gcloud and the libraries for it use. STORAGE_EMULATOR_HOST
// is another server.
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
	return &Object{URL: at, Authorize: func(ctx context.Context, r *http.Request) error {
		if r.URL.Host != at.Host {
			return nil
		}
		token := a.Getenv("GOOGLE_OAUTH_ACCESS_TOKEN")
		if token == "" {
			if tokens == nil {
				found, err := google.FindDefaultCredentials(context.WithoutCancel(ctx), "https://www.googleapis.com/auth/devstorage.read_only")
				if err != nil {
					return nil // there are none
				}
				tokens = found.TokenSource
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
		return nil
	}}, nil
}

func (a *Access) learn(host string, secrets ...string) {
	for _, s := range secrets {
		if a.Learned != nil && s != "" {
			a.Learned(s, host)
		}
	}
}

// protected refuses to send what lets a user in where others could read it.
func protected(u *url.URL) error {
	if host := u.Hostname(); u.Scheme == "https" || host == "localhost" || host == "127.0.0.1" || host == "::1" {
		return nil
	}
	return fmt.Errorf("credentials are not sent to %s, because its address is not https", u.Host)
}
