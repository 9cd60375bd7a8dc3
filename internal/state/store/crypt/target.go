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

// Source is a key provider of a configuration.
type Source struct {
	Name     string // as the configuration names it, "key_provider.pbkdf2.main"
	Meta     string // the name in the metadata: Name, or the alias
	Provider Provider
	Chain    *Source // whose keys this one takes; may be nil

	mu    sync.Mutex
	fresh *made
	again map[string]*made // by metadata of the whole chain
}

// CheckMeta reports why files would not have the metadata of a source, so that no key could open them again.
func (s *Source) CheckMeta() error {
	if s.Meta == digestName {
		return fmt.Errorf("%q is the name of something else in encrypted files. Set another %q", s.Meta, AliasArgument)
	}
	for c := s.Chain; c != nil; c = c.Chain {
		if c.Meta == s.Meta {
			return fmt.Errorf("its metadata and that of %s, whose keys it is made from, would have one name in encrypted files, %q, and nothing could be decrypted again. Set another %q in one of them", c.Name, s.Meta, AliasArgument)
		}
	}
	return nil
}

type made struct {
	key, meta []byte
	current   bool
}

// Fresh gives the key of this process, and adds to meta what has to be stored to have it again. There is one a
// process: to derive it can take a second, and is the purpose of a derivation.
func (s *Source) Fresh(ctx context.Context, meta map[string][]byte) ([]byte, error) {
	if s == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	chain, err := s.Chain.Fresh(ctx, meta)
	if err != nil {
		return nil, err
	}
	if s.fresh == nil {
		key, m, err := s.Provider.Fresh(ctx, chain)
		if err != nil {
			return nil, fmt.Errorf("%s gave no key: %w", s.Name, err)
		}
		s.fresh = &made{key: key, meta: m}
	}
	meta[s.Meta] = s.fresh.meta
	return s.fresh.key, nil
}

// errMeta says that a file has no metadata of a key provider: it was not encrypted with its keys.
var errMeta = errors.New("no metadata")

// Again gives the key that something was encrypted with.
func (s *Source) Again(ctx context.Context, meta map[string][]byte) ([]byte, bool, error) {
	if s == nil {
		return nil, true, nil
	}
	m, ok := meta[s.Meta]
	if !ok {
		return nil, false, fmt.Errorf("%w of %s is in it, it has %s%s", errMeta, s.Meta, names(meta), renamed(meta))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	chain, now, err := s.Chain.Again(ctx, meta)
	if err != nil {
		return nil, false, err
	}
	id := string(m) + "\x00" + string(chain)
	if _, two := s.Provider.(externalProvider); !two && s.fresh != nil && bytes.Equal(s.fresh.meta, m) && s.Chain == nil {
		return s.fresh.key, true, nil // of a program the key to decrypt may be another than the one to encrypt
	}
	if s.again[id] == nil {
		key, current, err := s.Provider.Again(ctx, m, chain)
		if err != nil {
			return nil, false, fmt.Errorf("%s gave no key: %w", s.Name, err)
		}
		if s.again == nil {
			s.again = map[string]*made{}
		}
		s.again[id] = &made{key: key, current: current}
	}
	got := s.again[id]
	return got.key, got.current && now, nil
}

// renamed says how to use a key provider whose name in a file is another one.
func renamed(meta map[string][]byte) string {
	if _, other := strings.CutPrefix(names(meta), "that of "); !other {
		return ""
	}
	return fmt.Sprintf(" (a key provider of another name here reads that with the argument %s)", AliasArgument)
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

// Cipher is a method of a configuration, with its keys.
type Cipher struct {
	Name   string  // as the configuration names it, "method.aes_gcm.main"
	Method Method  // nil: nothing is encrypted
	Keys   *Source // nil where the method has none
}

// Target says how files of one kind are encrypted.
type Target struct {
	Block    string     // the block that says so, for messages: "state"
	At       diag.Range // where it stands
	Write    *Cipher    // never nil
	Read     []*Cipher
	Enforced bool
}

// failed is an error about how the target is configured.
func (t *Target) failed(title, format string, a ...any) *Error {
	e := failed(title, format, a...)
	e.At = t.At
	return e
}

// digestName is where the metadata has a digest of what is encrypted, so that damage is told from a wrong key. Readers
// look for what they know by name, and leave it alone.
const digestName = "lethe.digest"

// digest is that of an encrypted file.
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

// Encrypts reports whether what is written is encrypted.
func (t *Target) Encrypts() bool { return t != nil && t.Write.Method != nil }

// sentence ends an error, which may be a sentence of a service or a program already.
func sentence(err error) string { return strings.TrimRight(err.Error(), ".") + "." }

// Seal encrypts a state, a plan, or what else goes with one. What has no encryption stays as it is.
func (t *Target) Seal(ctx context.Context, plain []byte) ([]byte, error) {
	if !t.Encrypts() {
		return plain, nil
	}
	e := envelope{Meta: map[string][]byte{}, Version: version}
	e.Serial, e.Lineage = identity(plain)
	key, err := t.Write.Keys.Fresh(ctx, e.Meta)
	if err != nil {
		return nil, t.failed(badSeal, "%s", sentence(err))
	}
	if e.Data, err = t.Write.Method.Seal(ctx, key, plain); err != nil {
		return nil, t.failed(badSeal, "%s cannot encrypt: %s", t.Write.Name, sentence(err))
	}
	e.Meta[digestName] = e.digest()
	return e.bytes()
}

// Open decrypts what Seal or OpenTofu encrypted. outdated says that it would be written otherwise now.
func (t *Target) Open(ctx context.Context, data []byte) (plain []byte, outdated bool, err error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return data, false, nil
	}
	if !Sealed(data) {
		return t.openPlain(data, t.subject())
	}
	if t == nil {
		return nil, false, failed(badOpen, "This is encrypted, and no encryption is configured for it here. Configure the key provider and the method that it was written with.")
	}
	e, err := parse(data)
	if err != nil {
		return nil, false, err
	}
	var why []string
	denied, absent := 0, 0 // keys that were not to be had, and those that the file was not encrypted with
	for _, c := range t.Read {
		if c.Method == nil {
			continue
		}
		key, current, err := c.Keys.Again(ctx, e.Meta)
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
		return nil, false, damage("The encrypted file is damaged: it was changed after it was written, as its digest shows. No key opens it. Restore it from a backup.")
	}
	if len(why) == 0 {
		return nil, false, t.failed(badOpen, "%s is encrypted, and the block %q of the encryption has no method to decrypt it with. Configure the one that it was written with, in a fallback if it is to be written otherwise from now on.", t.subject(), t.Block)
	}
	if denied > 0 && denied+absent == len(why) {
		return nil, false, t.failed(badOpen, "%s is encrypted, and the key for it could not be obtained:\n\n  %s", t.subject(), strings.Join(why, "\n  "))
	}
	hint := ""
	if e.Meta[digestName] != nil {
		hint = " The file is unchanged since it was written, so the key or the settings of the method are not those that it was written with."
	}
	return nil, false, t.failed(badOpen, "%s is encrypted, and none of the methods that the block %q of the encryption names can decrypt it:\n\n  %s\n\nConfigure the key and the method that it was written with; if they have changed, in a fallback.%s", t.subject(), t.Block, strings.Join(why, "\n  "), hint)
}

// openPlain returns data that is not encrypted, if the target accepts such data. subject names the data in messages.
func (t *Target) openPlain(data []byte, subject string) ([]byte, bool, error) {
	switch {
	case t == nil || !t.Encrypts():
		return data, false, nil
	case bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) && !json.Valid(data):
		return nil, false, damage("%s is damaged: it is not whole, or was changed after it was written. What is left of it is not JSON, as encrypted files and states are. Restore it from a backup.", subject)
	case slices.ContainsFunc(t.Read, func(c *Cipher) bool { return c.Method == nil }):
		return data, true, nil
	case t.Enforced:
		return nil, false, t.failed(badOpen, "%s is not encrypted, and the block %q of the encryption says enforced = true: what is not encrypted is neither written nor read. To use it this once all the same, set enforced = false and add a fallback with the method \"unencrypted\"; undo both afterwards.", subject, t.Block)
	}
	why, then := "If it is from before encryption was configured, add", "Apply once, which writes it encrypted, and remove both."
	switch t.Block {
	case "state":
	case "plan":
		return nil, false, t.failed(badOpen, "%s is not encrypted, and the configuration says that it is. Make a new plan.", subject)
	default:
		why, then = "Encrypt it where it is written, or, to read it as it is, add", "Where it is encrypted, remove both."
	}
	return nil, false, t.failed(badOpen, "%s is not encrypted, and the configuration says that it is. %s to the encryption block:\n\n  method \"unencrypted\" \"migrate\" {}\n\nand to its block %q:\n\n  fallback {\n    method = method.unencrypted.migrate\n  }\n\n%s", subject, why, t.Block, then)
}

// subject names the data of a target at the beginning of a sentence. A nil target has none.
func (t *Target) subject() string {
	switch {
	case t == nil, t.Block == "state":
		return "The state"
	case t.Block == "plan":
		return "The saved plan"
	}
	return "The state of the other configuration"
}

// check compares what an envelope says of a state in the clear with what is in it.
func (e *envelope) check(plain []byte) error {
	if e.Serial == nil && e.Lineage == "" {
		return nil
	}
	serial, lineage := identity(plain)
	if lineage != e.Lineage || serial == nil != (e.Serial == nil) || serial != nil && *serial != *e.Serial {
		return damage("The encrypted file is damaged: its serial or its lineage was changed after it was written. What is encrypted in it names others.")
	}
	return nil
}
