package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// CheckName returns an error if a workspace's name cannot be used in URLs or as the name of a directory.
func CheckName(name string) error {
	if name == "" || name == "." || name == ".." || url.PathEscape(name) != name {
		return fmt.Errorf("the workspace name %q is not allowed. The name must contain only URL safe characters, and no path separators", name)
	}
	return nil
}

// Only is CheckName for stores without workspaces besides Default.
func Only(workspace string) error {
	if err := CheckName(workspace); err != nil || workspace == Default {
		return err
	}
	return ErrOnly
}

// Single reports whether a store keeps one state, and has no workspaces besides Default.
func Single(ctx context.Context, s Store) bool {
	_, _, err := s.Get(ctx, "another")
	return errors.Is(err, ErrOnly)
}

// ErrOnly is the answer of stores that keep one state to those who want another.
var ErrOnly = errors.New("workspaces not supported")

// ErrName is the end of messages about a name of a workspace that CheckName allows and a service does not.
var ErrName = errors.New("is not allowed in this backend")

// ErrDefault is the answer to deleting the workspace Default.
var ErrDefault = errors.New("the default workspace cannot be deleted")

// Deletable is CheckName for a workspace that is to be deleted.
func Deletable(workspace string) error {
	if workspace == Default {
		return ErrDefault
	}
	return CheckName(workspace)
}

// sortWorkspaces puts Default first, whether or not it was in the list.
func sortWorkspaces(names []string) []string {
	names = slices.DeleteFunc(names, func(n string) bool { return n == Default })
	slices.Sort(names)
	return slices.Insert(names, 0, Default)
}

// ShellCommand returns a command for a POSIX shell. It quotes each word that needs it.
func ShellCommand(words ...string) string {
	var out []string
	for _, w := range words {
		if w == "" || strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=") != "" {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}
