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

// This file implements the sending side of the scp protocol that existed before SFTP. Every OpenSSH server supports it,
// also without subsystems. The remote program is `scp -t`. It receives
//
//	C0644 5 name\n  five bytes \0     a file
//	D0755 0 name\n ... E\n            a directory and its entries
//
// It answers each line and the end of each file with a zero byte. After an error it answers with the byte 1 or 2 and a
// line of text. The sender stops at the first error.

// sender is the connection to a remote scp.
type sender struct {
	to   io.Writer
	from *bufio.Reader
}

// upload is a file or directory to send, and its destination on the target.
type upload struct {
	path  string // the destination, as the remote system reads it
	kind  kind
	fresh bool // remove an existing file first, because writing into it would not change its mode; has an effect only on unix
	send  func(*sender) error
}

type kind int

const (
	single    kind = iota // a file: it goes to path, or into the directory at path
	directory             // a directory: it goes into the directory at path, or is created at path
	entries               // the entries of a directory: they go into the directory at path
)

// upload sends data to the target.
func (c *client) upload(ctx context.Context, u upload) error {
	word, err := c.settings.platform.quote(u.path)
	if err != nil {
		return err
	}
	line := "scp " + map[kind]string{single: "-t ", directory: "-r -t ", entries: "-r -d -t "}[u.kind] + word
	if u.kind == entries && c.settings.platform == unix {
		line = "mkdir -p " + word + " && " + line // create the directory, because otherwise each entry would be written to path itself
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

// answer waits for the confirmation of the remote scp. It returns a remoteError if the remote side reports an error.
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
	if code > 2 { // not an answer of scp, but output of the login shell of the remote user
		text = strings.TrimSpace(string(rune(code)) + text)
		return &remoteError{text: "the remote system did not start scp, but answered: " + text}
	}
	return &remoteError{text: text}
}

func (s *sender) send(format string, a ...any) error {
	if _, err := fmt.Fprintf(s.to, format, a...); err != nil {
		return err
	}
	return s.answer()
}

// file sends a file of the given size.
func (s *sender) file(name string, mode fs.FileMode, size int64, content io.Reader) error {
	if err := sendable(name); err != nil {
		return err
	}
	if err := s.send("C%04o %d %s\n", mode.Perm(), size, name); err != nil {
		return err
	}
	n, err := io.CopyN(s.to, content, size)
	switch {
	case errors.Is(err, io.EOF) && n < size:
		return sshconn.Fixed("the file became shorter while it was read")
	case err != nil:
		return err
	}
	return s.send("\x00")
}

// dir sends a directory. The function inside sends its entries.
func (s *sender) dir(name string, mode fs.FileMode, inside func() error) error {
	if err := sendable(name); err != nil {
		return err
	}
	if err := s.send("D%04o 0 %s\n", mode.Perm(), name); err != nil {
		return err
	}
	if err := inside(); err != nil {
		return err
	}
	return s.send("E\n")
}

// sendable returns an error for names that the protocol cannot transmit.
func sendable(name string) error {
	if strings.ContainsAny(name, "\n\x00") || name == "" || name == "." || name == ".." || name != path.Base(name) {
		return fmt.Errorf("the file name %q cannot be sent", name)
	}
	return nil
}
