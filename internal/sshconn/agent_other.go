//go:build !unix

package sshconn

import (
	"cmp"
	"context"
	"io"
	"os"
)

// dialAgent opens the pipe of the agent that comes with Windows. It can be used as a file because
// each request is answered before the next.
func dialAgent(_ context.Context, socket string) (io.ReadWriteCloser, error) {
	return os.OpenFile(cmp.Or(socket, `\\.\pipe\openssh-ssh-agent`), os.O_RDWR, 0)
}
