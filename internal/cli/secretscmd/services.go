package secretscmd

import (
	"fmt"
	"strings"

	"github.com/lethe-iac/lethe/internal/store"
)

// unreachable returns the places that may have copies of a state and that Lethe cannot clean, with the commands that do.
// place is the result of store.Locator.
func unreachable(backend, place string, can store.Capabilities) []string {
	var out []string
	at := strings.TrimPrefix(place, backend+":")
	switch backend {
	case "s3":
		bucket, key := bucketOf(at)
		out = append(out,
			fmt.Sprintf("Earlier versions of the object, if the bucket has versioning. This command deletes them: aws s3api list-object-versions --bucket %[1]s --prefix %[2]s --query 'Versions[?IsLatest==`false`].[Key,VersionId]' --output text | while read -r key version; do aws s3api delete-object --bucket %[1]s --key \"$key\" --version-id \"$version\"; done", quoted(bucket), quoted(key)),
			"Versions under an object lock, versions in a bucket with MFA delete, and replicas in other buckets.")
	case "gcs":
		_, rest, _ := strings.Cut(at, "/") // the host of the API
		url := "gs://" + rest
		out = append(out,
			fmt.Sprintf("Earlier generations of the object, if the bucket has versioning. List them with: gcloud storage ls --all-versions %s Then delete each except the last one: gcloud storage rm %s", quoted(url), quoted(url+"#GENERATION")),
			"Objects under a retention policy or a hold, and objects that soft delete keeps.")
	case "azurerm":
		account, container, blob := blobOf(at)
		out = append(out,
			fmt.Sprintf("Earlier versions and snapshots of the blob. List them with: az storage blob list --account-name %[1]s --container-name %[2]s --prefix %[3]s --include vs Then delete each version: az storage blob delete --account-name %[1]s --container-name %[2]s --name %[3]s --version-id VERSION", quoted(account), quoted(container), quoted(blob)),
			"Blobs under an immutability policy, and blobs that soft delete keeps.")
	case "pg":
		if can.History != nil {
			out = append(out, "Earlier versions in the tables of the database: Lethe does not rewrite their rows. They end after the time that the backend keeps them.")
		}
		out = append(out, "The write-ahead log, replicas and backups of the database.")
	case "http", "remote", "cloud", "consul", "kubernetes":
		out = append(out, "Earlier versions, snapshots and backups of the service that stores the state.")
	}
	return append(out,
		"The history of git, if a state, a backup or a plan was committed.",
		"Artifacts, caches and logs of pipelines.",
		"Copies on other machines, and backups of this one.")
}

// bucketOf splits the place of an object in S3: an address of the service, which may be empty, the bucket, and the key.
func bucketOf(at string) (bucket, key string) {
	if _, rest, ok := strings.Cut(at, "://"); ok {
		at = rest
	}
	_, at, _ = strings.Cut(at, "/")
	bucket, key, _ = strings.Cut(at, "/")
	return bucket, key
}

// blobOf splits the address of a blob.
func blobOf(at string) (account, container, blob string) {
	_, at, _ = strings.Cut(at, "://")
	host, at, _ := strings.Cut(at, "/")
	account, _, _ = strings.Cut(host, ".")
	container, blob, _ = strings.Cut(at, "/")
	return account, container, blob
}

// quoted quotes a word for a POSIX shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
