package store

import "context"

// retryingVersions repeats requests about earlier versions.
type retryingVersions struct {
	ServiceVersions
	tries Tries
}

// EarlierVersions implements ServiceVersions.
func (c *retryingVersions) EarlierVersions(ctx context.Context, workspace string) (list []ServiceVersion, err error) {
	err = c.tries.Do(ctx, func() error {
		list, err = c.ServiceVersions.EarlierVersions(ctx, workspace)
		return err
	})
	return list, err
}

// ReadVersion implements ServiceVersions.
func (c *retryingVersions) ReadVersion(ctx context.Context, workspace string, v ServiceVersion) (data []byte, err error) {
	err = c.tries.Do(ctx, func() error {
		data, err = c.ServiceVersions.ReadVersion(ctx, workspace, v)
		return err
	})
	return data, err
}

// DeleteVersion implements ServiceVersions.
func (c *retryingVersions) DeleteVersion(ctx context.Context, workspace string, v ServiceVersion) error {
	return c.tries.Do(ctx, func() error { return c.ServiceVersions.DeleteVersion(ctx, workspace, v) })
}
