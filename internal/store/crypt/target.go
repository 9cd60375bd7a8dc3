package crypt

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/diag"
)

// Source is a configured key provider, with the keys that it has made or recovered in this process.
type Source struct {
	Name     string // the address in the configuration, such as "key_provider.pbkdf2.main"
	Meta     string // the name in the metadata of files: Name, or the alias
	Provider Provider
	Chain    *Source // provides the keys from which this source makes its keys; nil if it needs none

	mu        sync.Mutex
	created   *derivedKey
	recovered map[string]*derivedKey // the recovered keys, by the metadata and the key of Chain
}

// CheckMeta returns an error if the name of the source in metadata is reserved, so that a file could not be decrypted.
func (s *Source) CheckMeta() error {
	if s.Meta == digestName {
		return fmt.Errorf("the name %q is reserved in encrypted files. Set another %q", s.Meta, AliasArgument)
	}
	for c := s.Chain; c != nil; c = c.Chain {
		if c.Meta == s.Meta {
			return fmt.Errorf("it has the same name in encrypted files as %s, the provider of its keys: %q. Set another %q in one of them", c.Name, s.Meta, AliasArgument)
		}
	}
	return nil
}

type derivedKey struct {
	key, meta []byte
	current   bool
}

// NewKey returns the key of this process, and adds to meta the metadata that recovers it. The source makes one key per
// process, because deriving a key may take a second. A nil Source, of a method without keys, returns a nil key.
func (s *Source) NewKey(ctx context.Context, meta map[string][]byte) ([]byte, error) {
	if s == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	chain, err := s.Chain.NewKey(ctx, meta)
	if err != nil {
		return nil, err
	}
	if s.created == nil {
		key, m, err := s.Provider.NewKey(ctx, chain)
		if err != nil {
			return nil, fmt.Errorf("%s returned no key: %w", s.Name, err)
		}
		s.created = &derivedKey{key: key, meta: m}
	}
	meta[s.Meta] = s.created.meta
	return s.created.key, nil
}

// errMeta reports that the metadata of a file has no entry of the key provider. So the file was not encrypted with a
// key of that provider.
var errMeta = errors.New("no metadata")

// RecoverKey returns the key with which a file with the metadata meta was encrypted. The second result is false if
// NewKey would make keys in another way now, so that the file should be encrypted again. If meta has no entry of the
// source, the error wraps errMeta. A nil Source, of a method without keys, returns a nil key and true.
func (s *Source) RecoverKey(ctx context.Context, meta map[string][]byte) ([]byte, bool, error) {
	if s == nil {
		return nil, true, nil
	}
	m, ok := meta[s.Meta]
	if !ok {
		return nil, false, fmt.Errorf("%w of %s is in it, it has %s%s", errMeta, s.Meta, names(meta), renamed(meta))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	chain, now, err := s.Chain.RecoverKey(ctx, meta)
	if err != nil {
		return nil, false, err
	}
	id := string(m) + "\x00" + string(chain)
	if _, two := s.Provider.(externalProvider); !two && s.created != nil && bytes.Equal(s.created.meta, m) && s.Chain == nil {
		return s.created.key, true, nil // not for an external program, which may use another key to decrypt than to encrypt
	}
	if s.recovered[id] == nil {
		key, current, err := s.Provider.RecoverKey(ctx, m, chain)
		if err != nil {
			return nil, false, fmt.Errorf("%s returned no key: %w", s.Name, err)
		}
		if s.recovered == nil {
			s.recovered = map[string]*derivedKey{}
		}
		s.recovered[id] = &derivedKey{key: key, current: current}
	}
	got := s.recovered[id]
	return got.key, got.current && now, nil
}

// renamed returns a hint for the error message if a file has metadata of a key provider with another name, or "" if the
// file has no metadata.
func renamed(meta map[string][]byte) string {
	if _, other := strings.CutPrefix(names(meta), "that of "); !other {
		return ""
	}
	return fmt.Sprintf(" (to read it with a key provider of another name, set the argument %s)", AliasArgument)
}

func names(meta map[string][]byte) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(meta)) {
		if name != digestName {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return "that of " + strings.Join(out, ", ")
}

// Cipher is a configured encryption method, with the source of its keys.
type Cipher struct {
	Name   string  // the address in the configuration, such as "method.aes_gcm.main"
	Method Method  // nil means that nothing is encrypted
	Keys   *Source // nil if the method has no keys
}

// Target describes the encryption of one kind of files: states, plans, or the state of a terraform_remote_state.
type Target struct {
	Block    string     // the name of the configuration block, for messages: "state"
	At       diag.Range // the position of the block
	Write    *Cipher    // encrypts new files; never nil
	Read     []*Cipher  // the ciphers that may have written a file, in the order in which Open tries them
	Enforced bool       // the setting "enforced" of the block is true: Read then has no unencrypted method, and messages name the setting
}

// failed returns an error whose position is the block of the target in the configuration.
func (t *Target) failed(title, format string, a ...any) *Error {
	e := failed(title, format, a...)
	e.At = t.At
	return e
}

// digestName is the name of the entry in the metadata of a file with a digest of the encrypted data. The digest
// distinguishes damage from a wrong key. Other programs ignore the entry.
const digestName = "lethe.digest"

// digest returns a digest of the other metadata and of the encrypted data of an envelope.
func (e *envelope) digest() []byte {
	h := sha256.New()
	part := func(b []byte) {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(b))))
		h.Write(b)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Meta)) {
		if name != digestName {
			part([]byte(name))
			part(e.Meta[name])
		}
	}
	part(e.Data)
	return h.Sum(nil)[:16]
}

// Encrypts reports whether files are written encrypted.
func (t *Target) Encrypts() bool { return t != nil && t.Write.Method != nil }

// sentence returns the text of an error with one full stop at its end. Errors of services and programs may already end
// with one.
func sentence(err error) string { return strings.TrimRight(err.Error(), ".") + "." }

// Seal encrypts a state, a plan or a journal. It returns the data unchanged if the target does not encrypt.
func (t *Target) Seal(ctx context.Context, plain []byte) ([]byte, error) {
	if !t.Encrypts() {
		return plain, nil
	}
	e := envelope{Meta: map[string][]byte{}, Version: version}
	e.Serial, e.Lineage = identity(plain)
	key, err := t.Write.Keys.NewKey(ctx, e.Meta)
	if err != nil {
		return nil, t.failed(badSeal, "%s", sentence(err))
	}
	if e.Data, err = t.Write.Method.Seal(ctx, key, plain); err != nil {
		return nil, t.failed(badSeal, "%s cannot encrypt: %s", t.Write.Name, sentence(err))
	}
	e.Meta[digestName] = e.digest()
	return e.bytes()
}

// Open decrypts data that Seal or OpenTofu encrypted. It returns empty data unchanged, and also data that is not
// encrypted if the target accepts such data (openPlain). outdated is true if Seal would encrypt the data in another way
// now. If no method can decrypt the data, the error is an *Error.
func (t *Target) Open(ctx context.Context, data []byte) (plain []byte, outdated bool, err error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return data, false, nil
	}
	if !Sealed(data) {
		return t.openPlain(data, t.subject())
	}
	if t == nil {
		return nil, false, failed(badOpen, "The data is encrypted, but no encryption is configured for it. Configure the key provider and the method that encrypted it.")
	}
	e, err := parse(data)
	if err != nil {
		return nil, false, err
	}
	var why []string
	denied, absent := 0, 0 // counts the methods whose key could not be obtained, and the methods without metadata in the file
	for _, c := range t.Read {
		if c.Method == nil {
			continue
		}
		key, current, err := c.Keys.RecoverKey(ctx, e.Meta)
		if err == nil {
			plain, err = c.Method.Open(ctx, key, e.Data)
		}
		if err == nil {
			return plain, c != t.Write || !current, e.check(plain)
		}
		var service *serviceError
		switch {
		case errors.As(err, &service):
			denied++
		case errors.Is(err, errMeta):
			absent++
		}
		why = append(why, c.Name+": "+sentence(err))
	}
	if d := e.Meta[digestName]; d != nil && !bytes.Equal(d, e.digest()) {
		return nil, false, damage("The encrypted file is damaged: its content does not match its digest. Restore it from a backup.")
	}
	if len(why) == 0 {
		return nil, false, t.failed(badOpen, "%s is encrypted, but the block %q of the encryption has no method to decrypt it. Configure the method that encrypted it, or name that method in a fallback.", t.subject(), t.Block)
	}
	if denied > 0 && denied+absent == len(why) {
		return nil, false, t.failed(badOpen, "%s is encrypted, but its key could not be obtained:\n\n  %s", t.subject(), strings.Join(why, "\n  "))
	}
	hint := ""
	if e.Meta[digestName] != nil {
		hint = " The file is undamaged, so the key or the settings of the method are wrong."
	}
	return nil, false, t.failed(badOpen, "%s is encrypted, and no method in the block %q of the encryption can decrypt it:\n\n  %s\n\nConfigure the key and the method that encrypted it. If you have changed them, put the former method into a fallback.%s", t.subject(), t.Block, strings.Join(why, "\n  "), hint)
}

// openPlain returns data that is not encrypted, if the target accepts such data: it does not encrypt, or one of its
// methods for reading is "unencrypted". Otherwise the error is an *Error. A target that encrypts also refuses data that
// begins like a JSON object, but is not valid JSON. outdated (the second result) is true if the target writes files
// encrypted. subject names the data in messages.
func (t *Target) openPlain(data []byte, subject string) ([]byte, bool, error) {
	switch {
	case t == nil || !t.Encrypts():
		return data, false, nil
	case bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) && !json.Valid(data):
		return nil, false, damage("%s is damaged: it is not valid JSON. Restore it from a backup.", subject)
	case slices.ContainsFunc(t.Read, func(c *Cipher) bool { return c.Method == nil }):
		return data, true, nil
	case t.Enforced:
		return nil, false, t.failed(badOpen, "%s is not encrypted, but the block %q of the encryption sets enforced = true. To use it once anyway, set enforced = false and add a fallback with the method \"unencrypted\". Undo both afterwards.", subject, t.Block)
	}
	why, then := "If it is older than the encryption block, add", "Apply once, to write it encrypted, and remove both."
	switch t.Block {
	case "state":
	case "plan":
		return nil, false, t.failed(badOpen, "%s is not encrypted, but the configuration requires encryption. Make a new plan.", subject)
	default:
		why, then = "Encrypt it in the configuration that writes it, or, to read it unencrypted, add", "When it is encrypted, remove both."
	}
	return nil, false, t.failed(badOpen, "%s is not encrypted, but the configuration requires encryption. %s to the encryption block:\n\n  method \"unencrypted\" \"migrate\" {}\n\nand to its block %q:\n\n  fallback {\n    method = method.unencrypted.migrate\n  }\n\n%s", subject, why, t.Block, then)
}

// subject returns the name of the data of a target at the beginning of a sentence, such as "The state". A nil target
// means a state.
func (t *Target) subject() string {
	switch {
	case t == nil, t.Block == "state":
		return "The state"
	case t.Block == "plan":
		return "The saved plan"
	}
	return "The state of the other configuration"
}

// check returns an error if the decrypted state has another serial or lineage than the plain text in the envelope.
func (e *envelope) check(plain []byte) error {
	if e.Serial == nil && e.Lineage == "" {
		return nil
	}
	serial, lineage := identity(plain)
	if lineage != e.Lineage || serial == nil != (e.Serial == nil) || serial != nil && *serial != *e.Serial {
		return damage("The encrypted file is damaged: its serial or its lineage differs from the encrypted state. Restore it from a backup.")
	}
	return nil
}
