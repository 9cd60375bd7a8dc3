package keeper

import "golang.org/x/sys/unix"

// program is what is run: this one, also if its file was replaced meanwhile.
func program() (string, error) { return "/proc/self/exe", nil }

// hide keeps other processes of the user out of the memory, and the memory out of files.
func hide() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
