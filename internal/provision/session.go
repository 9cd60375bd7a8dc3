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

// farewell is the time that an interrupted remote program has to end before Lethe closes its connection.
var farewell = 5 * time.Second

// command is a command to run on the target.
type command struct {
	line     string
	terminal bool // run the command at a terminal; its standard output and its standard error are then one stream
	out      io.Writer
	feed     func(to io.Writer, answers *bufio.Reader) error // exchanges data with the program; nil: the program gets no input
}

// execute runs a command and waits for its end. When ctx ends, it interrupts the command if the command has no feed,
// closes the connection if the command does not end, and returns errInterrupted.
func (c *client) execute(ctx context.Context, cmd command) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	s, err := c.session(ctx)
	if err != nil {
		return err
	}
	defer func() { go s.Close() }()
	head := &subprocess.Beginning{}
	s.Stderr = head
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
		ended <- firstOf(fed, err, head)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	if cmd.feed == nil {
		for range 2 { // repeat, because a shell that is just starting a program may lose the first interrupt
			ask(s, keyboard)
			if soon(ended, farewell/2) {
				return errInterrupted
			}
		}
	}
	c.cut(s, ended)
	return errInterrupted
}

// begin starts the command on the target.
func (cmd *command) begin(c *client, s *ssh.Session, keyboard io.Closer) error {
	// Without a terminal, the input of a command is empty. With a terminal, the input stays open: programs would not
	// notice its end, and the interrupt key is sent through it.
	if cmd.terminal && !c.dress(s) {
		defer keyboard.Close()
	}
	return s.Start(cmd.line)
}

// ask asks a command to end. It sends SIGTERM, and the interrupt key if the command has a terminal, because some
// servers do not forward signals. It does not wait, because a write to a host that does not answer may block.
func ask(s *ssh.Session, keyboard io.Writer) {
	go func() {
		if keyboard != nil {
			_, _ = keyboard.Write([]byte{interruptKey})
		}
		_ = s.Signal(ssh.SIGTERM)
	}()
}

// cut closes a session. If that does not end the command, it closes the whole connection.
func (c *client) cut(s *ssh.Session, ended <-chan error) {
	go s.Close()
	if !soon(ended, time.Second) {
		c.Close()
		soon(ended, time.Second)
	}
}

// interruptKey is Ctrl-C.
const interruptKey = 3

// soon reports whether the command ends within the time limit.
func soon(ended <-chan error, limit time.Duration) bool {
	select {
	case <-ended:
		return true
	case <-time.After(limit):
		return false
	}
}

// session opens a session (the connection of one command). If the host does not answer, session returns when ctx or the
// connection ends. Package ssh waits forever for the answer if the connection ends during the request, so the request
// runs in a separate goroutine.
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
		c.Close() // if the session is opened later, this closes it, too
		return nil, errInterrupted
	case <-c.ended:
		return nil, io.EOF
	}
}

// dress requests agent forwarding, if the host may use the SSH agent, and a terminal. If the host refuses one of them,
// the command runs without it. dress returns false if the host refuses the terminal.
func (c *client) dress(s *ssh.Session) bool {
	if c.forward {
		_ = agent.RequestAgentForwarding(s)
	}
	modes := ssh.TerminalModes{ssh.ECHO: 0, ssh.VINTR: interruptKey, ssh.TTY_OP_ISPEED: 38400, ssh.TTY_OP_OSPEED: 38400}
	return s.RequestPty("xterm", 40, 80, modes) == nil
}

// prepare returns talk, the function that exchanges data with the program, and keyboard, the input of its terminal.
// keyboard is nil without a terminal. talk does nothing for a command without feed.
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

// firstOf returns the most useful of the errors of a command. Its order is: the error that the program sent to talk,
// the text on the program's error output (head) if it failed, its exit status (end), and the error of talk.
func firstOf(talk, end error, head *subprocess.Beginning) error {
	var remote *remoteError
	switch {
	case errors.As(talk, &remote):
		remote.end = end
		return remote
	case end != nil && head.String() != "":
		return &remoteError{text: strings.TrimSpace(head.String()), end: end}
	case end != nil:
		return end
	}
	return talk
}

// remoteError is the error text of a remote program.
type remoteError struct {
	text string
	end  error // the exit status of the program; nil: unknown
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.end }
