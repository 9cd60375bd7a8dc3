//go:build unix

package store

import (
	"syscall"

	"github.com/lethe-iac/lethe/internal/disk"
)

// lingers is true if a removed file stays in its directory until every process has closed it.
const lingers = false

// nameless reports whether the file f has no name any more, because it was removed or replaced.
func nameless(f disk.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 0
}
