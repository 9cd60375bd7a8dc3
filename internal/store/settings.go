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

	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Settings are the settings for opening a store, or a key provider for encryption.
type Settings struct {
	Config cty.Value           // has the type of the driver's schema; known and unmarked; may be null
	Dir    string              // the base of relative paths in settings
	FS     disk.FS             // for stores in files; nil: the real file system
	Getenv func(string) string // reads environment variables for missing settings; nil: none
	Agent  string              // the User-Agent of requests to servers; "" means the default of the HTTP library
	Schema *schema.Block       // the schema of Config; nil means that no setting is sensitive
	Learn  func(text string)   // called with each sensitive value, so that the caller hides it in output; nil means not called
	Hosts  Hosts               // for stores that are services of a host; nil: such stores cannot be opened

	Blank  bool              // an empty string setting counts as not set, so that the environment variables count
	Notify func(text string) // shows a message to the user, such as about a retried request; nil: messages are dropped
	Stop   context.Context   // when it ends, retries end, including retries of writes; nil means never

	within cty.Path // the path of the nested setting that In has selected
}

// Hosts finds the addresses of services on hosts, and the user's credentials for these hosts.
type Hosts interface {
	// Service returns the base address of a service of a host, such as "tfe.v2". It ends with a slash.
	Service(ctx context.Context, host, service string) (*url.URL, error)
	// Token returns the user's token for a host, or "" if the user has none.
	Token(ctx context.Context, host string) (string, error)
}

// File returns the path of a file that a setting names, relative to s.Dir. If no file with the literal name exists,
// File expands environment variables and "~" at the beginning. An empty path stays empty.
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
		path = filepath.Join(paths.Home(getenv), rest)
	}
	return paths.In(s.Dir, path)
}

// Schema returns a schema with these attributes, sorted by name.
func Schema(attrs ...*schema.Attr) *schema.Block {
	slices.SortFunc(attrs, func(a, b *schema.Attr) int { return strings.Compare(a.Name, b.Name) })
	return &schema.Block{Attrs: attrs}
}

// SettingError describes a mistake in one setting of a driver.
type SettingError struct {
	Path    cty.Path // the path of the setting
	Missing bool     // the setting is required, but not set
	Err     error
}

func (e *SettingError) Error() string { return e.Err.Error() }
func (e *SettingError) Unwrap() error { return e.Err }

// Bad returns a *SettingError about the value of a setting. The formatted text must name the setting.
func (s Settings) Bad(name, format string, a ...any) error {
	return &SettingError{Path: s.path(name), Err: fmt.Errorf(format, a...)}
}

// Missing returns a *SettingError about a required setting that is set neither in the configuration nor by one of the
// environment variables env.
func (s Settings) Missing(name string, env ...string) error {
	err := fmt.Errorf("the argument %q is required, but no definition was found", name)
	if len(env) > 0 {
		err = fmt.Errorf("%w, and the environment variable %s is not set either", err, strings.Join(env, " or "))
	}
	return &SettingError{Path: s.path(name), Missing: true, Err: err}
}

func (s Settings) path(name string) cty.Path {
	if name == "" { // the setting has no name in the configuration; it exists only in the environment
		return s.within
	}
	return append(slices.Clip(s.within), cty.GetAttrStep{Name: name})
}

// Secret passes a secret part of a setting, such as the password in an address, to s.Learn, which hides it in output.
func (s Settings) Secret(text string) {
	if s.Learn != nil && text != "" {
		s.Learn(text)
	}
}

// secret reports whether a setting is sensitive.
func (s Settings) secret(name string) bool {
	return s.Schema != nil && s.Schema.Attr(name) != nil && s.Schema.Attr(name).Sensitive
}

// value returns a setting converted to the type ty. It returns false if the setting is not set, null or unknown, or
// cannot be converted.
func (s Settings) value(name string, ty cty.Type) (cty.Value, bool) {
	c := s.Config
	if c == cty.NilVal || c.IsNull() || !c.Type().IsObjectType() || !c.Type().HasAttribute(name) {
		return cty.NilVal, false
	}
	v, err := convert.Convert(c.GetAttr(name), ty)
	return v, err == nil && !v.IsNull() && v.IsKnown()
}

// Has reports whether a setting is set in the configuration, and is not empty.
func (s Settings) Has(name string) bool {
	c := s.Config
	if c == cty.NilVal || c.IsNull() || !c.Type().IsObjectType() || !c.Type().HasAttribute(name) {
		return false
	}
	v := c.GetAttr(name)
	switch {
	case v.IsNull() || !v.IsKnown():
		return false
	case v.Type() == cty.String:
		return v.AsString() != ""
	case v.CanIterateElements():
		return v.LengthInt() > 0
	}
	return true
}

// Text returns a string setting, or else the value of the first environment variable in env that is set and not empty.
// It returns false if none of them is set. An empty setting counts as set unless s.Blank is true. If the setting is
// sensitive, Text passes the value to s.Learn.
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

// Bool returns a boolean setting, or else the value of the first environment variable in env that is set and not empty,
// or else false. It returns an error if the text is not a boolean.
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

// Int returns a setting that is a whole number, or else the value of the first environment variable in env that is set
// and not empty, or else the default (otherwise). It returns an error if the text is not a whole number of 0 or more.
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

// named returns the name of a setting for messages. For a setting that exists only in the environment, it returns the
// names of its environment variables.
func named(name string, env []string) string {
	if name == "" {
		return strings.Join(env, " or ")
	}
	return name
}

// List returns a setting that is a list or a set of strings, without null elements. It returns nil if the setting is
// not set.
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

// In returns a nested setting as Settings, whose methods then read its attributes. If the nested setting is not set,
// Set returns false for the result.
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

// Set reports whether the settings exist: the Config is neither missing nor null.
func (s Settings) Set() bool { return s.Config != cty.NilVal && !s.Config.IsNull() }

// Texts returns a setting that is a map of strings, without null elements. It returns nil if the setting is not set. If
// the setting is sensitive, Texts passes the values to s.Learn.
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
