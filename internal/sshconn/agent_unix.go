//go:build unix

package sshconn

import (
	"context"
	"errors"
	"io"
	"net"
)

func dialAgent(ctx context.Context, socket string) (io.ReadWriteCloser, error) {
	if socket == "" {
		return nil, errors.New("no socket")
	}
	return (&net.Dialer{}).DialContext(ctx, "unix", socket)
}
