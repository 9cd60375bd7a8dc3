package store

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// DamagedError reports that a stored state is damaged. To replace the state, pass Version to Put.
type DamagedError struct {
	Version Version
	Data    []byte // the readable part of the state
	Err     error
}

func (e *DamagedError) Error() string { return e.Err.Error() }
func (e *DamagedError) Unwrap() error { return e.Err }

// Sentence returns the text of a store's error as the beginning of a sentence, with a capital letter. If the second
// character is not a lower-case letter, the text may begin with a name, and stays unchanged.
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
	Missing   bool // the state no longer exists
}

func (e *StaleError) Error() string {
	if e.Missing {
		return fmt.Sprintf("the state of workspace %q was removed by someone else since it was read", e.Workspace)
	}
	return fmt.Sprintf("the state of workspace %q was changed by someone else since it was read", e.Workspace)
}

// UnansweredError reports that a request got no answer, or an answer that does not tell whether the request was
// executed: the connection broke, or the server failed. A caller that tries again finds out.
type UnansweredError struct {
	Err    error
	Unsent bool          // the request was not executed: it had no token or no connection, or the service was busy
	After  time.Duration // the pause that the service requests; 0 for none
}

func (e *UnansweredError) Error() string { return e.Err.Error() }
func (e *UnansweredError) Unwrap() error { return e.Err }

// Unsent marks an *UnansweredError about a prerequisite of a request, such as a token: the request was not sent. It
// returns err.
func Unsent(err error) error {
	var noAnswer *UnansweredError
	if errors.As(err, &noAnswer) {
		noAnswer.Unsent = true
	}
	return err
}

// RedirectError is the reason why a redirect is not followed. A retry would get the same redirect.
type RedirectError struct{ Err error }

func (e *RedirectError) Error() string { return e.Err.Error() }
func (e *RedirectError) Unwrap() error { return e.Err }
