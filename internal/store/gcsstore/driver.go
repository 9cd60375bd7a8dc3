package gcsstore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/cloudauth"
	"github.com/zclconf/go-cty/cty"
)

// Driver is the backend "gcs". Settings that the block omits may come from the environment, and credentials from the
// sources of Google's tools.
var Driver = store.Driver{Name: "gcs", Schema: store.Schema(cloudauth.GoogleAttrs(
	store.Attr("bucket", cty.String, "The bucket."),
	store.Attr("prefix", cty.String, "The directory in the bucket."),
	store.SecretAttr("encryption_key", "A customer-supplied key of 32 bytes, in base64. GOOGLE_ENCRYPTION_KEY."),
	store.Attr("kms_encryption_key", cty.String, "The KMS key. GOOGLE_KMS_ENCRYPTION_KEY."),
	store.Attr("storage_custom_endpoint", cty.String, "The address of the service, if it differs. GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT, GOOGLE_STORAGE_CUSTOM_ENDPOINT."),
)...), Open: open}

const scope = "https://www.googleapis.com/auth/devstorage.read_write"

func open(ctx context.Context, s store.Settings) (store.Store, error) {
	s.Blank = true
	r := &store.Reader{S: s}
	o := Options{Bucket: r.Must("bucket"), Prefix: strings.TrimLeft(r.Text("prefix"), "/"), KMSKey: r.Text("kms_encryption_key", "GOOGLE_KMS_ENCRYPTION_KEY"), Header: http.Header{}}
	if s.Agent != "" {
		o.Header.Set("User-Agent", s.Agent)
	}
	if key := r.Text("encryption_key", "GOOGLE_ENCRYPTION_KEY"); key != "" {
		if text, err := os.ReadFile(s.File(key)); err == nil { // the setting may be the path of a file with the key
			key = strings.TrimSpace(string(text))
			s.Secret(key)
		}
		raw, err := base64.StdEncoding.DecodeString(key)
		if err != nil || len(raw) != 32 {
			r.Bad("encryption_key", `the value of "encryption_key" must be a key of 32 bytes, encoded in base64, or the path of a file that contains one`)
		}
		if o.KMSKey != "" {
			r.Bad("kms_encryption_key", `only one of "encryption_key" and "kms_encryption_key" can be set`)
		}
		sum := sha256.Sum256(raw)
		o.Encryption = http.Header{
			"X-Goog-Encryption-Algorithm": {"AES256"}, "X-Goog-Encryption-Key": {key},
			"X-Goog-Encryption-Key-Sha256": {base64.StdEncoding.EncodeToString(sum[:])},
		}
	}
	emulator := r.Text("", "STORAGE_EMULATOR_HOST")
	if emulator != "" && !strings.Contains(emulator, "://") {
		emulator = "http://" + emulator
	}
	at := cmp.Or(r.Text("storage_custom_endpoint", "GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT", "GOOGLE_STORAGE_CUSTOM_ENDPOINT"), emulator, "https://storage."+cloudauth.GoogleDomain(s))
	var err error
	if o.Endpoint, err = url.Parse(at); err != nil || o.Endpoint.Host == "" {
		r.Bad("storage_custom_endpoint", `the value of "storage_custom_endpoint" must be an address, such as https://storage.example.com`)
	}
	if r.Err != nil {
		return nil, r.Err
	}
	// remove the version of the API at the end of the configured address, because the paths of requests contain it
	o.Endpoint.Path = strings.TrimSuffix(strings.TrimSuffix(o.Endpoint.Path, "/"), "/storage/v1")
	o.Client = cloudauth.GoogleClient(ctx, slices.Collect(maps.Keys(o.Encryption))...)
	if emulator == "" {
		o.Tokens = cloudauth.Google(ctx, s, scope)
	}
	return store.Retrying(New(o), s.Tries(time.Minute)), nil
}
