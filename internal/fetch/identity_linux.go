package fetch

import (
	"io/fs"
	"syscall"
)

// fill adds what only the system knows.
func (id *identity) fill(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok {
		id.Dev, id.Ino, id.Status = st.Dev, st.Ino, st.Ctim.Nano()
	}
	return ok
}
