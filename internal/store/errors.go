package store

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// DamagedError reports that a stored state is damaged. A caller that wants to replace the damaged state passes Version
// to Put.
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
	if len(text) > 1 && text[1] >= 'a' && text[1] <= 'z' || strings.HasPrefix(text, "a ") { // else the text may begin with a name
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
// executed: the connection broke, or the server failed. A later attempt may succeed.
type UnansweredError struct {
	Err    error
	Unsent bool          // the request was not executed: there was no token or no connection, or the service was busy
	After  time.Duration // the pause that the service requests before the next attempt; 0 means none
}

func (e *UnansweredError) Error() string { return e.Err.Error() }
func (e *UnansweredError) Unwrap() error { return e.Err }

// Unsent sets the field Unsent of an *UnansweredError that err wraps, because a prerequisite of the request failed,
// such as getting a token. It returns err, also if err wraps no such error.
func Unsent(err error) error {
	var noAnswer *UnansweredError
	if errors.As(err, &noAnswer) {
		noAnswer.Unsent = true
	}
	return err
}

// RedirectError reports that a redirect was not followed, with the reason. Retrying would lead to the same redirect.
type RedirectError struct{ Err error }

func (e *RedirectError) Error() string { return e.Err.Error() }
func (e *RedirectError) Unwrap() error { return e.Err }
