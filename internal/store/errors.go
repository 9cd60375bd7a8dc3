package store

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// DamagedError reports that a stored state is damaged. Put can replace it if it gets Version.
type DamagedError struct {
	Version Version
	Data    []byte // the readable part of the state
	Err     error
}

func (e *DamagedError) Error() string { return e.Err.Error() }
func (e *DamagedError) Unwrap() error { return e.Err }

// Sentence is an error of a store as the beginning of a sentence.
func Sentence(err error) string {
	text := err.Error()
	if len(text) > 1 && text[1] >= 'a' && text[1] <= 'z' || strings.HasPrefix(text, "a ") { // else it may begin with a name
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return text
}

// StaleError reports that the state changed since it was read.
type StaleError struct {
	Workspace string
	Missing   bool // there is no state any more
}

func (e *StaleError) Error() string {
	if e.Missing {
		return fmt.Sprintf("the state of workspace %q was removed by someone else since it was read", e.Workspace)
	}
	return fmt.Sprintf("the state of workspace %q was changed by someone else since it was read", e.Workspace)
}

// UnansweredError reports that a request got no answer, or an answer that leaves its outcome open: the connection
// broke, or the server failed during its work. Retrying finds out the outcome.
type UnansweredError struct {
	Err    error
	Unsent bool          // the request was not carried out: there was no token for it, no connection, or the service was busy
	After  time.Duration // the pause that the service asks for; 0: none
}

func (e *UnansweredError) Error() string { return e.Err.Error() }
func (e *UnansweredError) Unwrap() error { return e.Err }

// Unsent marks an *UnansweredError of something that a request needs, such as a token: the request itself was not sent.
func Unsent(err error) error {
	var noAnswer *UnansweredError
	if errors.As(err, &noAnswer) {
		noAnswer.Unsent = true
	}
	return err
}

// RedirectError has the reason why a redirect is not followed. A retry would meet the same redirect.
type RedirectError struct{ Err error }

func (e *RedirectError) Error() string { return e.Err.Error() }
func (e *RedirectError) Unwrap() error { return e.Err }
