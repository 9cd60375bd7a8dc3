package store

import (
	"errors"
	"slices"

	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// Attr returns an optional setting of a driver.
func Attr(name string, ty cty.Type, description string) *schema.Attr {
	return &schema.Attr{Name: name, Type: ty, Optional: true, Description: description}
}

// SecretAttr returns an optional string setting of a driver that is sensitive: it is not shown, and its value may be
// ephemeral.
func SecretAttr(name, description string) *schema.Attr {
	return &schema.Attr{Name: name, Type: cty.String, Optional: true, Sensitive: true, Description: description}
}

// Reader reads the settings S of a store, and joins all errors in Err, so that a user sees all mistakes at once.
// Mistakes(Err) returns them separately.
type Reader struct {
	S   Settings
	Err error
}

// Fail adds err to r.Err. A nil err is ignored.
func (r *Reader) Fail(err error) {
	r.Err = errors.Join(slices.Concat(Mistakes(r.Err), Mistakes(err))...)
}

// Mistakes returns the errors that err joins, or err itself. For nil it returns none.
func Mistakes(err error) []error {
	switch joined, is := err.(interface{ Unwrap() []error }); {
	case is:
		return joined.Unwrap()
	case err != nil:
		return []error{err}
	}
	return nil
}

// Bad adds an error about the value of a setting to r.Err.
func (r *Reader) Bad(name, format string, a ...any) { r.Fail(r.S.Bad(name, format, a...)) }

// Exclusive records an error if both settings are set, because only one of them could count.
func (r *Reader) Exclusive(one, other string) {
	if r.S.Has(one) && r.S.Has(other) {
		r.Bad(other, "only one of %q and %q can be set", one, other)
	}
}

// Which returns the name of the first setting if this setting is set and not empty, and otherwise the name of the
// second setting.
func (r *Reader) Which(first, second string) string {
	if r.Text(first) != "" {
		return first
	}
	return second
}

// Text returns a setting, or else the value of the first environment variable in env that is set and not empty, or
// else "".
func (r *Reader) Text(name string, env ...string) string {
	t, _ := r.S.Text(name, env...)
	return t
}

// Must returns a required string setting. If it is not set, or empty, Must adds an error to r.Err and returns "".
func (r *Reader) Must(name string) string {
	t := r.Text(name)
	if t == "" {
		r.Fail(r.S.Missing(name))
	}
	return t
}

// Flag returns a boolean setting, or else the value of the first environment variable in env that is set, or else
// false. If the text is not a boolean, Flag adds an error to r.Err and returns false.
func (r *Reader) Flag(name string, env ...string) bool {
	b, err := r.S.Bool(name, env...)
	r.Fail(err)
	return b
}

// Int returns a setting that is a whole number, or else the value of the first environment variable in env that is set,
// or else the default (otherwise). If the text is not a whole number of 0 or more, Int adds an error to r.Err and
// returns 0.
func (r *Reader) Int(name string, otherwise int, env ...string) int {
	n, err := r.S.Int(name, otherwise, env...)
	r.Fail(err)
	return n
}
