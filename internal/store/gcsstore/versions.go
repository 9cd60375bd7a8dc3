package gcsstore

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
)

// EarlierVersions lists the noncurrent generations that the service keeps of the state object, the latest first. The
// driver stores no journals.
func (r *remote) EarlierVersions(ctx context.Context, workspace string) ([]store.ServiceVersion, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, err
	}
	name := r.name(workspace, stateSuffix)
	var out []store.ServiceVersion
	q := url.Values{"prefix": {name}, "versions": {"true"}, "fields": {"items(name,generation,timeCreated,timeDeleted),nextPageToken"}}
	for {
		a, err := r.ask(ctx, http.MethodGet, "/storage/v1/b/"+url.PathEscape(r.o.Bucket)+"/o", q, nil, nil)
		var reply struct {
			NextPageToken string
			Items         []struct {
				Name, Generation         string
				TimeCreated, TimeDeleted time.Time
			}
		}
		if err == nil {
			err = a.JSON(&reply)
		}
		if err != nil {
			return nil, err
		}
		for _, i := range reply.Items {
			if i.Name == name && !i.TimeDeleted.IsZero() { // the current generation has no time of deletion
				out = append(out, store.ServiceVersion{Name: name, ID: i.Generation, Time: i.TimeCreated.UTC()})
			}
		}
		if reply.NextPageToken == "" {
			slices.Reverse(out)
			return out, nil
		}
		q.Set("pageToken", reply.NextPageToken)
	}
}

// ReadVersion returns the content of an earlier version, or nil if the generation no longer exists. The workspace does
// not matter, because v has the name of the object.
func (r *remote) ReadVersion(ctx context.Context, _ string, v store.ServiceVersion) ([]byte, error) {
	a, err := r.ask(ctx, http.MethodGet, r.object(v.Name), url.Values{"alt": {"media"}, "generation": {v.ID}}, r.encryption(v.Name), nil)
	switch {
	case store.Refused(err, http.StatusNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return a.Body, nil
}

// DeleteVersion permanently deletes one generation. It also returns nil if the generation no longer exists.
func (r *remote) DeleteVersion(ctx context.Context, _ string, v store.ServiceVersion) error {
	_, err := r.ask(ctx, http.MethodDelete, r.object(v.Name), url.Values{"generation": {v.ID}}, nil, nil)
	if store.Refused(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// DeleteCommand returns the command of the gcloud CLI with which a user can delete an earlier version, quoted for a
// shell.
func (r *remote) DeleteCommand(_ string, v store.ServiceVersion) string {
	return store.ShellCommand("gcloud", "storage", "rm", "gs://"+r.o.Bucket+"/"+v.Name+"#"+v.ID)
}
