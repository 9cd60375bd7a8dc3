package cliconfig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/lethe-iac/lethe/internal/state/disk"
)

// Keeper says where tokens are kept that users get by logging in.
func (c *Credentials) Keeper() string {
	if len(c.Settings.Helper) > 0 {
		return fmt.Sprintf("the credentials helper %q", c.Settings.Helper[0])
	}
	return c.file()
}

// Plain reports whether tokens are kept in a file that all programs of the user can read.
func (c *Credentials) Plain() bool { return len(c.Settings.Helper) == 0 }

// Written reports whether the user wrote a token for a host into a CLI configuration file, or into the environment:
// it comes before what is kept.
func (c *Credentials) Written(host string) bool {
	return c.environment(host) != "" || c.Settings.Credentials[host] != ""
}

// Keep keeps a token for a host: it hands it to the credentials helper where there is one, and writes it into a file
// for the user alone otherwise.
func (c *Credentials) Keep(ctx context.Context, host, token string) error {
	if !c.Plain() {
		doc, err := json.Marshal(map[string]string{"token": token})
		if err == nil {
			_, err = c.help(ctx, "store", host, doc)
		}
		return err
	}
	return c.change(func(tokens map[string]any) { tokens[host] = map[string]string{"token": token} })
}

// Forget drops the token that is kept for a host, and reports whether there was one; of a credentials helper that is
// not known.
func (c *Credentials) Forget(ctx context.Context, host string) (bool, error) {
	if !c.Plain() {
		_, err := c.help(ctx, "forget", host, nil)
		return err == nil, err
	}
	if token, err := c.kept(host); token == "" {
		return false, err
	}
	return true, c.change(func(tokens map[string]any) { delete(tokens, host) })
}

// change writes the file anew.
func (c *Credentials) change(f func(tokens map[string]any)) error {
	doc, tokens, err := c.readFile()
	if err != nil {
		return err
	}
	f(tokens)
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(disk.Replace(disk.OS, c.file(), append(text, '\n')), os.Chmod(c.file(), 0o600))
}
