package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
)

// The environment gives the key that signs a release. An empty variable is the same as an unset one, because services
// that build releases set a missing secret to "".
const (
	keyVariable        = "LETHE_SIGNING_KEY"        // an OpenPGP private key in ASCII armor
	passphraseVariable = "LETHE_SIGNING_PASSPHRASE" // the passphrase of the key; unset if the key is not encrypted
)

const (
	sumsName      = "SHA256SUMS"
	signatureName = "SHA256SUMS.sig" // the signature is binary, as in releases of providers

	// publishedKey is the path of the public key that install.sh trusts, in the module. No such file exists until the
	// project has published a key.
	publishedKey = "release/signing-key.asc"
)

// signer signs a release. A nil *signer makes an unsigned release.
type signer struct{ entity *openpgp.Entity }

// newSigner reads the key from the environment, and removes both variables, so that no compiler or other child process
// receives them. It returns nil if there is no key. No error contains the key or the passphrase.
// published is the key that users trust, or nil; another key is an error.
func newSigner(published openpgp.EntityList) (*signer, error) {
	key, passphrase := os.Getenv(keyVariable), os.Getenv(passphraseVariable)
	for _, name := range []string{keyVariable, passphraseVariable} {
		if err := os.Unsetenv(name); err != nil {
			return nil, err
		}
	}
	if key == "" && passphrase != "" {
		return nil, fmt.Errorf("%s is set, but %s is not: set both to sign the release, or none", passphraseVariable, keyVariable)
	}
	if key == "" {
		return nil, nil
	}
	entity, err := privateKey(key, passphrase)
	if err != nil {
		return nil, err
	}
	if published != nil && !bytes.Equal(published[0].PrimaryKey.Fingerprint, entity.PrimaryKey.Fingerprint) {
		return nil, fmt.Errorf("%s contains the key %s, but users trust the key %s: sign with the key of %s, or publish the other key there first",
			keyVariable, fingerprint(entity), fingerprint(published[0]), publishedKey)
	}
	return &signer{entity}, nil
}

// privateKey decodes and decrypts a private key in ASCII armor. It returns an error if armored does not contain exactly
// one private key that can sign now, or if the passphrase does not decrypt it. An unencrypted key needs the passphrase
// "".
func privateKey(armored, passphrase string) (*openpgp.Entity, error) {
	block, err := armor.Decode(strings.NewReader(armored))
	if err != nil {
		return nil, fmt.Errorf("%s contains no OpenPGP key in ASCII armor. \"gpg --armor --export-secret-keys ID\" prints one", keyVariable)
	}
	if block.Type != openpgp.PrivateKeyType {
		return nil, fmt.Errorf("%s contains a %s instead of a private key. \"gpg --armor --export-secret-keys ID\" prints the private key", keyVariable, strings.ToLower(block.Type))
	}
	ring, err := openpgp.ReadKeyRing(block.Body)
	if err != nil {
		return nil, fmt.Errorf("the key in %s cannot be read: %w", keyVariable, err)
	}
	if len(ring) != 1 {
		return nil, fmt.Errorf("%s contains %d keys: give only the key that signs the release", keyVariable, len(ring))
	}
	entity := ring[0]
	key, ok := entity.SigningKey(time.Now())
	switch {
	case !ok:
		return nil, fmt.Errorf("the key %s in %s cannot sign: it has expired, was revoked, or is not for signatures", fingerprint(entity), keyVariable)
	case key.PrivateKey == nil || key.PrivateKey.Dummy():
		return nil, fmt.Errorf("the key %s in %s lacks the private part that signs", fingerprint(entity), keyVariable)
	case key.PrivateKey.Encrypted && passphrase == "":
		return nil, fmt.Errorf("the key %s is encrypted, but %s is not set", fingerprint(entity), passphraseVariable)
	case !key.PrivateKey.Encrypted && passphrase != "":
		return nil, fmt.Errorf("the key %s is not encrypted, but %s is set: unset the variable, or give the encrypted key", fingerprint(entity), passphraseVariable)
	}
	if key.PrivateKey.Encrypted {
		if err := key.PrivateKey.Decrypt([]byte(passphrase)); err != nil {
			return nil, fmt.Errorf("%s does not decrypt the key %s", passphraseVariable, fingerprint(entity))
		}
	}
	return entity, nil
}

// sign returns the detached, binary signature of data. It contains the time of signing, so two signatures differ.
func (s *signer) sign(data []byte) ([]byte, error) {
	var b bytes.Buffer
	if err := openpgp.DetachSign(&b, s.entity, bytes.NewReader(data), nil); err != nil {
		return nil, fmt.Errorf("the key %s cannot sign the release: %w", fingerprint(s.entity), err)
	}
	return b.Bytes(), nil
}

// fingerprint returns the fingerprint of a key, as gpg prints it without spaces.
func fingerprint(e *openpgp.Entity) string { return fmt.Sprintf("%X", e.PrimaryKey.Fingerprint) }

// readPublished returns the text and the key of the file publishedKey, or "" and nil if the file does not exist.
func readPublished(source string) (string, openpgp.EntityList, error) {
	text, err := os.ReadFile(filepath.Join(source, filepath.FromSlash(publishedKey)))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	block, err := armor.Decode(bytes.NewReader(text))
	if err != nil {
		return "", nil, fmt.Errorf("%s contains no OpenPGP key in ASCII armor: %w", publishedKey, err)
	}
	if block.Type != openpgp.PublicKeyType {
		return "", nil, fmt.Errorf("%s must contain a public key, and contains a %s", publishedKey, strings.ToLower(block.Type))
	}
	ring, err := openpgp.ReadKeyRing(block.Body)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", publishedKey, err)
	}
	// install.sh receives the whole file, so the file must have no second block.
	if blocks := bytes.Count(text, []byte("-----BEGIN ")); len(ring) != 1 || blocks != 1 {
		return "", nil, fmt.Errorf("%s contains %d keys in %d blocks instead of one key in one block", publishedKey, len(ring), blocks)
	}
	return string(text), ring, nil
}
