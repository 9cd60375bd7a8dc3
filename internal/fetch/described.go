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

// Described is the file in which is kept how a provider describes itself, schemas and all: making
// and sending that takes large providers seconds, in every command. It belongs to the package that
// Verify read, by its hash. Some providers have another schema where a variable of the environment
// switches something on, so it belongs to all variables whose values say yes or no, too. Nothing
// else of the environment goes into the name: the digest of a secret would tell something of it.
type Described struct{ path string }

// Described is where the description of a provider is kept; nil if it must not be: the package was
// not verified against a hash of its contents (development overrides are not), or the shortcut is
// closed.
func (p *Providers) Described(a addr.Provider, env []string) *Described {
	a = a.Canon()
	found, _ := p.verified.Load(a)
	v, _ := found.(verdict)
	if v.hash == "" || p.Closed.Has(shortcut.Schemas) {
		return nil
	}
	sum := sha256.Sum256([]byte(strings.Join(append([]string{v.hash}, switches(env)...), "\n")))
	return &Described{filepath.Join(p.DataDir, "lethe-schemas", a.Host, a.Namespace, a.Type, hex.EncodeToString(sum[:16]))}
}

// switches are the variables of an environment that say yes or no.
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

// castagnoli makes its table when it is used first, as most commands do not.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// Load gives what was stored; nil if that is nothing, or broken.
func (d *Described) Load() []byte {
	b, err := os.ReadFile(d.path)
	if err != nil || len(b) < 4 || binary.LittleEndian.Uint32(b) != crc32.Checksum(b[4:], castagnoli()) {
		return nil
	}
	return b[4:]
}

// Store replaces what is kept of the provider. If that is not possible it will be asked again.
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
