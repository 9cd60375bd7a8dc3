package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

const passphrase = "canary-51f7 of the passphrase"

// newKey returns a key that was made at a time. It expires after the lifetime, or never if the lifetime is 0.
func newKey(t *testing.T, made time.Time, lifetime time.Duration) *openpgp.Entity {
	t.Helper()
	key, err := openpgp.NewEntity("Key of a test", "", "test@example.test", &packet.Config{
		Algorithm: packet.PubKeyAlgoEdDSA, Time: func() time.Time { return made }, KeyLifetimeSecs: uint32(lifetime.Seconds()),
	})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// armored returns keys in one block of ASCII armor. They are private keys if blockType is openpgp.PrivateKeyType, and
// public keys otherwise.
func armored(t *testing.T, blockType string, keys ...*openpgp.Entity) string {
	t.Helper()
	var b bytes.Buffer
	w, err := armor.Encode(&b, blockType, nil)
	for _, key := range keys {
		if err == nil && blockType == openpgp.PrivateKeyType {
			err = key.SerializePrivateWithoutSigning(w, nil)
		} else if err == nil {
			err = key.Serialize(w)
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String() + "\n"
}

func publicKey(t *testing.T, key *openpgp.Entity) string {
	t.Helper()
	return armored(t, openpgp.PublicKeyType, key)
}

// secrets returns the texts that no file and no output may contain: the passphrase, the lines of the private key in
// ASCII armor, and the private number in several forms.
func secrets(t *testing.T, key *openpgp.Entity, privateArmor string) [][]byte {
	t.Helper()
	private, ok := key.PrivateKey.PrivateKey.(interface{ MarshalByteSecret() []byte })
	if !ok {
		t.Fatalf("the key has the type %T", key.PrivateKey.PrivateKey)
	}
	raw := private.MarshalByteSecret()
	list := [][]byte{[]byte(passphrase), raw, []byte(hex.EncodeToString(raw)), []byte(base64.StdEncoding.EncodeToString(raw))}
	for line := range strings.Lines(privateArmor) {
		if line = strings.TrimSpace(line); len(line) > 40 && !strings.HasPrefix(line, "-") {
			list = append(list, []byte(line))
		}
	}
	if len(list) < 6 {
		t.Fatal("the private key has too few lines")
	}
	return list
}

// noSecret checks that a text contains no secret. The parameter of is the name of the text in the message.
func noSecret(t *testing.T, of string, text []byte, secrets [][]byte) {
	t.Helper()
	for _, secret := range secrets {
		if bytes.Contains(text, secret) {
			t.Errorf("%s contains a secret of %d bytes", of, len(secret))
		}
	}
}

// encrypted encrypts the private part of a key with the passphrase, in place, and returns the key in ASCII armor.
func encrypted(t *testing.T, key *openpgp.Entity) string {
	t.Helper()
	if err := key.EncryptPrivateKeys([]byte(passphrase), nil); err != nil {
		t.Fatal(err)
	}
	return armored(t, openpgp.PrivateKeyType, key)
}

// TestBadSigningKeys checks that a key that cannot sign is an error, which names the variable or the key and contains
// neither the key nor the passphrase.
func TestBadSigningKeys(t *testing.T) {
	now := time.Now()
	good, other, old := newKey(t, now, 0), newKey(t, now, 0), newKey(t, now.Add(-48*time.Hour), time.Hour)
	revoked := newKey(t, now, 0)
	if err := revoked.RevokeKey(packet.KeyCompromised, "test", nil); err != nil {
		t.Fatal(err)
	}
	plain := armored(t, openpgp.PrivateKeyType, good)
	both := armored(t, openpgp.PrivateKeyType, good, other)
	expired, gone := armored(t, openpgp.PrivateKeyType, old), armored(t, openpgp.PrivateKeyType, revoked)
	all := secrets(t, good, plain)
	locked := encrypted(t, good)
	all = append(all, secrets(t, other, armored(t, openpgp.PrivateKeyType, other))...)
	damaged := plain[:len(plain)/2] + "\n-----END PGP PRIVATE KEY BLOCK-----\n"
	for _, c := range []struct {
		name, key, passphrase string
		published             openpgp.EntityList
		want                  string
	}{
		{"no armor", "canary-51f7 of the passphrase", "", nil, "LETHE_SIGNING_KEY contains no OpenPGP key in ASCII armor"},
		{"public", publicKey(t, good), "", nil, "LETHE_SIGNING_KEY contains a pgp public key block instead of a private key"},
		{"two keys", both, "", nil, "LETHE_SIGNING_KEY contains 2 keys"},
		{"damaged", damaged, "", nil, "the key in LETHE_SIGNING_KEY cannot be read"},
		{"expired", expired, "", nil, "cannot sign: it has expired"},
		{"revoked", gone, "", nil, "cannot sign: it has expired, was revoked"},
		{"no passphrase", locked, "", nil, "is encrypted, but LETHE_SIGNING_PASSPHRASE is not set"},
		{"wrong passphrase", locked, passphrase + "x", nil, "LETHE_SIGNING_PASSPHRASE does not decrypt the key " + fingerprint(good)},
		{"needless passphrase", plain, passphrase, nil, "is not encrypted, but LETHE_SIGNING_PASSPHRASE is set"},
		{"passphrase without a key", "", passphrase, nil, "LETHE_SIGNING_PASSPHRASE is set, but LETHE_SIGNING_KEY is not"},
		{"another key than the published one", plain, "", openpgp.EntityList{other}, "users trust the key " + fingerprint(other)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(keyVariable, c.key)
			t.Setenv(passphraseVariable, c.passphrase)
			s, err := newSigner(c.published)
			if err == nil || s != nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v", err)
			}
			noSecret(t, "the error", []byte(err.Error()), all)
		})
	}
}

// TestSigningKeys checks that keys with and without a passphrase sign, and that programs of others accept the
// signature.
func TestSigningKeys(t *testing.T) {
	key := newKey(t, time.Now(), 0)
	plain, public := armored(t, openpgp.PrivateKeyType, key), publicKey(t, key)
	for name, vars := range map[string][2]string{"plain": {plain, ""}, "encrypted": {encrypted(t, key), passphrase}} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(keyVariable, vars[0])
			t.Setenv(passphraseVariable, vars[1])
			published, err := openpgp.ReadArmoredKeyRing(strings.NewReader(public))
			if err != nil {
				t.Fatal(err)
			}
			s, err := newSigner(published)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{keyVariable, passphraseVariable} {
				if _, ok := os.LookupEnv(name); ok {
					t.Errorf("%s is still in the environment", name)
				}
			}
			checkSignatureOf(t, s, public)
		})
	}
	t.Run("no key", func(t *testing.T) {
		t.Setenv(keyVariable, "")
		t.Setenv(passphraseVariable, "")
		if s, err := newSigner(nil); s != nil || err != nil {
			t.Errorf("%v, %v", s, err)
		}
	})
}

// TestOfflinePrimaryKey checks that a subkey can sign without the private part of its primary key. gpg exports subkeys
// in this form for users who keep the primary key elsewhere.
func TestOfflinePrimaryKey(t *testing.T) {
	if _, err := exec.LookPath("gpg"); err != nil {
		t.Skip("gpg is not installed")
	}
	gpg := gpgIn(t)
	gpg("--passphrase", "", "--quick-generate-key", "Key of a test <test@example.test>", "ed25519", "cert", "never")
	id := ""
	for line := range strings.Lines(gpg("--with-colons", "--list-keys")) {
		if fields := strings.Split(line, ":"); fields[0] == "fpr" && id == "" {
			id = fields[9]
		}
	}
	gpg("--passphrase", "", "--quick-add-key", id, "ed25519", "sign", "never")
	t.Setenv(keyVariable, gpg("--armor", "--export-secret-subkeys", id))
	t.Setenv(passphraseVariable, "")
	s, err := newSigner(nil)
	if err != nil {
		t.Fatal(err)
	}
	if fingerprint(s.entity) != id {
		t.Errorf("the fingerprint is %s, and gpg says %s", fingerprint(s.entity), id)
	}
	checkSignatureOf(t, s, gpg("--armor", "--export", id))
}

// gpgIn returns a function that runs gpg with an empty home directory, and returns its output.
func gpgIn(t *testing.T) func(args ...string) string {
	t.Helper()
	home, err := os.MkdirTemp("", "gpg-*") // short, for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run()
		os.RemoveAll(home)
	})
	return func(args ...string) string {
		t.Helper()
		cmd := exec.Command("gpg", append([]string{"--homedir", home, "--batch", "--pinentry-mode", "loopback"}, args...)...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("gpg %v: %v\n%s", args, err, stderr.String())
		}
		return string(out)
	}
}

// checkSignatureOf signs a text with s, and checks the signature with the OpenPGP library, and with sqv and gpg if they
// are installed. public is the public key of s in ASCII armor.
func checkSignatureOf(t *testing.T, s *signer, public string) {
	t.Helper()
	data := []byte("0000  file\n")
	signature, err := s.sign(data)
	if err != nil {
		t.Fatal(err)
	}
	ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(public))
	if err == nil {
		_, err = openpgp.CheckDetachedSignature(ring, bytes.NewReader(data), bytes.NewReader(signature), nil)
	}
	if err != nil {
		t.Error(err)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{"key": []byte(public), "sig": signature, "data": data} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if path, err := exec.LookPath("sqv"); err == nil {
		cmd := exec.Command(path, "--keyring", "key", "sig", "data")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("sqv: %v\n%s", err, out)
		}
	}
	if _, err := exec.LookPath("gpg"); err == nil {
		gpg := gpgIn(t)
		gpg("--import", filepath.Join(dir, "key"))
		gpg("--verify", filepath.Join(dir, "sig"), filepath.Join(dir, "data"))
	}
}

// TestPublishedKey checks that SECURITY.md names the fingerprint of the published key, or states that no key is
// published yet.
func TestPublishedKey(t *testing.T) {
	_, published, err := readPublished("..")
	if err != nil {
		t.Fatal(err)
	}
	want := "none yet"
	if published != nil {
		want = fingerprint(published[0])
	}
	if text := read(t, "../SECURITY.md"); !bytes.Contains(text, []byte("Fingerprint of the release key: "+want+"\n")) {
		t.Errorf("SECURITY.md does not say that the fingerprint of the release key is %s", want)
	}
}

// TestReadPublished checks that readPublished accepts a file with one public key, and no other text, key or second
// block.
func TestReadPublished(t *testing.T) {
	key, other := newKey(t, time.Now(), 0), newKey(t, time.Now(), 0)
	for _, c := range []struct{ name, text, want string }{
		{"good", publicKey(t, key), ""},
		{"private", armored(t, openpgp.PrivateKeyType, key), "must contain a public key"},
		{"two keys", armored(t, openpgp.PublicKeyType, key, other), "contains 2 keys in 1 blocks"},
		{"two blocks", publicKey(t, key) + armored(t, openpgp.PrivateKeyType, key), "contains 1 keys in 2 blocks"},
		{"text", "no key", "contains no OpenPGP key"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, filepath.FromSlash(publishedKey))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		text, ring, err := readPublished(dir)
		switch {
		case c.want == "" && (err != nil || text != c.text || len(ring) != 1):
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
