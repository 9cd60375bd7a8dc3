//go:build unix

package sshconn

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// silentAgent accepts connections and never answers, like a stopped agent.
func silentAgent(t *testing.T) (socket string) {
	socket = filepath.Join(t.TempDir(), "a")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
		}
	}()
	return socket
}

// TestSilentAgent checks that a login waits for a silent agent no longer than its context, and only for agentPatience
// if it has another key.
func TestSilentAgent(t *testing.T) {
	a, err := FindAgent(t.Context(), silentAgent(t), "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	l := &agentLogin{ctx: ctx, agent: a}
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := l.signers(false); err == nil {
		t.Error("the end of the context did not end the request")
	}
	agentPatience = 10 * time.Millisecond
	t.Cleanup(func() { agentPatience = usualPatience })
	l = &agentLogin{ctx: t.Context(), agent: a}
	if _, err := l.signers(true); err == nil {
		t.Error("the agent has answered")
	}
	l.close()
}
