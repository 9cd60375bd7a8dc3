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

// stdout is standard output. A failed write does not stop the command, whose exit code reports its work. A closed pipe,
// as with head, is not an error. After another error, such as a full disk, a command whose output is its result fails
// at the end.
type stdout struct {
	io.Writer
	mu     sync.Mutex
	failed error
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

// why returns the last error of a write that matters, or nil.
func (s *stdout) why() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// missing returns an error if the output is incomplete and the output is the result of the command.
func (c *Call) missing(s *stdout) (d diag.Diagnostic, matters bool) {
	err := s.why()
	if err == nil || c.Command.Stream {
		return diag.Diagnostic{}, false
	}
	return diag.Errorf("Failed to write to standard output", "The output is incomplete: %s.", disk.Reason(err)), true
}

// asFile returns the file of a stream, if it has one.
func asFile(stream any) (*os.File, bool) {
	if s, ok := stream.(*stdout); ok {
		stream = s.Writer
	}
	f, ok := stream.(*os.File)
	return f, ok
}
