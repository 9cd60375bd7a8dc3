package store

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Settings are what a store is opened with.
type Settings struct {
	Config cty.Value           // of the driver's schema, known and unmarked; may be null
	Dir    string              // what relative paths are relative to
	FS     disk.FS             // for stores in files; nil: the real one
	Getenv func(string) string // what the configuration leaves out; nil: nothing
	Agent  string              // how a client names itself to servers; "": as its library does
	Schema *schema.Block       // of Config; may be nil
	Learn  func(text string)   // called with each value of a sensitive setting; may be nil
	Hosts  Hosts               // for stores of services that have a host; may be nil

	Blank bool              // an empty text is as one that is not set, so that the environment counts
	Tell  func(text string) // called with what a user should know meanwhile: that a request is retried, say; may be nil
	Stop  context.Context   // ends retries, also of writes; may be nil

	within cty.Path // what In has gone into
}

// Hosts know what hosts offer, and who asks them.
type Hosts interface {
	// Service finds the base address of a service of a host, such as "tfe.v2", ending in a slash.
	Service(ctx context.Context, host, service string) (*url.URL, error)
	// Token is what the user has for a host; "" for nothing.
	Token(ctx context.Context, host string) (string, error)
}

// File returns the path of a file that a setting names. One that is not there as it is written may begin with "~", and
// contain environment variables.
func (s Settings) File(path string) string {
	if path == "" {
		return ""
	}
	at := paths.In(s.Dir, path)
	if _, err := os.Stat(at); err == nil || !strings.ContainsAny(path, "~$") {
		return at
	}
	getenv := s.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	path = os.Expand(path, getenv)
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		home := getenv("HOME")
		if home == "" {
			home, _ = os.UserHomeDir()
		}
		path = filepath.Join(home, rest)
	}
	return paths.In(s.Dir, path)
}

// Schema is that of a driver's settings, in any order.
func Schema(attrs ...*schema.Attr) *schema.Block {
	slices.SortFunc(attrs, func(a, b *schema.Attr) int { return strings.Compare(a.Name, b.Name) })
	return &schema.Block{Attrs: attrs}
}

// SettingError says what is wrong with one setting of a driver.
type SettingError struct {
	Path    cty.Path // of the setting
	Missing bool     // it is not set, and has to be
	Err     error
}

func (e *SettingError) Error() string { return e.Err.Error() }
func (e *SettingError) Unwrap() error { return e.Err }

// Bad is an error about the value of a setting. Its text says which setting it is about.
func (s Settings) Bad(name, format string, a ...any) error {
	return &SettingError{Path: s.path(name), Err: fmt.Errorf(format, a...)}
}

// Missing is an error about a setting that is set neither in the configuration nor by any of these environment
// variables.
func (s Settings) Missing(name string, env ...string) error {
	err := fmt.Errorf("the argument %q is required, but no definition was found", name)
	if len(env) > 0 {
		err = fmt.Errorf("%w, and the environment variable %s is not set either", err, strings.Join(env, " or "))
	}
	return &SettingError{Path: s.path(name), Missing: true, Err: err}
}

func (s Settings) path(name string) cty.Path {
	if name == "" { // it is a setting of the environment alone
		return s.within
	}
	return append(slices.Clip(s.within), cty.GetAttrStep{Name: name})
}

// Secret tells of a part of a setting that is secret: a password in an address.
func (s Settings) Secret(text string) {
	if s.Learn != nil && text != "" {
		s.Learn(text)
	}
}

// secret reports whether a setting is sensitive.
func (s Settings) secret(name string) bool {
	return s.Schema != nil && s.Schema.Attr(name) != nil && s.Schema.Attr(name).Sensitive
}

// value gives a setting in a type; false if it is not set.
func (s Settings) value(name string, ty cty.Type) (cty.Value, bool) {
	c := s.Config
	if c == cty.NilVal || c.IsNull() || !c.Type().IsObjectType() || !c.Type().HasAttribute(name) {
		return cty.NilVal, false
	}
	v, err := convert.Convert(c.GetAttr(name), ty)
	return v, err == nil && !v.IsNull() && v.IsKnown()
}

// Text gives a setting that is a string, or else what the first of the environment variables says that is
// set and not empty; false if none is.
func (s Settings) Text(name string, env ...string) (string, bool) {
	text, ok := s.text(name, env)
	if s.secret(name) {
		s.Secret(text)
	}
	return text, ok
}

func (s Settings) text(name string, env []string) (string, bool) {
	if v, ok := s.value(name, cty.String); ok && (v.AsString() != "" || !s.Blank) {
		return v.AsString(), true
	}
	for _, e := range env {
		if s.Getenv != nil && s.Getenv(e) != "" {
			return s.Getenv(e), true
		}
	}
	return "", false
}

// Bool gives a setting that is a bool, false where it is not set. The error is about text that is none.
func (s Settings) Bool(name string, env ...string) (bool, error) {
	text, ok := s.Text(name, env...)
	if !ok {
		return false, nil
	}
	b, err := strconv.ParseBool(text)
	if err != nil {
		return false, s.Bad(name, "the setting %q must be true or false, not %q", named(name, env), text)
	}
	return b, nil
}

// Int gives a setting that is a whole number, otherwise where it is not set.
func (s Settings) Int(name string, otherwise int, env ...string) (int, error) {
	text, ok := s.Text(name, env...)
	if !ok {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, s.Bad(name, "the setting %q must be a whole number of 0 or more, not %q", named(name, env), text)
	}
	return n, nil
}

// named is how a message names a setting: one of the environment alone has no other name.
func named(name string, env []string) string {
	if name == "" {
		return strings.Join(env, " or ")
	}
	return name
}

// List gives a setting that is a list or a set of strings; nil where it is not set.
func (s Settings) List(name string) []string {
	v, ok := s.value(name, cty.List(cty.String))
	if !ok {
		return nil
	}
	var out []string
	for _, v := range v.AsValueSlice() {
		if !v.IsNull() {
			out = append(out, v.AsString())
		}
	}
	return out
}

// In are the settings in a setting that has attributes of its own.
func (s Settings) In(name string) Settings {
	in := s
	in.Schema, in.Config, in.within = nil, cty.NilVal, s.path(name)
	if c := s.Config; c != cty.NilVal && !c.IsNull() && c.Type().IsObjectType() && c.Type().HasAttribute(name) {
		in.Config = c.GetAttr(name)
	}
	if s.Schema != nil && s.Schema.Attr(name) != nil && s.Schema.Attr(name).Object != nil {
		in.Schema = &schema.Block{Attrs: s.Schema.Attr(name).Object.Attrs}
	}
	return in
}

// Set reports whether there are any settings.
func (s Settings) Set() bool { return s.Config != cty.NilVal && !s.Config.IsNull() }

// Texts gives a setting that is a map of strings; nil where it is not set.
func (s Settings) Texts(name string) map[string]string {
	v, ok := s.value(name, cty.Map(cty.String))
	if !ok {
		return nil
	}
	out := map[string]string{}
	for k, v := range v.AsValueMap() {
		if !v.IsNull() {
			out[k] = v.AsString()
			if s.secret(name) {
				s.Secret(out[k])
			}
		}
	}
	return out
}
