//go:build unix

package funcs

import (
	"syscall"
	"testing"
)

func pipe(t *testing.T, name string) {
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
}
