//go:build unix

package sshconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// canary is a text that may not be shown.
const canary = "canary-03be"

func TestReason(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{Fixed("ours"), "ours"},
		{fmt.Errorf("%s: %w", canary, Fixed("ours")), "ours"},
		{&HostKeyError{Why: "no"}, "host key verification failed: no"},
		{&ssh.OpenChannelError{Reason: ssh.ConnectionFailed, Message: canary}, "the SSH server refused to connect (connect failed)"},
		{&net.OpError{Op: "dial", Net: canary, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, "connection refused"},
		{&net.DNSError{Err: canary, Name: canary}, "the host's name cannot be resolved"},
		{fmt.Errorf("%s: %w", canary, context.DeadlineExceeded), "it took too long"},
		{fmt.Errorf("%s: %w", canary, os.ErrDeadlineExceeded), "it took too long"},
		{errors.New("ssh: unable to authenticate " + canary), "SSH authentication failed"},
		{errors.New(canary), ""},
	} {
		if got := Reason(c.err); got != c.want {
			t.Errorf("%v: got %q, want %q", c.err, got, c.want)
		}
	}
}

func TestJoin(t *testing.T) {
	for host, want := range map[string]string{"a.example": "a.example:22", "::1": "[::1]:22", "[::1]": "[::1]:22", "10.0.0.1": "10.0.0.1:22"} {
		if got := Join(host, 22); got != want {
			t.Errorf("%s: %s", host, got)
		}
	}
}

func key(t *testing.T, line string) ssh.PublicKey {
	t.Helper()
	k, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

const (
	one = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDJQm2Lx9WyZ1mSZ7cIbT0E3X4jSuHFJMFpkB0gkkVQd"
	two = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDJQm2Lx9WyZ1mSZ7cIbT0E3X4jSuHFJMFpkB0gkkVQe"
	bad = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDJQm2Lx9WyZ1mSZ7cIbT0E3X4jSuHFJMFpkB0gkkVQf"
)

func TestKnown(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, lines ...string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	a := file("a", "# comment", "one.example,10.0.0.1 "+one, "[two.example]:2222 "+two, knownhosts.HashHostname("hashed.example")+" "+two)
	b := file("b", "one.example "+two, "*.wild.example "+one, "gone.example "+bad, "@revoked gone.example "+bad, "@cert-authority ca.example "+one)
	for address, want := range map[string][]string{
		"one.example:22":    {one, two},
		"10.0.0.1:22":       {one},
		"one.example:2222":  nil,
		"two.example:2222":  {two},
		"two.example:22":    nil,
		"hashed.example:22": {two},
		"x.wild.example:22": {one},
		"gone.example:22":   nil,
		"ca.example:22":     {one},
		"nobody.example:22": nil,
	} {
		keys, err := Known(address, a, filepath.Join(dir, "missing"), b)
		if err != nil || len(keys) != len(want) {
			t.Errorf("%s: %d keys, %v", address, len(keys), err)
			continue
		}
		for _, line := range want {
			h := Host{HostKeys: keys}
			if !h.expects(key(t, line)) {
				t.Errorf("%s: %s is missing", address, line)
			}
		}
	}
	if keys, err := Known("one.example:22"); keys != nil || err != nil {
		t.Errorf("no file: %v %v", keys, err)
	}
	if _, err := Known("one.example:22", dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("unreadable: %v", err)
	}
	// OpenSSH also skips lines for other versions.
	odd := file("odd", "old.example 1024 35 1234567890123456789", "new.example ssh-future AAAA", canary, "", "one.example "+one)
	if keys, err := Known("one.example:22", odd); err != nil || len(keys) != 1 {
		t.Errorf("lines that cannot be parsed: %d keys, %v", len(keys), err)
	}
}
