package session

import (
	"context"

	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/vet"
)

// Prepare loads and compiles the configuration, and asks for missing values. It returns false after an error. In that
// case it reports all errors of the configuration, unless the directory or the backend cannot be used. If empty is not
// "", a directory without configuration is an error, and the message begins with empty.
func (s *Session) Prepare(ctx context.Context, empty string, check vet.CheckOptions) bool {
	defer s.Dir.Call.Times.Phase("read the configuration")()
	l, vars := s.Loader, s.Loader.Vars
	loaded := l.Load()
	if l.Empty() && !loaded { // Load has reported the error
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
	s.Engine.Supply = nil // do not ask for arguments of providers any longer, because answers would not be used
	s.Judge(ctx, check)
	if !given {
		vars.LeaveUnset() // report no missing values, because a values file that could not be read may have them
	}
	if s.Program != nil {
		frame.New(s.Program, s.FrameOptions(), &s.Dir.Call.Bag) // reports wrong values of variables
	}
	return false
}
