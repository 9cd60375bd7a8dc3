package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// dataSync is fdatasync: times of change need not be durable.
func dataSync(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if err != unix.EINTR {
			return err
		}
	}
}
