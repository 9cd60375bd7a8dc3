// Package plankey manages the key that seals saved plans (ADR 36): the digests at the end of a saved plan are made with
// it, so that an owner of the key detects changes. The key is in the environment, or else in a file of the user, which
// is created when the first plan is saved.
package plankey

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/subprocess"
	"golang.org/x/crypto/scrypt"
)

// Key is the key of saved plans. Its methods may be called from several goroutines.
type Key struct {
	given func() []byte // returns the key in the environment; nil if the environment has no key
	path  string        // the file with the user's key; "" if the user has no directory for it
	fs    disk.FS
}

// least is the minimum number of bytes of a key in the environment.
const least = 16

// New returns the key of saved plans, and adds a key in the environment to the secrets of the command. If the key in
// the environment is too short, New adds an error and returns nil.
func New(c *base.Call) *Key {
	k := &Key{fs: c.FS()}
	switch text := c.Getenv(subprocess.PlanKey); {
	case text == "":
	case len(text) < least:
		c.Bag.Add(diag.Errorf("Invalid "+subprocess.PlanKey, "The environment variable %s holds the key that seals saved plans. It must have at least %d random characters.", subprocess.PlanKey, least))
		return nil
	default:
		c.Secrets.Add(text, secret.Origin{Addr: subprocess.PlanKey, Kind: secret.Setting})
		k.given = sync.OnceValue(func() []byte { return slowKey(text) })
	}
	if dir := paths.Data(c.Getenv); dir != "" {
		k.path = filepath.Join(dir, "plan.key")
	}
	return k
}

// slowKey derives a key from a text that a person may have chosen. A saved plan contains the name of the key and a
// digest made with the key. A reader of the plan can use them to try texts, so each trial must take much time and
// memory.
func slowKey(text string) []byte {
	const memory, block = 1 << 15, 8 // the parameters of scrypt: 1<<15 × 8 × 128 bytes are 32 MiB
	key, err := scrypt.Key([]byte(text), []byte("lethe plan key"), memory, block, 1, sha256.Size)
	if err != nil {
		panic(err) // scrypt.Key fails only for invalid parameters, and these are constants
	}
	return key
}

// Given reports whether the environment has a key (the variable subprocess.PlanKey).
func (k *Key) Given() bool { return k.given != nil }

// Read returns the key, or nil if there is no key or the file of the key cannot be read.
func (k *Key) Read() []byte {
	switch {
	case k.given != nil:
		return k.given()
	case k.path == "":
		return nil
	}
	text, err := disk.Read(k.fs, k.path)
	if err != nil {
		return nil
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != sha256.Size {
		return nil
	}
	return key
}

// Make returns the key. If the file of the key is missing or invalid, Make creates a new key in it. It returns nil if a
// new key cannot be stored, or if the user has no directory for it.
func (k *Key) Make() []byte {
	if key := k.Read(); key != nil || k.path == "" {
		return key
	}
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // rand.Read never returns an error
	if disk.Replace(k.fs, k.path, hex.AppendEncode(nil, key)) != nil {
		return nil
	}
	return k.Read() // another command may have created a key at the same time
}
