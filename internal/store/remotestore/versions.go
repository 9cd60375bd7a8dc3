package remotestore

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/lethe-iac/lethe/internal/store"
)

// EarlierVersions lists the earlier state versions of a workspace, the latest first. It omits versions without a state:
// versions whose upload did not finish, and deleted ones.
func (r *remote) EarlierVersions(ctx context.Context, workspace string) (out []store.ServiceVersion, err error) {
	name, err := r.name(workspace)
	if err != nil {
		return nil, err
	}
	w, err := r.find(ctx, name)
	if err != nil || w == nil {
		return nil, err
	}
	q := url.Values{"filter[organization][name]": {r.o.Organization}, "filter[workspace][name]": {name}}
	all, err := pages[stateVersion](ctx, r, q, "state-versions")
	for _, v := range all {
		current := w.Relationships.Current.Data != nil && w.Relationships.Current.Data.ID == v.ID
		if !current && (v.Attributes.Status == "" || v.Attributes.Status == "finalized") { // older servers have no status
			out = append(out, store.ServiceVersion{Name: r.path(name), ID: v.ID, Time: v.Attributes.Created.UTC()})
		}
	}
	return out, err
}

// ReadVersion returns the content of an earlier state version, or nil if the version no longer exists.
func (r *remote) ReadVersion(ctx context.Context, _ string, v store.ServiceVersion) ([]byte, error) {
	var doc struct{ Data stateVersion }
	err := r.api.JSON(ctx, http.MethodGet, r.at("state-versions", v.ID), nil, nil, &doc)
	if store.Refused(err, http.StatusNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return r.download(ctx, v.Name, doc.Data)
}

// deletions are the requests that delete the content of a state version: the second one is refused without the first.
var deletions = [...]string{"soft_delete_backing_data", "permanently_delete_backing_data"}

// DeleteVersion permanently deletes the content of an earlier state version. Only Terraform Enterprise permits that.
func (r *remote) DeleteVersion(ctx context.Context, _ string, v store.ServiceVersion) error {
	for _, action := range deletions {
		_, err := r.api.Ask(ctx, http.MethodPost, r.at("state-versions", v.ID, "actions", action), nil, []byte("{}"))
		if store.Refused(err, http.StatusNotFound) {
			if _, err := r.api.Ask(ctx, http.MethodGet, r.at("state-versions", v.ID), nil, nil); store.Refused(err, http.StatusNotFound) {
				return nil
			}
			return fmt.Errorf("%s does not permit the deletion of single state versions, as Terraform Enterprise does", r.o.Host)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// DeleteCommand returns a command with which a user can delete an earlier state version of Terraform Enterprise. The
// user replaces TOKEN.
func (r *remote) DeleteCommand(_ string, v store.ServiceVersion) string {
	return store.ShellCommand("curl", "--fail", "--request", "POST", "--oauth2-bearer", "TOKEN", r.at("state-versions", v.ID, "actions", deletions[0]).String())
}
