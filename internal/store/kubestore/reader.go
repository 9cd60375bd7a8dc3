package kubestore

import (
	"net/url"
	"path/filepath"

	"github.com/lethe-iac/lethe/internal/store"
)

// reader reads the settings of the backend block, and of environment variables for settings that the block omits.
type reader struct {
	store.Reader
}

func (r *reader) url(name, text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		r.Bad(name, "the value of %q must be an address, such as https://cluster.example.com:6443", name)
		return &url.URL{}
	}
	return u
}

// path returns a path in a setting as an absolute path: it expands "~" at the beginning, and resolves relative paths
// against the directory of the settings.
func (r *reader) path(p string) string { return r.S.File(p) }

// within returns the path p relative to dir. It returns absolute paths and "" unchanged.
func within(dir, p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(dir, p)
}
