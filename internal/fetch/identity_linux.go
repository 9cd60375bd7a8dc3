package fetch

import (
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// boot names this start of the machine.
var boot = sync.OnceValue(func() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // "" is a name as well
	return string(text)
})

// inode is what only the system knows of a file: its device, its number there, and its ctime in nanoseconds.
func inode(info fs.FileInfo) (dev, ino uint64, status int64, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, 0, false
	}
	return uint64(st.Dev), st.Ino, st.Ctim.Nano(), true
}
