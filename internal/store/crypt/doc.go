// Package crypt encrypts states, plans and journals in the file format of OpenTofu.
//
// An encrypted file is one JSON object, an envelope:
//
//	serial, lineage     of the encrypted state, in plain text; plans and journals have neither
//	meta                data with which key providers recover the key, by their names
//	encrypted_data      the output of the encryption method
//	encryption_version  "v0"
//
// A Source makes keys, and a Cipher encrypts with them. A Target describes the encryption of one kind of file: the
// Cipher that writes it, and the Ciphers that may have written a file to be read:
//
//	Target ── Write, Read ──> Cipher ── Keys ──> Source ── Chain ──> Source
//
// A Source uses a Provider to make keys, and a Cipher uses a Method to encrypt. ProviderKinds and MethodKinds list the
// kinds of both with the schemas of their settings. A new kind needs no changes of code outside this package.
//
// Store is a store.Store that encrypts the states of another store.
package crypt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/store"
)

// Provider makes and recovers keys. Its methods may be called concurrently.
type Provider interface {
	// NewKey makes a key, and the metadata that must be stored with the encrypted data, so that RecoverKey can recover the
	// key. chain is a key of another provider from which this provider makes its key, or nil.
	NewKey(ctx context.Context, chain []byte) (key, meta []byte, err error)
	// RecoverKey recovers the key that was made with meta. current is false if NewKey would make keys in another way now,
	// for example with more iterations, so that the data should be encrypted again.
	RecoverKey(ctx context.Context, meta, chain []byte) (key []byte, current bool, err error)
}

// Method encrypts and decrypts data. Its methods may be called concurrently.
type Method interface {
	// Seal encrypts plain with a key. The key is nil if the method needs none.
	Seal(ctx context.Context, key, plain []byte) ([]byte, error)
	// Open decrypts the result of Seal. It returns ErrKey if the key does not fit the data. The method "external"
	// cannot tell that, and returns another error.
	Open(ctx context.Context, key, data []byte) ([]byte, error)
}

// Schema is the schema of the settings of a kind of key provider or method.
type Schema = schema.Block

// Kind is a kind of key provider or of encryption method, such as "aws_kms" or "aes_gcm". M is Provider or Method.
type Kind[M any] struct {
	Name   string
	Schema *Schema // the schema of the settings, without the argument that refers to a key provider
	Argument
	Make func(s store.Settings) (M, error)
}

// Argument tells whether a kind has an argument that refers to a key provider. That argument is "chain" for a key
// provider, and "keys" for a method.
type Argument int

// Never means that the kind has no such argument, Maybe that the argument is optional, and Always that it is required.
const (
	Never Argument = iota
	Maybe
	Always
)

// Kinds is a list of kinds of key providers or of methods.
type Kinds[M any] []Kind[M]

// Find returns the kind with that name. It returns false if the list has no such kind.
func (l Kinds[M]) Find(name string) (kind Kind[M], ok bool) {
	i := slices.IndexFunc(l, func(k Kind[M]) bool { return k.Name == name })
	if i >= 0 {
		kind = l[i]
	}
	return kind, i >= 0
}

// Names returns the names of the kinds, sorted.
func (l Kinds[M]) Names() []string {
	var out []string
	for _, k := range l {
		out = append(out, k.Name)
	}
	slices.Sort(out)
	return out
}

// Error reports why data cannot be encrypted or decrypted. It never wraps a *store.LockError.
type Error struct {
	Title string     // the title of the diagnostic
	Text  string     // whole sentences
	At    diag.Range // the configuration to be corrected, if a correction of the configuration helps

	damaged bool // the data itself is damaged, so that no key can decrypt it
}

func (e *Error) Error() string { return e.Text }

// The titles of errors.
const (
	badOpen = "Decryption failed"
	badSeal = "Encryption failed"
)

// Diagnostic returns the diagnostic for an error of this package. The second result is false if err contains no *Error.
func Diagnostic(err error) (diag.Diagnostic, bool) {
	var e *Error
	if !errors.As(err, &e) {
		return diag.Diagnostic{}, false
	}
	return diag.Errorf(e.Title, "%s", e.Text).At(e.At), true
}

// damage returns an error about data that no key can decrypt.
func damage(format string, a ...any) *Error {
	e := failed(badOpen, format, a...)
	e.damaged = true
	return e
}

func failed(title, format string, a ...any) *Error {
	return &Error{Title: title, Text: fmt.Sprintf(format, a...)}
}
