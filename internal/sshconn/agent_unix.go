//go:build unix

package sshconn

import (
	"errors"
	"io"
	"net"
)

func dialAgent(socket string) (io.ReadWriteCloser, error) {
	if socket == "" {
		return nil, errors.New("no socket")
	}
	return net.Dial("unix", socket)
}
