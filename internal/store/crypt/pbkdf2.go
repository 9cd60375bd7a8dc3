package crypt

import (
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/store"
)

// pbkdf2Provider is a key provider that derives keys from a passphrase, or from a key of another provider.
type pbkdf2Provider struct {
	passphrase string
	salt       int
	want       pbkdf2Meta
}

// pbkdf2Meta has the parameters of a derived key, as stored in the metadata of a file.
type pbkdf2Meta struct {
	Salt       []byte `json:"salt"`
	Iterations int    `json:"iterations"`
	Hash       string `json:"hash_function"`
	Length     int    `json:"key_length"`
}

const (
	leastIterations = 200_000
	leastPassphrase = 16
	mostIterations  = 100_000_000
	mostLength      = 1 << 10
	// mostWork limits the rounds that the metadata of a file may require to about half a minute of work. Metadata may
	// require more only if the settings require as many.
	mostWork = 20_000_000
)

var hashes = map[string]func() hash.Hash{"sha256": sha256.New, "sha512": sha512.New}

func newPBKDF2(s store.Settings) (Provider, error) {
	p := &pbkdf2Provider{}
	p.passphrase, _ = s.Text("passphrase")
	var err [3]error
	p.want.Length, err[0] = s.Int("key_length", 32)
	p.want.Iterations, err[1] = s.Int("iterations", 600_000)
	p.salt, err[2] = s.Int("salt_length", 32)
	p.want.Hash = "sha512"
	if t, ok := s.Text("hash_function"); ok {
		p.want.Hash = t
	}
	if err := errors.Join(err[:]...); err != nil {
		return nil, err
	}
	if _, set := s.Text("passphrase"); set && utf8.RuneCountInString(p.passphrase) < leastPassphrase {
		return nil, s.Bad("passphrase", `"passphrase" is too short: it needs %d characters`, leastPassphrase)
	}
	switch {
	case p.want.Iterations < leastIterations:
		return nil, s.Bad("iterations", `"iterations" is too low: at least %d are needed`, leastIterations)
	case hashes[p.want.Hash] == nil:
		return nil, s.Bad("hash_function", "%s", p.want.check())
	case p.salt < 1 || p.salt > mostLength:
		return nil, s.Bad("salt_length", `"salt_length" must be a number of bytes from 1 to %d`, mostLength)
	}
	return p, p.want.check()
}

func (m *pbkdf2Meta) check() error {
	switch {
	case hashes[m.Hash] == nil:
		return fmt.Errorf(`the hash function %q is not known: it must be sha256 or sha512`, m.Hash)
	case m.Length < 1 || m.Length > mostLength:
		return fmt.Errorf(`the length of a key must be a number of bytes from 1 to %d, not %d`, mostLength, m.Length)
	case m.Iterations < 1 || m.Iterations > mostIterations:
		return fmt.Errorf("%d iterations are not from 1 to %d", m.Iterations, mostIterations)
	}
	return nil
}

// work returns the number of hash rounds for a key: the iterations for each block of the hash function's size.
func (m *pbkdf2Meta) work() int {
	size := hashes[m.Hash]().Size()
	return m.Iterations * ((m.Length + size - 1) / size)
}

// derive derives a key from chain, or from the passphrase if chain is nil. If ctx ends first, derive returns the cause
// of its end, and the computation continues in the background.
func (p *pbkdf2Provider) derive(ctx context.Context, m pbkdf2Meta, chain []byte) ([]byte, error) {
	secret := p.passphrase
	if chain != nil {
		secret = string(chain)
	}
	type result struct {
		key []byte
		err error
	}
	done := make(chan result, 1)
	go func() {
		key, err := pbkdf2.Key(hashes[m.Hash], secret, m.Salt, m.Iterations, m.Length)
		done <- result{key, err}
	}()
	select {
	case r := <-done:
		return r.key, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// NewKey makes a key, and the metadata from which RecoverKey recovers the key.
func (p *pbkdf2Provider) NewKey(ctx context.Context, chain []byte) (key, meta []byte, err error) {
	m := p.want
	m.Salt = make([]byte, p.salt)
	_, _ = rand.Read(m.Salt) // rand.Read never fails
	if key, err = p.derive(ctx, m, chain); err != nil {
		return nil, nil, err
	}
	meta, err = json.Marshal(m)
	return key, meta, err
}

// RecoverKey recovers the key that was made with meta. It returns false if NewKey would now make keys in another way,
// so that the data should be encrypted again.
func (p *pbkdf2Provider) RecoverKey(ctx context.Context, meta, chain []byte) ([]byte, bool, error) {
	var m pbkdf2Meta
	if err := json.Unmarshal(meta, &m); err != nil {
		return nil, false, errors.New("its metadata in the file is damaged")
	}
	if err := m.check(); err != nil {
		return nil, false, err
	}
	if most := max(mostWork, p.want.work()); m.work() > most {
		return nil, false, fmt.Errorf("the file requires a key of %d bytes with %d iterations, %d rounds in all. The limit is %d, unless the settings of the key provider require more", m.Length, m.Iterations, m.work(), most)
	}
	key, err := p.derive(ctx, m, chain)
	current := m.Iterations == p.want.Iterations && m.Hash == p.want.Hash && m.Length == p.want.Length && len(m.Salt) == p.salt
	return key, current, err
}
