package s3store

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/cloudauth"
)

// EarlierVersions lists the versions that the service keeps of the state object and of the objects of journals below
// KEY.journal/, for each object the latest first. It omits delete markers and empty objects, which have no content.
func (r *remote) EarlierVersions(ctx context.Context, workspace string) ([]store.ServiceVersion, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, err
	}
	key := r.path(workspace)
	var out []store.ServiceVersion
	for pages := s3.NewListObjectVersionsPaginator(r.o.Client, &s3.ListObjectVersionsInput{Bucket: &r.o.Bucket, Prefix: &key}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, cloudauth.AWSAnswered(err)
		}
		for _, v := range page.Versions {
			name := aws.ToString(v.Key)
			journal := strings.HasPrefix(name, key+journalSuffix)
			if aws.ToBool(v.IsLatest) || name != key && !journal || aws.ToInt64(v.Size) == 0 {
				continue
			}
			out = append(out, store.ServiceVersion{Name: name, ID: aws.ToString(v.VersionId), Journal: journal, Time: aws.ToTime(v.LastModified).UTC()})
		}
	}
	return out, nil
}

// ReadVersion returns the content of an earlier version, or nil if the version no longer exists.
func (r *remote) ReadVersion(ctx context.Context, _ string, v store.ServiceVersion) ([]byte, error) {
	data, _, err := r.fetch(ctx, &s3.GetObjectInput{Bucket: &r.o.Bucket, Key: &v.Name, VersionId: &v.ID})
	return data, err
}

// DeleteVersion permanently deletes an earlier version. It also returns nil if the version no longer exists.
func (r *remote) DeleteVersion(ctx context.Context, _ string, v store.ServiceVersion) error {
	_, err := r.o.Client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &r.o.Bucket, Key: &v.Name, VersionId: &v.ID})
	if is(err, "NoSuchVersion", "NoSuchKey") {
		return nil
	}
	return cloudauth.AWSAnswered(err)
}

// DeleteCommand returns the command of the AWS CLI with which a user can delete an earlier version, quoted for a shell.
func (r *remote) DeleteCommand(_ string, v store.ServiceVersion) string {
	args := []string{"aws", "s3api", "delete-object", "--bucket", r.o.Bucket, "--key", v.Name, "--version-id", v.ID}
	if endpoint := aws.ToString(r.o.Client.Options().BaseEndpoint); endpoint != "" {
		args = append(args, "--endpoint-url", endpoint)
	}
	return store.ShellCommand(args...)
}
