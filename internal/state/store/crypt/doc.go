// Package crypt encrypts states and plans, in the file format of OpenTofu.
//
// An encrypted file is one JSON object, an envelope:
//
//	serial, lineage     of the state in it, in the clear; plans have none
//	meta                what key providers need to make the same key again: a name, and bytes
//	encrypted_data      bytes of the method
//	encryption_version  "v0"
//
// A Source makes keys, a Cipher encrypts with them, and a Target says which Cipher writes a kind of file, and
// which may have written what is read:
//
//	Target ── Write, Read ──> Cipher ── Keys ──> Source ── Chain ──> Source
//
// What makes keys is a Provider, what encrypts is a Method; ProviderKinds and MethodKinds list them with the
// schemas of their settings. New settings are all that there is to know of one outside.
//
// Store is a store.Store around another that keeps everything encrypted.
package crypt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// Provider makes keys. It may be used from many goroutines.
type Provider interface {
	// Fresh makes a key, and what has to be stored beside the encrypted data to have it again. chain is a
	// key of another provider, nil without one.
	Fresh(ctx context.Context, chain []byte) (key, meta []byte, err error)
	// Again gives the key that was made with meta. current is false if Fresh would make keys otherwise
	// now, so that what is encrypted is to be written again.
	Again(ctx context.Context, meta, chain []byte) (key []byte, current bool, err error)
}

// Method encrypts. It may be used from many goroutines.
type Method interface {
	// Seal encrypts under a key; nil where it needs none.
	Seal(ctx context.Context, key, plain []byte) ([]byte, error)
	// Open is the opposite of Seal. An error of ErrKey says that the key does not fit the data.
	Open(ctx context.Context, key, data []byte) ([]byte, error)
}

// Schema is that of the settings of a kind.
type Schema = schema.Block

// Kind is a kind of key provider or of method: M is Provider or Method.
type Kind[M any] struct {
	Name   string
	Schema *Schema // of its settings, without Argument
	Argument
	Make func(s store.Settings) (M, error)
}

// Argument says whether a kind can refer to a key provider: by "chain" in key providers, by "keys" in methods.
type Argument int

// What there can be of it.
const (
	Never Argument = iota
	Maybe
	Always
)

// Kinds are those of key providers, or those of methods.
type Kinds[M any] []Kind[M]

// Find gives the kind of that name.
func (l Kinds[M]) Find(name string) (kind Kind[M], ok bool) {
	i := slices.IndexFunc(l, func(k Kind[M]) bool { return k.Name == name })
	if i >= 0 {
		kind = l[i]
	}
	return kind, i >= 0
}

// Names lists them, sorted.
func (l Kinds[M]) Names() []string {
	var out []string
	for _, k := range l {
		out = append(out, k.Name)
	}
	slices.Sort(out)
	return out
}

// Error says why something cannot be encrypted or decrypted. It is never a *store.LockError.
type Error struct {
	Title string     // of the diagnostic
	Text  string     // whole sentences
	At    diag.Range // what the user configured, where that is what is to be mended

	damaged bool // no key opens it
}

func (e *Error) Error() string { return e.Text }

// Titles of what can go wrong.
const (
	badOpen = "Decryption failed"
	badSeal = "Encryption failed"
)

// Diagnostic finds in an error what users read of one of this package.
func Diagnostic(err error) (diag.Diagnostic, bool) {
	var e *Error
	if !errors.As(err, &e) {
		return diag.Diagnostic{}, false
	}
	return diag.Errorf(e.Title, "%s", e.Text).At(e.At), true
}

// damage is an error about what no key opens.
func damage(format string, a ...any) *Error {
	e := failed(badOpen, format, a...)
	e.damaged = true
	return e
}

func failed(title, format string, a ...any) *Error {
	return &Error{Title: title, Text: fmt.Sprintf(format, a...)}
}
