package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// dataSync makes the content of a file durable by fdatasync, which does not make time stamps durable.
func dataSync(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if err != unix.EINTR {
			return err
		}
	}
}
