package store

import "context"

// retryingVersions repeats requests about earlier versions of objects that the service of a store keeps by itself.
type retryingVersions struct {
	ServiceVersions
	tries Tries
}

// EarlierVersions lists the earlier versions of a workspace's state that the service keeps.
func (c *retryingVersions) EarlierVersions(ctx context.Context, workspace string) (list []ServiceVersion, err error) {
	err = c.tries.Do(ctx, func() error {
		list, err = c.ServiceVersions.EarlierVersions(ctx, workspace)
		return err
	})
	return list, err
}

// ReadVersion returns the content of an earlier version that the service keeps.
func (c *retryingVersions) ReadVersion(ctx context.Context, workspace string, v ServiceVersion) (data []byte, err error) {
	err = c.tries.Do(ctx, func() error {
		data, err = c.ServiceVersions.ReadVersion(ctx, workspace, v)
		return err
	})
	return data, err
}

// DeleteVersion permanently deletes an earlier version that the service keeps.
func (c *retryingVersions) DeleteVersion(ctx context.Context, workspace string, v ServiceVersion) error {
	return c.tries.Do(ctx, func() error { return c.ServiceVersions.DeleteVersion(ctx, workspace, v) })
}
