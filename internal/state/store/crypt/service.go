package crypt

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/lethe-iac/lethe/internal/state/store"
)

// serviceError says why there is no key to be had: a service cannot be reached, or refuses, a program fails, or the
// user has named no identity. The key that something was encrypted with may be the right one.
type serviceError struct{ error }

func (e *serviceError) Unwrap() error { return e.error }

// asked asks a service until it answers. What was not answered is no matter for store.Careful, which is for stores.
func asked(ctx context.Context, service string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	err := store.Settings{}.Tries(time.Minute).Do(ctx, func() error { return do(ctx) })
	var refused *store.RefusedError
	var unanswered *store.UnansweredError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return &serviceError{fmt.Errorf("%s refuses: %w", service, refused)}
	case errors.As(err, &unanswered):
		return &serviceError{fmt.Errorf("%s does not answer: %s", service, err)}
	}
	return &serviceError{fmt.Errorf("%s: %w", service, err)}
}

// otherKey is the error for what a key did not encrypt.
func otherKey(name string, why error) error {
	return fmt.Errorf("the key %s did not encrypt this: %s", name, why)
}

var errDamagedMeta = errors.New("its metadata in the file is damaged")

// agent is how a client names itself.
func agent(s store.Settings) http.Header {
	if s.Agent == "" {
		return nil
	}
	return http.Header{"User-Agent": {s.Agent}}
}

// checkLength reports what is wrong with the length of a key.
func checkLength(n int) error {
	if n < 1 || n > mostLength {
		return fmt.Errorf(`"key_length" must be a number of bytes from 1 to %d, not %d`, mostLength, n)
	}
	return nil
}
