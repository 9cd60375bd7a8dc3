package cliconfig

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/download"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/lethe-iac/lethe/internal/subprocess"
)

// Credentials finds the credentials of a user for hosts. Tokens come from these sources, in this order:
//
//   - the environment (TF_TOKEN_*)
//   - credentials blocks
//   - the file that login writes
//   - a credentials helper
//
// User names and passwords come from the .netrc file. Each token and password is sent only to the host of its entry.
type Credentials struct {
	Settings *Settings
	Getenv   func(string) string
	Environ  []string
	// Learned is called with each secret before its first use, so that output can omit it. It may be nil.
	Learned func(secret, host string)

	mu     sync.Mutex
	helped map[string]string // answers of the credentials helper, by host
	logins []login
	read   bool
}

// Authorize adds the user's credentials for the host of a request to the request. It adds no credentials to a request
// over an unencrypted connection, because others could read them on the way. The exception is a service that the user's
// own configuration names.
func (c *Credentials) Authorize(ctx context.Context, r *http.Request) error {
	host := download.Audience(ctx, r.URL.Host)
	if r.URL.Scheme != "https" && host == r.URL.Host { // the address does not come from the user's configuration, which alone may name services without https
		return nil
	}
	host = strings.TrimSuffix(host, ":443")
	if u := r.URL.User; u != nil { // the address contains credentials, which the user has chosen for it
		password, _ := u.Password()
		c.learn(password, host)
		r.SetBasicAuth(u.Username(), password)
		return nil
	}
	find := c.known
	if download.IsService(ctx, r.URL.Host) {
		find = c.Token
	}
	token, err := find(ctx, host)
	if err != nil {
		return err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
	l, ok, err := c.login(host)
	if err != nil {
		return err
	}
	if ok {
		c.learn(l.password, host)
		r.SetBasicAuth(l.name, l.password)
	}
	return nil
}

// Token returns the token for a host. It returns "" if no source has a token, and an error if a source cannot be read
// or the credentials helper fails.
func (c *Credentials) Token(ctx context.Context, host string) (string, error) {
	token, err := c.known(ctx, host)
	if host = compared(host); err == nil && token == "" && len(c.Settings.Helper) > 0 {
		token, err = c.ask(ctx, host)
	}
	c.learn(token, host)
	return token, err
}

// known returns the token for a host from which files are downloaded. It uses earlier answers of the credentials
// helper, but does not call it: a helper knows only registries, and may ask the user or fail for other hosts.
func (c *Credentials) known(_ context.Context, host string) (string, error) {
	host = compared(host)
	token := cmp.Or(c.environment(host), c.Settings.Credentials[host])
	var err error
	if token == "" {
		token, err = c.kept(host)
	}
	if token == "" {
		c.mu.Lock()
		token = c.helped[host]
		c.mu.Unlock()
	}
	c.learn(token, host)
	return token, err
}

// compared returns a host in the form of Settings. It returns an invalid name unchanged, because no credentials can
// exist for it.
func compared(host string) string {
	if ascii, err := addr.Host(host); err == nil {
		return ascii
	}
	return host
}

func (c *Credentials) learn(secret, host string) {
	if c.Learned != nil && secret != "" {
		c.Learned(secret, host)
	}
}

// environment returns the value of the environment variable TF_TOKEN_HOST for a host, or "" if it is not set. In HOST,
// "_" represents a dot and "__" a hyphen, because shells allow neither in names.
func (c *Credentials) environment(host string) string {
	for _, v := range c.Environ {
		name, value, _ := strings.Cut(v, "=")
		coded, ok := subprocess.CutPrefix(name, "TF_TOKEN_")
		if !ok {
			continue
		}
		coded = strings.ReplaceAll(strings.ReplaceAll(coded, "__", "-"), "_", ".")
		if compared(coded) == host {
			return value
		}
	}
	return ""
}

// ask asks the credentials helper for a token, once for each host.
func (c *Credentials) ask(ctx context.Context, host string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if token, ok := c.helped[host]; ok {
		return token, nil
	}
	out, err := c.help(ctx, "get", host, nil)
	if err != nil {
		return "", err
	}
	var doc struct{ Token string }
	if err := json.Unmarshal(out, &doc); err != nil {
		return "", fmt.Errorf("the credentials helper %q did not answer with a JSON object", c.Settings.Helper[0])
	}
	if c.helped == nil {
		c.helped = map[string]string{}
	}
	c.helped[host] = doc.Token
	return doc.Token, nil
}

// help runs the credentials helper with the verb "get", "store" or "forget" for a host, and returns its output. Errors
// contain the helper's standard error, but not its output, which may contain secrets.
func (c *Credentials) help(ctx context.Context, verb, host string, input []byte) ([]byte, error) {
	name := c.Settings.Helper[0]
	program, err := c.helper(name)
	if err != nil {
		return nil, err
	}
	cmd := subprocess.Command(ctx, program, append(slices.Clone(c.Settings.Helper[1:]), verb, host)...)
	cmd.SysProcAttr = subprocess.OnTerminal(syscall.SIGTERM) // the helper may ask the user on the terminal
	var out, stderr bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Environ, bytes.NewReader(input), &out, &stderr
	if err := subprocess.Run(cmd); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && stderr.Len() > 0 {
			err = errors.New(strings.TrimSpace(stderr.String()))
		}
		return nil, fmt.Errorf("the credentials helper %q could not %s the credentials for %s: %w", name, verb, host, err)
	}
	return out.Bytes(), nil
}

// helper finds the program of a credentials helper in the user's plugin directories, as Terraform and OpenTofu do.
func (c *Credentials) helper(name string) (string, error) {
	data := userDir(c.Getenv)
	if data == "" {
		return "", fmt.Errorf("the credentials helper %q cannot be found, because %s is not set", name, homeVariable)
	}
	plugins, program := filepath.Join(data, "plugins"), "terraform-credentials-"+name+executable
	for _, dir := range []string{plugins, filepath.Join(plugins, runtime.GOOS+"_"+runtime.GOARCH)} {
		path := filepath.Join(dir, program)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", fmt.Errorf("the credentials_helper block of the CLI configuration needs the program %s in %s, which does not exist", program, plugins)
}

// login is an entry of a .netrc file.
type login struct{ machine, name, password string }

func (c *Credentials) login(host string) (login, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.read {
		text, err := os.ReadFile(c.netrcFile())
		if err != nil && c.Getenv("NETRC") != "" && !errors.Is(err, fs.ErrNotExist) {
			return login{}, false, fmt.Errorf("the file of user names and passwords that NETRC names could not be read: %w", err)
		}
		c.logins, c.read = netrc(string(text)), true // an unreadable file counts as empty, unless the variable NETRC names it
	}
	name, _, _ := strings.Cut(host, ":")
	for _, want := range []string{host, name} {
		for _, l := range c.logins {
			if l.machine == want {
				return l, true, nil
			}
		}
	}
	return login{}, false, nil
}

// netrcFile returns the path of the file of user names and passwords, or "" if neither NETRC nor a home directory is
// set. On Windows, curl and Git also read the name with an underscore.
func (c *Credentials) netrcFile() string {
	file, home := c.Getenv("NETRC"), paths.Home(c.Getenv)
	if file != "" || home == "" {
		return file
	}
	file = filepath.Join(home, ".netrc")
	if underscored := filepath.Join(home, "_netrc"); runtime.GOOS == "windows" && !exists(file) && exists(underscored) {
		return underscored
	}
	return file
}

// netrc returns the entries of a .netrc file. It ignores the entry called default, because a password is sent only to a
// host that an entry names.
func netrc(text string) []login {
	var out []login
	words := strings.Fields(withoutMacros(text))
	var at *login
	for i := 0; i < len(words); i++ {
		value := ""
		if i+1 < len(words) {
			value = words[i+1]
		}
		switch words[i] {
		case "machine":
			out = append(out, login{machine: value})
			at = &out[len(out)-1]
		case "default":
			at = nil
			continue
		case "login":
			if at != nil {
				at.name = value
			}
		case "password":
			if at != nil {
				at.password = value
			}
		}
		i++
	}
	return out
}

// withoutMacros removes comments, and macro definitions, which end at the next empty line.
func withoutMacros(text string) string {
	var b strings.Builder
	macro := false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "macdef"):
			macro = true
		case trimmed == "":
			macro = false
		case !macro && !strings.HasPrefix(trimmed, "#"):
			b.WriteString(line)
		}
	}
	return b.String()
}

// kept returns the token for a host in the file that login writes. It returns "" if the file has no token for the host.
func (c *Credentials) kept(host string) (string, error) {
	_, tokens, err := c.readFile()
	for name, entry := range tokens {
		if compared(name) == host {
			doc, _ := entry.(map[string]any)
			token, ok := doc["token"].(string)
			if !ok {
				err = fmt.Errorf("the entry in %s for %s must have the form {\"token\": \"TOKEN\"}", c.file(), host)
			}
			return token, err
		}
	}
	return "", err
}

// file returns the path of the file with tokens, which Terraform and OpenTofu share. It returns "" if no directory for
// it is known.
func (c *Credentials) file() string {
	dir := dataDir(c.Getenv)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, keptName)
}

// readFile reads the file with tokens. It returns the whole document, and the part of it with the entries for hosts. If
// the file does not exist, tokens is empty.
func (c *Credentials) readFile() (doc, tokens map[string]any, err error) {
	doc = map[string]any{}
	text, err := os.ReadFile(c.file())
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, nil, err
	default:
		if err := json.Unmarshal(text, &doc); err != nil {
			where := c.file()
			if wrong := (*json.SyntaxError)(nil); errors.As(err, &wrong) {
				where += fmt.Sprintf(" line %d", 1+bytes.Count(text[:wrong.Offset], []byte("\n")))
			}
			return nil, nil, fmt.Errorf("%s is not a JSON object: %w", where, jsontext.Plain(err))
		}
	}
	tokens, ok := doc["credentials"].(map[string]any)
	switch {
	case doc == nil: // the file contains the JSON value null
		return nil, nil, fmt.Errorf("%s is not a JSON object", c.file())
	case doc["credentials"] == nil:
		tokens = map[string]any{}
		doc["credentials"] = tokens
	case !ok:
		return nil, nil, fmt.Errorf("\"credentials\" in %s is not a JSON object", c.file())
	}
	return doc, tokens, nil
}

// Keeper returns a description of the place where Keep stores tokens.
func (c *Credentials) Keeper() string {
	if len(c.Settings.Helper) > 0 {
		return fmt.Sprintf("the credentials helper %q", c.Settings.Helper[0])
	}
	return c.file()
}

// Plain reports whether Keep stores tokens in a file, which all programs of the user can read.
func (c *Credentials) Plain() bool { return len(c.Settings.Helper) == 0 }

// Written reports whether the user has written a token for a host into a CLI configuration file or into the
// environment. Such a token takes precedence over a token that Keep has stored.
func (c *Credentials) Written(host string) bool {
	host = compared(host)
	return c.environment(host) != "" || c.Settings.Credentials[host] != ""
}

// Keep stores a token for a host: in the credentials helper if one is configured, otherwise in a file that only the
// user can read.
func (c *Credentials) Keep(ctx context.Context, host, token string) error {
	host = compared(host)
	if !c.Plain() {
		doc, err := json.Marshal(map[string]string{"token": token})
		if err == nil {
			_, err = c.help(ctx, "store", host, doc)
		}
		return err
	}
	return c.change(func(tokens map[string]any) {
		drop(tokens, host)
		tokens[host] = map[string]string{"token": token}
	})
}

// drop removes the entries for a host, in any spelling of the host.
func drop(tokens map[string]any, host string) {
	maps.DeleteFunc(tokens, func(name string, _ any) bool { return compared(name) == host })
}

// Forget removes the stored token for a host, and reports whether a token was stored. With a credentials helper, it
// reports whether the helper succeeded, because Lethe does not know whether a token was stored.
func (c *Credentials) Forget(ctx context.Context, host string) (bool, error) {
	host = compared(host)
	if !c.Plain() {
		_, err := c.help(ctx, "forget", host, nil)
		return err == nil, err
	}
	_, tokens, err := c.readFile()
	before := len(tokens)
	if drop(tokens, host); err != nil || len(tokens) == before {
		return false, err
	}
	return true, c.change(func(tokens map[string]any) { drop(tokens, host) })
}

// change rewrites the file with tokens after f has changed them.
func (c *Credentials) change(f func(tokens map[string]any)) error {
	doc, tokens, err := c.readFile()
	if err != nil {
		return err
	}
	if c.file() == "" {
		return errors.New("the file of tokens has no directory, because HOME is not set")
	}
	f(tokens)
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(disk.Replace(disk.OS, c.file(), append(text, '\n')), os.Chmod(c.file(), 0o600))
}
