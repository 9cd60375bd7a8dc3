package walk

import "context"

// Tokens limits how many of something happen at once. A token is taken around one call and around
// nothing else, so no job waits while holding one.
type Tokens struct{ free chan struct{} }

// NewTokens gives n tokens, at least one.
func NewTokens(n int) *Tokens {
	return &Tokens{free: make(chan struct{}, max(n, 1))}
}

// take waits for a token. It gives up when ctx ends, with the context's cause; then there is
// nothing to give back. An ended context gets no token even where one is free.
func (t *Tokens) take(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case t.free <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// give puts back a token that was taken.
func (t *Tokens) give() { <-t.free }

// Do calls f while holding a token, and reports the context's cause instead if there was none to
// be had.
func (t *Tokens) Do(ctx context.Context, f func()) error {
	if err := t.take(ctx); err != nil {
		return err
	}
	defer t.give()
	f()
	return nil
}
