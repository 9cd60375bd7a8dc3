package azurestore

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/lethe-iac/lethe/internal/store"
)

// EarlierVersions lists the former versions and the snapshots that the service keeps of the blob with the state, the
// latest first. It omits empty versions. The driver stores no journals.
func (r *remote) EarlierVersions(ctx context.Context, workspace string) ([]store.ServiceVersion, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, err
	}
	name := r.name(workspace)
	var out []store.ServiceVersion
	o := &container.ListBlobsFlatOptions{Prefix: &name, Include: container.ListBlobsInclude{Versions: true, Snapshots: true}}
	for pages := r.o.Container.NewListBlobsFlatPager(o); pages.More(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, answered(err)
		}
		for _, b := range page.Segment.BlobItems {
			v := store.ServiceVersion{Name: name}
			switch {
			case b.Name == nil || *b.Name != name || b.Properties != nil && b.Properties.ContentLength != nil && *b.Properties.ContentLength == 0:
				continue
			case b.Snapshot != nil && *b.Snapshot != "":
				v.ID, v.Snapshot = *b.Snapshot, true
			case b.VersionID != nil && *b.VersionID != "" && (b.IsCurrentVersion == nil || !*b.IsCurrentVersion):
				v.ID = *b.VersionID
			default:
				continue
			}
			v.Time, _ = time.Parse(time.RFC3339Nano, v.ID) // the ID of a version or a snapshot is its time
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a, b store.ServiceVersion) int { return strings.Compare(b.ID, a.ID) })
	return out, nil
}

// version returns a client for an earlier version or a snapshot of a blob.
func (r *remote) version(v store.ServiceVersion) (*blockblob.Client, error) {
	b := r.o.Container.NewBlockBlobClient(v.Name)
	if v.Snapshot {
		return b.WithSnapshot(v.ID)
	}
	return b.WithVersionID(v.ID)
}

// ReadVersion returns the content of an earlier version, or nil if the version or the snapshot no longer exists.
func (r *remote) ReadVersion(ctx context.Context, _ string, v store.ServiceVersion) ([]byte, error) {
	b, err := r.version(v)
	if err != nil {
		return nil, err
	}
	resp, err := b.DownloadStream(ctx, nil)
	if isNone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, answered(err)
	}
	defer resp.Body.Close()
	data, err := store.ReadAll(resp.Body)
	if err != nil {
		return nil, &store.UnansweredError{Err: err}
	}
	return data, nil
}

// DeleteVersion permanently deletes an earlier version. It also returns nil if the version or the snapshot no longer
// exists.
func (r *remote) DeleteVersion(ctx context.Context, _ string, v store.ServiceVersion) error {
	b, err := r.version(v)
	if err != nil {
		return err
	}
	_, err = b.Delete(ctx, nil)
	if isNone(err) {
		return nil
	}
	return answered(err)
}

// DeleteCommand returns the command of the Azure CLI with which a user can delete an earlier version, quoted for a
// shell. The account and the container come from the address of the container.
func (r *remote) DeleteCommand(_ string, v store.ServiceVersion) string {
	account, in := "", ""
	if u, err := url.Parse(r.o.Container.URL()); err == nil {
		account, _, _ = strings.Cut(u.Host, ".")
		in = strings.Trim(u.Path, "/")
	}
	kind := "--version-id"
	if v.Snapshot {
		kind = "--snapshot"
	}
	return store.ShellCommand("az", "storage", "blob", "delete", "--account-name", account, "--container-name", in, "--name", v.Name, kind, v.ID)
}
