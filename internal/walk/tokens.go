package walk

import "context"

// Tokens limits the number of concurrent calls. A token is held during one call only, so that no job waits while it
// holds a token.
type Tokens struct{ free chan struct{} }

// NewTokens returns a set of n tokens, at least one.
func NewTokens(n int) *Tokens {
	return &Tokens{free: make(chan struct{}, max(n, 1))}
}

// acquire waits for a token. If ctx ends before that, acquire returns the cause of the end, and the caller must not
// call give.
func (t *Tokens) acquire(ctx context.Context) error {
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

// give returns a token that was taken.
func (t *Tokens) give() { <-t.free }

// Do calls f while holding a token. If ctx ends before a token is free, it returns the context's cause without calling
// f.
func (t *Tokens) Do(ctx context.Context, f func()) error {
	if err := t.acquire(ctx); err != nil {
		return err
	}
	defer t.give()
	f()
	return nil
}
