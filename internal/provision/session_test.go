package provision

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"testing"

	"golang.org/x/crypto/ssh"
)

// The server never answers the request for a session. The provisioner must stop waiting when the connection ends or the
// run ends.
func TestSessionWithoutAnswer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		theirs, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		_, key, _ := ed25519.GenerateKey(rand.Reader)
		signer, err := ssh.NewSignerFromKey(key)
		if err != nil {
			t.Error(err)
			return
		}
		config := &ssh.ServerConfig{NoClientAuth: true}
		config.AddHostKey(signer)
		ssh.NewServerConn(theirs, config) // the server answers no request for a session
	}()
	ours, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	conn, channels, requests, err := ssh.NewClientConn(ours, "host", &ssh.ClientConfig{HostKeyCallback: ssh.InsecureIgnoreHostKey()})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	c := &client{Client: ssh.NewClient(conn, channels, requests), ended: done}
	close(done)
	if _, err := c.session(t.Context()); err != io.EOF {
		t.Errorf("the connection is over: %v", err)
	}
	c.ended = nil
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.session(ctx); !errors.Is(err, errInterrupted) {
		t.Errorf("the run is over: %v", err)
	}
}
