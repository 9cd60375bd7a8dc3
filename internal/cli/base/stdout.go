package base

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state/disk"
)

// stdout is standard output. That it cannot be written ends nothing: what a command does is done, and its exit code says
// how that went. Where a reader has gone, as head does, that is all; where there is no room, say, a command whose output
// is what was asked for fails when it is over.
type stdout struct {
	io.Writer
	mu     sync.Mutex
	failed error
}

// Write writes as much as can be written.
func (s *stdout) Write(b []byte) (int, error) {
	if _, err := s.Writer.Write(b); err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, os.ErrClosed) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.failed = err
	}
	return len(b), nil
}

// why says why not all was written; nil: it was.
func (s *stdout) why() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// missing says what of the output is not there, if that matters.
func (c *Call) missing(s *stdout) (d diag.Diagnostic, matters bool) {
	err := s.why()
	if err == nil || c.Command.Stream {
		return diag.Diagnostic{}, false
	}
	return diag.Errorf("Failed to write to standard output", "What was asked for could not be printed, or not all of it: %s.", disk.Reason(err)), true
}

// asFile is the file behind a stream, if there is one.
func asFile(stream any) (*os.File, bool) {
	if s, ok := stream.(*stdout); ok {
		stream = s.Writer
	}
	f, ok := stream.(*os.File)
	return f, ok
}
