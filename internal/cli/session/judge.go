package session

import (
	"context"

	"github.com/lethe-iac/lethe/internal/backend"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/operation"
)

// JudgeEncryption reports errors in the encryption block of the loaded configuration. It reports nothing if an earlier
// error in the tree makes further checks impossible (Tree.Closed).
func (s *Session) JudgeEncryption() {
	if !s.Loader.Tree.Closed {
		s.States.Backend.CheckEncryption(s.Loader.Tree, s.unvalued())
	}
}

// unvalued returns a frame (an evaluator of expressions) of the root module for validation before the configuration is
// compiled. In this frame, everything except literals is unknown.
func (s *Session) unvalued() *frame.StaticFrame {
	o := s.Loader.Vars.StaticOptions()
	o.Validate = true
	return frame.Static(s.Loader.Tree.Root.Module, s.Loader.Vars.Given, o)
}

// Judge reports all errors of the loaded configuration, even if loading it reported some. It does not report errors
// that only follow from a reported error, such as references to a block in a file that could not be read. After an
// error that makes further checks impossible, and after an interrupt, it does nothing.
func (s *Session) Judge(ctx context.Context, check vet.CheckOptions) {
	if s.Loader.Tree.Closed || ctx.Err() != nil {
		return
	}
	s.Loader.Vars.Collect()
	if b := s.Loader.Tree.Root.Module.Stored(); b != nil && !b.Store {
		s.unvalued().Lasting(b.Body, "backend "+b.Type, backend.SecretIn(b.Type), &s.Dir.Call.Bag)
	}
	if s.Program == nil {
		s.Compile(ctx, check)
	}
	if s.Program != nil {
		s.Engine.Validate(ctx, s.Program, s.Loader.Vars.FrameOptions(operation.None), &s.Dir.Call.Bag)
	}
}
