package fetch

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/lethe-iac/lethe/internal/subprocess"
)

// Described is a cache file with a provider's description of itself, including its schemas. Large providers need
// seconds in every command to generate and send it. The file name contains the hash of the package that Verify read.
// Some providers have another schema if an environment variable switches a feature on, so the name also depends on all
// variables with boolean values. No other variables influence the name, because a digest of a secret would reveal
// information about it.
type Described struct{ path string }

// Described returns the cache file for the description of a provider. It returns nil if the description must not be
// cached: the package was not verified by a hash of its content, as with development overrides, or the shortcut is
// disabled.
func (p *Providers) Described(a addr.Provider, env []string) *Described {
	a = a.Canon()
	found, _ := p.verified.Load(a)
	v, _ := found.(verdict)
	if v.hash == "" || p.Disabled.Has(shortcut.Schemas) {
		return nil
	}
	sum := sha256.Sum256([]byte(strings.Join(append([]string{v.hash}, switches(env)...), "\n")))
	return &Described{filepath.Join(p.DataDir, "lethe-schemas", a.Host, a.Namespace, a.Type, hex.EncodeToString(sum[:16]))}
}

// switches returns the variables of an environment that have boolean values.
func switches(env []string) []string {
	words := []string{"", "0", "1", "f", "false", "n", "no", "off", "on", "t", "true", "y", "yes", "disabled", "enabled"}
	env = subprocess.Environ(env, func(name string) bool { return name == "SHLVL" || name == "_" })
	env = slices.DeleteFunc(env, func(e string) bool {
		_, value, _ := strings.Cut(e, "=")
		return !slices.Contains(words, strings.ToLower(value))
	})
	slices.Sort(env)
	return env
}

// castagnoli returns the CRC-32 table. It is computed at its first use, because most commands do not need it.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// Load returns the stored description. It returns nil if the file is missing or broken.
func (d *Described) Load() []byte {
	b, err := os.ReadFile(d.path)
	if err != nil || len(b) < 4 || binary.LittleEndian.Uint32(b) != crc32.Checksum(b[4:], castagnoli()) {
		return nil
	}
	return b[4:]
}

// Store writes the description into the cache file, and removes the other cached descriptions of the provider: of other
// packages, and of this package with other environment variables. If that fails, later commands ask the provider again.
func (d *Described) Store(description []byte) {
	dir := filepath.Dir(d.path)
	if os.MkdirAll(dir, 0o755) != nil {
		return
	}
	others, _ := os.ReadDir(dir)
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(description)), crc32.Checksum(description, castagnoli()))
	_ = replace(d.path, append(b, description...))
	for _, o := range others {
		if o.Name() != filepath.Base(d.path) {
			_ = os.Remove(filepath.Join(dir, o.Name()))
		}
	}
}
