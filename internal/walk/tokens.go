package walk

import "context"

// Tokens limits the number of concurrent calls. A token is held during one call only, so no holder of a token waits for
// another call.
type Tokens struct{ free chan struct{} }

// NewTokens returns a set of n tokens, at least one.
func NewTokens(n int) *Tokens {
	return &Tokens{free: make(chan struct{}, max(n, 1))}
}

// acquire waits for a free token and takes it. If ctx ends first, acquire returns context.Cause(ctx), and the caller
// must not call give.
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

// Do calls f while holding a token. If ctx ends before a token is free, Do returns context.Cause(ctx) without calling
// f. Otherwise it returns nil.
func (t *Tokens) Do(ctx context.Context, f func()) error {
	if err := t.acquire(ctx); err != nil {
		return err
	}
	defer t.give()
	f()
	return nil
}
