//go:build unix

package disk

import (
	"os"
	"syscall"
)

// adopt sets the owner of the new file f to the owner of the file target, which f will replace. It ignores errors,
// because a user may not be permitted to change owners. So a state that root rewrites still belongs to its user.
func adopt(fsys FS, f File, target string) {
	old, err := fsys.Stat(target)
	if err != nil {
		return
	}
	is, err := f.Stat()
	if err != nil {
		return
	}
	was, ok := old.Sys().(*syscall.Stat_t)
	now, also := is.Sys().(*syscall.Stat_t)
	if ok && also && (was.Uid != now.Uid || was.Gid != now.Gid) {
		_ = os.Chown(f.Name(), int(was.Uid), int(was.Gid))
	}
}
