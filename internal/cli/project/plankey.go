package project

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/plan/file"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/lethe-iac/lethe/internal/subprocess"
	"golang.org/x/crypto/scrypt"
)

// leastKey is how long a key in the environment is at least, in bytes.
const leastKey = 16

// newPlanKey finds the key; nil if the environment has one that cannot be used, which was reported.
func newPlanKey(c *base.Call) *PlanKey {
	k := &PlanKey{fs: c.FS()}
	switch text := c.Getenv(subprocess.PlanKey); {
	case text == "":
	case len(text) < leastKey:
		c.Bag.Add(diag.Errorf("Invalid "+subprocess.PlanKey, "The environment variable %s is the key that saved plans are sealed with. It must have at least %d random characters.", subprocess.PlanKey, leastKey))
		return nil
	default:
		c.Secrets.Add(text, secret.Origin{Addr: subprocess.PlanKey, Kind: secret.Setting})
		k.given = sync.OnceValue(func() []byte { return slowKey(text) })
	}
	if dir := disk.UserDir(c.Getenv); dir != "" {
		k.path = filepath.Join(dir, "plan.key")
	}
	return k
}

// slowKey makes a key of a text that somebody may have thought up. A saved plan has the name of the key and a digest made
// with it, so that a reader of the plan can try texts: each trial takes as long as this and as much memory.
func slowKey(text string) []byte {
	const memory, block = 1 << 15, 8 // 32 MiB
	key, err := scrypt.Key([]byte(text), []byte("lethe plan key"), memory, block, 1, sha256.Size)
	if err != nil {
		panic(err) // the parameters are constants
	}
	return key
}

// Read gives the key, nil if there is none.
func (k *PlanKey) Read() []byte {
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

// Make gives the key, making one if there is none; nil if that cannot be kept.
func (k *PlanKey) Make() []byte {
	if key := k.Read(); key != nil || k.path == "" {
		return key
	}
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	if disk.Replace(k.fs, k.path, hex.AppendEncode(nil, key)) != nil {
		return nil
	}
	return k.Read() // another command may have made one at the same moment
}

// Trust reports whether a saved plan may be applied. One that was not sealed with the key is only applied if the
// environment has none, or if foreign ones may be.
func (p *Project) Trust(saved *file.Contents, foreign bool) bool {
	switch {
	case saved.Own || foreign:
	case p.PlanKey.given != nil:
		p.Bag.Add(diag.Errorf("Saved plan of unknown origin", "The environment variable %s is set, and this plan was not sealed with the key in it: nothing shows who made the plan, or that it was not changed since. Make a new plan where the same key is set. To apply this one all the same, give -foreign-plan.", subprocess.PlanKey))
		return false
	case p.PlanKey.Read() != nil:
		p.UI.Diagnostics([]diag.Diagnostic{diag.Warningf("Saved plan made elsewhere", "This plan was not sealed with your key on this machine: it was made elsewhere, or changed since it was made. If it was made elsewhere, -foreign-plan says so. To have plans of several machines checked, set %s on all of them.", subprocess.PlanKey)})
	}
	return true
}
