package session

import (
	"context"

	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/vet"
)

// Prepare loads and compiles the configuration, and asks for missing values. If it fails, it reports all errors of the
// configuration and returns false. If empty is not "", a directory without configuration is an error, and the message
// begins with empty.
func (s *Session) Prepare(ctx context.Context, empty string, check vet.CheckOptions) bool {
	defer s.Dir.Call.Times.Phase("read the configuration")()
	l, vars := s.Loader, s.Loader.Vars
	loaded := l.Load()
	if l.Empty() && !loaded { // the error was reported
		return false
	}
	if empty != "" && !l.RequireFiles(empty) {
		return false
	}
	if !s.States.Ready() {
		return false
	}
	s.AskProviders()
	given := vars.Collect()
	if loaded && given && vars.AskAll() && s.Compile(ctx, check) {
		return true
	}
	s.Engine.Supply = nil // answers would not be used
	s.Judge(ctx, check)
	if !given {
		vars.LeaveUnset() // report no missing values, because a file that could not be read may have them
	}
	if s.Program != nil {
		frame.New(s.Program, s.FrameOptions(), &s.Dir.Call.Bag) // reports wrong values of variables
	}
	return false
}
