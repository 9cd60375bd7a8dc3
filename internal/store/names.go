package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/subprocess"
)

// CheckName returns an error if a name of a workspace cannot be used in URLs or as the name of a directory.
func CheckName(name string) error {
	if name == "" || name == "." || name == ".." || url.PathEscape(name) != name {
		return fmt.Errorf("the workspace name %q is not allowed. The name must contain only URL safe characters, and no path separators", name)
	}
	return nil
}

// Only checks the name of a workspace for a store whose only workspace is Default. It returns nil for Default, the
// error of CheckName for an invalid name, and ErrOnly for any other name.
func Only(workspace string) error {
	if err := CheckName(workspace); err != nil || workspace == Default {
		return err
	}
	return ErrOnly
}

// Single reports whether the only workspace of a store is Default: Get for another name returns ErrOnly.
func Single(ctx context.Context, s Store) bool {
	_, _, err := s.Get(ctx, "another")
	return errors.Is(err, ErrOnly)
}

// ErrOnly is the error for a workspace other than Default in a store that keeps only one state.
var ErrOnly = errors.New("workspaces not supported")

// ErrName is the end of messages about a workspace name that CheckName accepts, but the service of a store does not.
var ErrName = errors.New("is not allowed in this backend")

// ErrDefault is the error for an attempt to delete the workspace Default.
var ErrDefault = errors.New("the default workspace cannot be deleted")

// Deletable returns an error if a workspace cannot be deleted: ErrDefault for Default, or the error of CheckName.
func Deletable(workspace string) error {
	if workspace == Default {
		return ErrDefault
	}
	return CheckName(workspace)
}

// sortWorkspaces sorts names, with Default as the first. It adds Default if it is missing.
func sortWorkspaces(names []string) []string {
	names = slices.DeleteFunc(names, func(n string) bool { return n == Default })
	slices.Sort(names)
	return slices.Insert(names, 0, Default)
}

// ShellCommand joins words to a command line for the user's shell: a POSIX shell, or PowerShell on Windows. It quotes
// each word that has special characters.
func ShellCommand(words ...string) string {
	var out []string
	for _, w := range words {
		out = append(out, shellWord(w, runtime.GOOS == "windows"))
	}
	return strings.Join(out, " ")
}

func shellWord(w string, windows bool) string {
	plain := "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:="
	if windows {
		plain += `\`
	}
	split := windows && strings.HasPrefix(w, "-") && strings.Contains(w, ".") // PowerShell splits such an option at the dot
	switch {
	case w != "" && !split && strings.Trim(w, plain) == "":
		return w
	case windows:
		return "'" + strings.ReplaceAll(w, "'", "''") + "'"
	}
	return subprocess.Quote(w)
}

// ShellFile returns the name of a file as a word of a command line, in double quotes as Terraform prints it. If the
// shell would change the name between double quotes, ShellFile quotes it for that shell. It escapes characters that
// cannot be printed.
func ShellFile(name string) string { return shellFile(name, runtime.GOOS == "windows") }

func shellFile(name string, windows bool) string {
	special := "\"$`"
	if !windows {
		special += `\!`
	}
	switch {
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }):
		return strconv.Quote(name)
	case strings.ContainsAny(name, special):
		return shellWord(name, windows)
	}
	return `"` + name + `"`
}
