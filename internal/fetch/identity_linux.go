package fetch

import (
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// boot returns an identifier of the current boot of the machine.
var boot = sync.OnceValue(func() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // ignore the error: "" is a valid identifier, too
	return string(text)
})

// inode returns the device, the inode number and the ctime in nanoseconds of a file. ok is false if the file system
// does not report them.
func inode(info fs.FileInfo) (dev, ino uint64, status int64, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, 0, false
	}
	return uint64(st.Dev), st.Ino, st.Ctim.Nano(), true
}
