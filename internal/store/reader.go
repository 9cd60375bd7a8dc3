package store

import (
	"errors"
	"slices"

	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// Attr is a setting of a driver.
func Attr(name string, ty cty.Type, description string) *schema.Attr {
	return &schema.Attr{Name: name, Type: ty, Optional: true, Description: description}
}

// SecretAttr is a setting that is a secret: text that is kept from view, and that may be ephemeral.
func SecretAttr(name, description string) *schema.Attr {
	return &schema.Attr{Name: name, Type: cty.String, Optional: true, Sensitive: true, Description: description}
}

// Reader reads settings, and collects the mistakes in Err; Mistakes returns each of them.
type Reader struct {
	S   Settings
	Err error
}

// Fail notes a mistake, if err is one.
func (r *Reader) Fail(err error) {
	r.Err = errors.Join(slices.Concat(Mistakes(r.Err), Mistakes(err))...)
}

// Mistakes returns the mistakes that a driver found in its settings: the error itself, or the errors that it joins.
func Mistakes(err error) []error {
	switch joined, is := err.(interface{ Unwrap() []error }); {
	case is:
		return joined.Unwrap()
	case err != nil:
		return []error{err}
	}
	return nil
}

// Bad notes a mistake in the value of a setting.
func (r *Reader) Bad(name, format string, a ...any) { r.Fail(r.S.Bad(name, format, a...)) }

// Which returns the one of two settings that is set; the second if the first is not set.
func (r *Reader) Which(first, second string) string {
	if r.Text(first) != "" {
		return first
	}
	return second
}

// Text returns a setting, or the value of an environment variable; "" if neither is set.
func (r *Reader) Text(name string, env ...string) string {
	t, _ := r.S.Text(name, env...)
	return t
}

// Must returns a setting that a store requires.
func (r *Reader) Must(name string) string {
	t := r.Text(name)
	if t == "" {
		r.Fail(r.S.Missing(name))
	}
	return t
}

// Flag returns a boolean setting, false if it is not set.
func (r *Reader) Flag(name string, env ...string) bool {
	b, err := r.S.Bool(name, env...)
	r.Fail(err)
	return b
}

// Int returns a setting that is a whole number.
func (r *Reader) Int(name string, otherwise int, env ...string) int {
	n, err := r.S.Int(name, otherwise, env...)
	r.Fail(err)
	return n
}
