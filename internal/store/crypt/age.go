package crypt

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/lethe-iac/lethe/internal/store"
)

// ageProvider makes random keys of length bytes, and encrypts each key with age for the recipients. Each matching
// identity can recover the key.
type ageProvider struct {
	recipients []age.Recipient
	identities []age.Identity
	length     int
}

func newAge(s store.Settings) (Provider, error) {
	p := &ageProvider{}
	var err error
	if p.length, err = s.Int("key_length", 32); err != nil {
		return nil, err
	}
	if p.length != 16 && p.length != 24 && p.length != 32 {
		return nil, s.Bad("key_length", `"key_length" must be 16, 24 or 32, not %d`, p.length)
	}
	for i, text := range s.List("recipients") {
		r, err := ageRecipient(text)
		if err != nil {
			return nil, s.Bad("recipients", `element %d of "recipients" cannot be used: %w`, i, err)
		}
		p.recipients = append(p.recipients, r)
	}
	if len(p.recipients) == 0 {
		return nil, s.Bad("recipients", `"recipients" is empty`)
	}
	if text, ok := s.Text("identity", "AGE_IDENTITY"); ok {
		s.Secret(text)
		if err := p.identify([]byte(text), "identity"); err != nil {
			return nil, s.Bad("identity", "%w", err)
		}
	}
	if path, ok := s.Text("identity_file", "AGE_IDENTITY_FILE"); ok {
		text, err := os.ReadFile(paths.In(s.Dir, path))
		if err != nil {
			return nil, s.Bad("identity_file", `"identity_file" cannot be read: %w`, err)
		}
		if err := p.identify(text, "identity_file"); err != nil {
			return nil, s.Bad("identity_file", "%w", err)
		}
	}
	return p, nil
}

// ageRecipient parses a recipient of age. If the text does not begin like a recipient, the error does not quote it,
// because the text may be an identity, which is a secret.
func ageRecipient(text string) (age.Recipient, error) {
	switch {
	case strings.HasPrefix(text, "ssh-"):
		return agessh.ParseRecipient(text)
	case strings.HasPrefix(text, "age1"):
		return age.ParseX25519Recipient(text)
	case strings.HasPrefix(text, "AGE-SECRET-KEY-") || strings.Contains(text, "-----BEGIN"):
		return nil, errors.New("it is a secret identity for decryption; use the public key of that identity")
	}
	return nil, errors.New("it must be an age recipient (age1...) or a public SSH key of the type ssh-ed25519 or ssh-rsa")
}

// identify adds the identities in a text: lines in age's format, or one SSH key. Errors name the setting and do not
// quote the text, because identities are secrets.
func (p *ageProvider) identify(text []byte, setting string) error {
	if bytes.Contains(text, []byte("-----BEGIN")) {
		id, err := agessh.ParseIdentity(text)
		if err != nil {
			return fmt.Errorf("the SSH key %q must be an Ed25519 or RSA key without a passphrase", setting)
		}
		p.identities = append(p.identities, id)
		return nil
	}
	ids, err := age.ParseIdentities(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%q has no age identity, a line that begins with AGE-SECRET-KEY-1", setting)
	}
	p.identities = append(p.identities, ids...)
	return nil
}

type ageMeta struct {
	Key []byte `json:"age"` // the encrypted key, in the format of an age file
}

// NewKey makes a key, and the metadata from which RecoverKey recovers the key.
func (p *ageProvider) NewKey(context.Context, []byte) (key, meta []byte, err error) {
	key = make([]byte, p.length)
	_, _ = rand.Read(key) // rand.Read never fails
	var b bytes.Buffer
	w, err := age.Encrypt(&b, p.recipients...)
	if err == nil {
		_, err = w.Write(key)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, nil, err
	}
	meta, err = json.Marshal(ageMeta{b.Bytes()})
	return key, meta, err
}

// RecoverKey recovers the key that was made with meta. It returns false if NewKey would now make keys in another way,
// so that the data should be encrypted again.
func (p *ageProvider) RecoverKey(_ context.Context, meta, _ []byte) ([]byte, bool, error) {
	var m ageMeta
	if json.Unmarshal(meta, &m) != nil || len(m.Key) == 0 {
		return nil, false, errors.New("its metadata in the file is damaged")
	}
	if len(p.identities) == 0 {
		return nil, false, &serviceError{errors.New(`decryption needs "identity", "identity_file", AGE_IDENTITY or AGE_IDENTITY_FILE, but none is set`)}
	}
	r, err := age.Decrypt(bytes.NewReader(m.Key), p.identities...)
	var none *age.NoIdentityMatchError
	if errors.As(err, &none) {
		return nil, false, errors.New("none of the identities belongs to a recipient of the key")
	}
	if err != nil {
		return nil, false, err
	}
	key, err := io.ReadAll(io.LimitReader(r, mostLength))
	return key, len(key) == p.length, err
}
