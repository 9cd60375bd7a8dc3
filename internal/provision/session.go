package provision

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/subprocess"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// farewell is how long a remote program that was asked to stop may take until its connection is
// cut.
var farewell = 5 * time.Second

// command is what is run on the target.
type command struct {
	line     string
	terminal bool // as if typed: what asks for a terminal gets one, and all output is one stream
	out      io.Writer
	feed     func(to io.Writer, answers *bufio.Reader) error // talks to the program; nil: it gets no input
}

// execute runs a command to its end. When the context ends, the command is asked to stop, and its
// connection is cut if it does not.
func (c *client) execute(ctx context.Context, cmd command) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	s, err := c.session(ctx)
	if err != nil {
		return err
	}
	defer func() { go s.Close() }()
	said := &subprocess.Beginning{}
	s.Stderr = said
	if cmd.out != nil {
		s.Stdout, s.Stderr = cmd.out, cmd.out
	}
	talk, keyboard, err := c.prepare(s, cmd)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		var fed error
		err := cmd.begin(c, s, keyboard)
		if err == nil {
			fed = talk()
			err = s.Wait()
		}
		ended <- firstOf(fed, err, said)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	if cmd.feed == nil {
		for range 2 { // a shell that is about to start a program may lose what it is sent
			ask(s, keyboard)
			if soon(ended, farewell/2) {
				return errInterrupted
			}
		}
	}
	c.cut(s, ended)
	return errInterrupted
}

// begin starts the command.
func (cmd *command) begin(c *client, s *ssh.Session, keyboard io.Closer) error {
	// The input of a command without a terminal is empty. That of a terminal stays open: its end
	// would not be noticed, and the key that interrupts goes there.
	if cmd.terminal && !c.dress(s) {
		defer keyboard.Close()
	}
	return s.Start(cmd.line)
}

// ask asks a command to end, with a signal and as a user at its terminal would, because servers do
// not pass on signals to the programs of some users. A write to a host that does not
// listen may block.
func ask(s *ssh.Session, keyboard io.Writer) {
	go func() {
		if keyboard != nil {
			_, _ = keyboard.Write([]byte{interruptKey})
		}
		_ = s.Signal(ssh.SIGTERM)
	}()
}

// cut ends a session, and the whole connection if that is not enough.
func (c *client) cut(s *ssh.Session, ended <-chan error) {
	go s.Close()
	if !soon(ended, time.Second) {
		c.Close()
		soon(ended, time.Second)
	}
}

// interruptKey is Ctrl-C.
const interruptKey = 3

// soon waits for the end, but not longer than that.
func soon(ended <-chan error, limit time.Duration) bool {
	select {
	case <-ended:
		return true
	case <-time.After(limit):
		return false
	}
}

// session opens a session; a host that does not answer is left when the context ends. Package ssh
// waits for ever for an answer if the connection ends at the very moment of the question, so no caller
// waits for it longer than for the connection.
func (c *client) session(ctx context.Context) (*ssh.Session, error) {
	type opened struct {
		*ssh.Session
		err error
	}
	answer := make(chan opened, 1)
	go func() {
		s, err := c.NewSession()
		answer <- opened{s, err}
	}()
	select {
	case o := <-answer:
		return o.Session, o.err
	case <-ctx.Done():
		c.Close() // the session with it, should there be one
		return nil, errInterrupted
	case <-c.over:
		return nil, io.EOF
	}
}

// dress asks for a terminal, and for the agent to be at hand; hosts that refuse either are used
// without. It reports whether there is a terminal.
func (c *client) dress(s *ssh.Session) bool {
	if c.forward {
		_ = agent.RequestAgentForwarding(s)
	}
	modes := ssh.TerminalModes{ssh.ECHO: 0, ssh.VINTR: interruptKey, ssh.TTY_OP_ISPEED: 38400, ssh.TTY_OP_OSPEED: 38400}
	return s.RequestPty("xterm", 40, 80, modes) == nil
}

// prepare connects the talk with the program, or the keyboard of its terminal.
func (c *client) prepare(s *ssh.Session, cmd command) (talk func() error, keyboard io.WriteCloser, err error) {
	nothing := func() error { return nil }
	if cmd.feed == nil && !cmd.terminal {
		return nothing, nil, nil
	}
	in, err := s.StdinPipe()
	if err != nil || cmd.feed == nil {
		return nothing, in, err
	}
	out, err := s.StdoutPipe()
	return func() error {
		err := cmd.feed(in, bufio.NewReader(out))
		in.Close()
		_, _ = io.Copy(io.Discard, out)
		return err
	}, nil, err
}

// firstOf is the error that says most: what the program said while we talked to it, or what it
// wrote to its standard error, or how it ended.
func firstOf(talk, end error, said *subprocess.Beginning) error {
	var told *remoteError
	switch {
	case errors.As(talk, &told):
		told.end = end
		return told
	case end != nil && said.String() != "":
		return &remoteError{text: strings.TrimSpace(said.String()), end: end}
	case end != nil:
		return end
	}
	return talk
}

// remoteError is what a remote program said about its failure.
type remoteError struct {
	text string
	end  error // how it ended; may be nil
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.end }
