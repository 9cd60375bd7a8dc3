//go:build !unix

package sshconn

import (
	"cmp"
	"context"
	"io"
	"os"
)

// dialAgent opens the pipe of the agent of Windows. The pipe can be used as a file, because the agent answers each
// request before the next.
func dialAgent(_ context.Context, socket string) (io.ReadWriteCloser, error) {
	return os.OpenFile(cmp.Or(socket, `\\.\pipe\openssh-ssh-agent`), os.O_RDWR, 0)
}
