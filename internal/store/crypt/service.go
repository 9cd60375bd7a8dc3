package crypt

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
)

// serviceError reports that a key could not be obtained. It does not mean that the key is wrong. Examples:
//
//   - a service cannot be reached or refuses the request;
//   - a program fails;
//   - the user has configured no identity.
type serviceError struct{ error }

func (e *serviceError) Unwrap() error { return e.error }

// asked calls do until the service answers, for at most two minutes. Every error that it returns is a *serviceError. A
// *store.UnansweredError is not wrapped, because store.Retrying would repeat the store's request for it.
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

// otherKey returns the error for data that the service's key with this name did not encrypt. The parameter why is the
// error of the service.
func otherKey(name string, why error) error {
	return fmt.Errorf("the key %s did not encrypt this data: %s", name, why)
}

var errDamagedMeta = errors.New("its metadata in the file is damaged")

// agent returns a header with the User-Agent of the settings, or nil if they have none.
func agent(s store.Settings) http.Header {
	if s.Agent == "" {
		return nil
	}
	return http.Header{"User-Agent": {s.Agent}}
}

// checkLength returns an error if n is not a valid length of a key, in bytes.
func checkLength(n int) error {
	if n < 1 || n > mostLength {
		return fmt.Errorf(`"key_length" must be a number of bytes from 1 to %d, not %d`, mostLength, n)
	}
	return nil
}
