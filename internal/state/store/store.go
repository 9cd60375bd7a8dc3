// Package store keeps state files: bytes by workspace, and a lock.
//
// A Store is five methods. It knows nothing of what is in the bytes, so encryption and retrying
// are stores around stores, and every store passes the same tests (package storetest). What
// distinguishes stores for users is a Driver: a name, a schema for its settings, and a function
// that opens one.
//
// Two things keep writers apart. The lock says who is working, and is for people: it can be
// switched off, and it can be broken. The Version is for correctness: a Put says which content it
// replaces, and fails if that is not what is there; nothing switches that off.
//
// The local store is in this package; stores that need more than files have packages of their own.
package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/schema"
)

// Default is the workspace that always exists.
const Default = "default"

// Version says which content a store holds: an ETag, a generation, a checksum. It means nothing
// outside the store it came from. "" is nothing at all.
type Version string

// Digest is a version for stores whose services have none: the SHA-256 of a state, in hexadecimal.
func Digest(data []byte) Version {
	sum := sha256.Sum256(data)
	return Version(hex.EncodeToString(sum[:]))
}

// Store keeps the state of any number of workspaces. It may be used from many goroutines.
type Store interface {
	// Get gives a workspace's state, and nil with the Version "" if it has none.
	Get(ctx context.Context, workspace string) ([]byte, Version, error)
	// Put replaces the state that was of version prev ("": there was none). If it is not of that
	// version any more the error is a *StaleError, and nothing was written. After any error the
	// old state is whole. The workspace exists from then on.
	Put(ctx context.Context, workspace string, data []byte, prev Version) (Version, error)
	// Delete removes a workspace and its state. Default is never removed.
	Delete(ctx context.Context, workspace string) error
	// List names the workspaces, Default first and the others sorted.
	List(ctx context.Context) ([]string, error)
	// Lock takes the lock of a workspace, which need not exist and is not made by that. If another
	// has it, the error is a *LockError; Lock does not wait (Acquire does). unlock may be called
	// once; it works even if the context of Lock is over.
	Lock(ctx context.Context, workspace string, who LockInfo) (unlock func(context.Context) error, err error)
}

// Breaker is a store whose locks can be taken from others by their ID. If there is no lock, or one with
// another ID, the error is a *LockError.
type Breaker interface {
	// Break takes the lock with that ID away. The error is a *LockError if the lock has another one.
	Break(ctx context.Context, workspace, id string) error
}

// Filer is a store that keeps its states in files of this machine.
type Filer interface {
	// File is the path of a workspace's state, where its journal stands beside it.
	File(workspace string) string
}

// Placed is a store that can tell its places from those of others.
type Placed interface {
	// Place names the place of a workspace's state by what the store is told, with what it takes where it is told nothing.
	// Who asks is no part of it, and no credential is in it.
	Place(workspace string) string
}

// Governed is a store whose service has a say in what is done with a workspace.
type Governed interface {
	// Permit reports why something is not to be done: runs says that it plans or applies, and not only works with the
	// state; version is that of the language whose states are written, "" if it is no matter.
	Permit(ctx context.Context, workspace string, runs bool, version string) error
}

// Namer is a store with one workspace, which has a name.
type Namer interface {
	// Only is that name; "" where it is the default one, or where there are more.
	Only() string
	// Prepare makes it where it is not there yet.
	Prepare(ctx context.Context) error
}

// Sharer is a store that may keep its states in the place of another, in another form.
type Sharer interface {
	// Share gives both stores as those that states are moved between, one after the other, if they have one
	// place: a state that was moved is no more in the source, one that was not is not yet in the target, and
	// the locks of the source are those of the target. They are nil if the form is the same, too, so that
	// there is nothing to move.
	Share(from Store) (source, target Store, ok bool)
}

// Plain is a store that cannot keep what is encrypted.
type Plain interface {
	// Plain says why, as the end of a sentence.
	Plain() string
}

// DamagedError says of a state that is there that it is not what was written. It can be replaced all the same: Version is
// the one that Put is told.
type DamagedError struct {
	Version Version
	Data    []byte // what there is of it, as far as that makes a text
	Err     error
}

func (e *DamagedError) Error() string { return e.Err.Error() }
func (e *DamagedError) Unwrap() error { return e.Err }

// Sentence is an error of a store as the beginning of a sentence.
func Sentence(err error) string {
	text := err.Error()
	if len(text) > 1 && text[1] >= 'a' && text[1] <= 'z' || strings.HasPrefix(text, "a ") { // else it may begin with a name
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return text
}

// StaleError says that the state changed since it was read.
type StaleError struct {
	Workspace string
	Missing   bool // there is no state any more
}

func (e *StaleError) Error() string {
	if e.Missing {
		return fmt.Sprintf("the state of workspace %q was removed by someone else since it was read", e.Workspace)
	}
	return fmt.Sprintf("the state of workspace %q was changed by someone else since it was read", e.Workspace)
}

// CheckName reports what is wrong with a workspace's name: it has to be usable in URLs and as the
// name of a directory.
func CheckName(name string) error {
	if name == "" || name == "." || name == ".." || url.PathEscape(name) != name {
		return fmt.Errorf("the workspace name %q is not allowed. The name must contain only URL safe characters, and no path separators", name)
	}
	return nil
}

// Only is what CheckName is for stores that have no workspaces besides Default.
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

// ErrName ends what stores say of the name of a workspace that CheckName allows, and their services do not.
var ErrName = errors.New("is not allowed in this backend")

// ErrDefault is the answer to deleting the workspace Default.
var ErrDefault = errors.New("the default workspace cannot be deleted")

// Deletable is what CheckName is for a workspace that is to be deleted.
func Deletable(workspace string) error {
	if workspace == Default {
		return ErrDefault
	}
	return CheckName(workspace)
}

// Driver is a kind of store.
type Driver struct {
	Name   string
	Schema *schema.Block // of its settings
	Open   func(ctx context.Context, s Settings) (Store, error)
}

// UnansweredError says that a request got no answer, or one that leaves open whether it was carried
// out: the connection broke, or the server failed while it worked. Careful settles what it left.
type UnansweredError struct {
	Err    error
	Unsent bool          // the request was not carried out: there was no token for it, no connection, or the service was busy
	After  time.Duration // how long the service asks to wait; 0: it does not say
}

func (e *UnansweredError) Error() string { return e.Err.Error() }
func (e *UnansweredError) Unwrap() error { return e.Err }

// Unsent is an error of what a request needs: if it is an *UnansweredError, it says that the request was not made.
func Unsent(err error) error {
	var lost *UnansweredError
	if errors.As(err, &lost) {
		lost.Unsent = true
	}
	return err
}

// Drivers are the kinds of store a program knows.
type Drivers []Driver

// Find gives the driver of that name.
func (d Drivers) Find(name string) (Driver, bool) {
	i := slices.IndexFunc(d, func(d Driver) bool { return d.Name == name })
	if i < 0 {
		return Driver{}, false
	}
	return d[i], true
}

// Names lists the names of the drivers, sorted.
func (d Drivers) Names() []string {
	var out []string
	for _, d := range d {
		out = append(out, d.Name)
	}
	slices.Sort(out)
	return out
}

// sortWorkspaces puts Default first, whether or not it was in the list.
func sortWorkspaces(names []string) []string {
	names = slices.DeleteFunc(names, func(n string) bool { return n == Default })
	slices.Sort(names)
	return slices.Insert(names, 0, Default)
}

// Wrapper is a store around another.
type Wrapper interface{ Unwrap() Store }

// As finds what a store, or the one inside of it, can do besides.
func As[T any](s Store) (T, bool) {
	for s != nil {
		if t, ok := s.(T); ok {
			return t, true
		}
		w, ok := s.(Wrapper)
		if !ok {
			break
		}
		s = w.Unwrap()
	}
	var none T
	return none, false
}

// Sealer is a store that encrypts, and does so for what is written beside it.
type Sealer interface {
	// Encrypts reports whether Seal encrypts.
	Encrypts() bool
	Seal(ctx context.Context, plain []byte) ([]byte, error)
	// Open is the opposite of Seal. What is not encrypted is an error where that may not be.
	Open(ctx context.Context, data []byte) ([]byte, error)
	// AcceptsPlain returns an error if files that are not encrypted are refused.
	AcceptsPlain() error
	// Outdated reports whether the state of a workspace, as it was read last, would be encrypted otherwise
	// if it was written now.
	Outdated(workspace string) bool
}
