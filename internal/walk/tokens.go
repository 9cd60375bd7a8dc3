package walk

import "context"

// Tokens limits how many of something happen at once. A token is taken around one call and around
// nothing else, so no job waits while holding one. A nil *Tokens sets no limit.
type Tokens struct{ free chan struct{} }

// NewTokens gives n tokens, at least one.
func NewTokens(n int) *Tokens {
	return &Tokens{free: make(chan struct{}, max(n, 1))}
}

// Take waits for a token. It gives up when ctx ends, with the context's cause; then there is
// nothing to give back. An ended context gets no token even where one is free.
func (t *Tokens) Take(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if t == nil {
		return nil
	}
	select {
	case t.free <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Give puts back a token that was taken.
func (t *Tokens) Give() {
	if t != nil {
		<-t.free
	}
}

// Do calls f while holding a token, and reports the context's cause instead if there was none to
// be had.
func (t *Tokens) Do(ctx context.Context, f func()) error {
	if err := t.Take(ctx); err != nil {
		return err
	}
	defer t.Give()
	f()
	return nil
}

// Len is the number of tokens there are; 0 means no limit.
func (t *Tokens) Len() int {
	if t == nil {
		return 0
	}
	return cap(t.free)
}
