package base

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
)

// stdout is the standard output of a command. A failed write does not stop the command, because the exit code must
// report the work of the command. A closed pipe, as with head, is no error. After any other error, such as a full disk,
// the command fails at its end if its output is its result.
type stdout struct {
	io.Writer
	mu     sync.Mutex
	failed error // the last error of a write, without errors of a closed pipe; nil: no error
}

// Write writes as many bytes as possible and never returns an error.
func (s *stdout) Write(b []byte) (int, error) {
	if _, err := s.Writer.Write(b); err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, os.ErrClosed) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.failed = err
	}
	return len(b), nil
}

// why returns the last error of writing to standard output, or nil. A closed pipe is no error.
func (s *stdout) why() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// missing returns an error and true if the output is incomplete. It always returns false for a command whose JSON
// output is a stream (Command.Stream).
func (c *Call) missing(s *stdout) (d diag.Diagnostic, matters bool) {
	err := s.why()
	if err == nil || c.Command.Stream {
		return diag.Diagnostic{}, false
	}
	return diag.Errorf("Failed to write to standard output", "The output is incomplete: %s.", disk.Reason(err)), true
}

// asFile returns the file behind a stream, and false if the stream is no file.
func asFile(stream any) (*os.File, bool) {
	if s, ok := stream.(*stdout); ok {
		stream = s.Writer
	}
	f, ok := stream.(*os.File)
	return f, ok
}
