package provision

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/lethe-iac/lethe/internal/sshconn"
)

// This is the sending side of the protocol of scp (the one before SFTP; every OpenSSH server
// understands it, also without subsystems). The remote program is `scp -t`, and hears
//
//	C0644 5 name\n  five bytes \0     a file
//	D0755 0 name\n ... E\n            a directory and what is in it
//
// It answers each line, and each file's end, with a zero byte, or with 1 or 2 and a line of text if
// something went wrong. We stop at the first that did.

// sender speaks to a remote scp.
type sender struct {
	to   io.Writer
	from *bufio.Reader
}

// upload is something to be sent.
type upload struct {
	path  string // where to, as the remote system reads it
	kind  kind
	fresh bool // what is at path is removed before: a file that is there keeps its mode
	send  func(*sender) error
}

// kind is what is sent.
type kind int

const (
	single    kind = iota // a file, to path or into the directory at path
	directory             // a directory, which goes into the one at path, or is made there
	entries               // the entries of a directory, which go into the one at path
)

// upload sends to the target.
func (c *client) upload(ctx context.Context, u upload) error {
	word, err := c.settings.platform.quote(u.path)
	if err != nil {
		return err
	}
	line := "scp " + map[kind]string{single: "-t ", directory: "-r -t ", entries: "-r -d -t "}[u.kind] + word
	if u.kind == entries && c.settings.platform == unix {
		line = "mkdir -p " + word + " && " + line // each entry would become what is at path otherwise
	}
	if u.fresh && c.settings.platform == unix {
		line = "rm -f " + word + " && " + line
	}
	return c.execute(ctx, command{
		line: line,
		feed: func(to io.Writer, answers *bufio.Reader) error {
			s := &sender{to: to, from: answers}
			if err := s.answer(); err != nil {
				return err
			}
			return u.send(s)
		},
	})
}

// answer waits until what was sent is confirmed.
func (s *sender) answer() error {
	code, err := s.from.ReadByte()
	switch {
	case err != nil:
		return fmt.Errorf("the remote scp ended early: %w", err)
	case code == 0:
		return nil
	}
	text, _ := s.from.ReadString('\n')
	text = strings.TrimSpace(text)
	if code > 2 { // no answer of scp, but output of a shell that is no shell for this
		text = strings.TrimSpace(string(rune(code)) + text)
		return &remoteError{text: "the remote system did not start scp but said: " + text}
	}
	return &remoteError{text: text}
}

func (s *sender) say(format string, a ...any) error {
	if _, err := fmt.Fprintf(s.to, format, a...); err != nil {
		return err
	}
	return s.answer()
}

// file sends a file of that size.
func (s *sender) file(name string, mode fs.FileMode, size int64, content io.Reader) error {
	if err := sendable(name); err != nil {
		return err
	}
	if err := s.say("C%04o %d %s\n", mode.Perm(), size, name); err != nil {
		return err
	}
	n, err := io.CopyN(s.to, content, size)
	switch {
	case errors.Is(err, io.EOF) && n < size:
		return sshconn.Fixed("the file became shorter while it was read")
	case err != nil:
		return err
	}
	return s.say("\x00")
}

// dir sends a directory, whose entries inside sends.
func (s *sender) dir(name string, mode fs.FileMode, inside func() error) error {
	if err := sendable(name); err != nil {
		return err
	}
	if err := s.say("D%04o 0 %s\n", mode.Perm(), name); err != nil {
		return err
	}
	if err := inside(); err != nil {
		return err
	}
	return s.say("E\n")
}

// sendable refuses names that the protocol cannot carry.
func sendable(name string) error {
	if strings.ContainsAny(name, "\n\x00") || name == "" || name == "." || name == ".." || name != path.Base(name) {
		return fmt.Errorf("the file name %q cannot be sent", name)
	}
	return nil
}
