package file

import (
	"archive/zip"
	"compress/flate"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/plan"
)

// What a saved plan may grow to when it is inflated. Writing keeps to the same limits, so that no
// plan is refused that we wrote: what would inflate too well is stored as it is.
const (
	maxTotal   = 4 << 30
	maxMembers = 100_000
	maxRatio   = 200
	freeSize   = 4 << 10 // below this the ratio of one member does not matter
)

// archive writes a sealed zip archive, member by member: of a plan with large values there is never the whole of it in
// memory.
type archive struct {
	out   *sealer
	zip   *zip.Writer
	when  time.Time
	total int
	err   error
}

func newArchive(w io.Writer, when time.Time, key []byte) *archive {
	a := &archive{out: newSealer(w, key), when: when.UTC()}
	a.zip = zip.NewWriter(a.out)
	a.err = a.zip.SetComment(strings.Repeat("0", sealSize))
	return a
}

// add writes a member, which is given in parts.
func (a *archive) add(name string, parts ...[]byte) {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate}
	size := 0
	for _, p := range parts {
		size, h.CRC32 = size+len(p), crc32.Update(h.CRC32, crc32.IEEETable, p)
	}
	if a.total += size; a.total > maxTotal && a.err == nil {
		a.err = fmt.Errorf("the plan is too large to be saved: more than %d bytes", maxTotal)
	}
	if a.err != nil {
		return
	}
	if !a.when.IsZero() {
		h.Modified = a.when
	}
	stored := deflate(parts)
	packed := length(stored)
	if packed >= size || tooDense(uint64(packed), uint64(size)) {
		stored, packed, h.Method = parts, size, zip.Store
	}
	h.CompressedSize64 = uint64(packed)
	h.UncompressedSize64 = uint64(size)
	var w io.Writer
	w, a.err = a.zip.CreateRaw(h)
	for _, p := range stored {
		if a.err == nil {
			_, a.err = w.Write(p)
		}
	}
}

func deflate(parts [][]byte) [][]byte {
	var b pieces
	w, _ := flate.NewWriter(&b, flate.BestSpeed) // fails only for levels that do not exist
	for _, p := range parts {
		w.Write(p) // pieces take everything
	}
	w.Close()
	return b
}

// pieces is what was written, in pieces: a buffer in one piece is copied when it grows, and is there twice then.
type pieces [][]byte

// pieceSize is how large a piece gets; the first are smaller.
const pieceSize = 1 << 20

// Write implements io.Writer. It does not fail.
func (b *pieces) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		var at []byte // the last piece
		if last := len(*b) - 1; last >= 0 {
			at = (*b)[last]
		}
		if len(at) == cap(at) {
			*b = append(*b, make([]byte, 0, min(pieceSize, max(len(p), 2*cap(at)))))
			continue
		}
		took := copy(at[len(at):cap(at)], p)
		(*b)[len(*b)-1], p = at[:len(at)+took], p[took:]
	}
	return n, nil
}

func length(parts [][]byte) (n int) {
	for _, p := range parts {
		n += len(p)
	}
	return n
}

func tooDense(packed, size uint64) bool { return size > freeSize && size/maxRatio > packed }

// addConfig writes the configuration.
func (a *archive) addConfig(modules []ConfigModule) error {
	list := make([]moduleJSON, len(modules))
	for i, m := range modules {
		list[i] = moduleJSON{m.Key, m.Source, m.Version, m.Dir, m.Led}
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	a.add(memberList, text)
	for _, m := range modules {
		for _, name := range slices.Sorted(maps.Keys(m.Files)) {
			if !plainPath(m.Key, name) {
				return fmt.Errorf("the configuration file %q of module %q cannot be saved under this name", name, m.Key)
			}
			a.add(configDir+m.Key+"/"+name, m.Files[name])
		}
	}
	return nil
}

// moduleJSON is how modules.json lists a module.
type moduleJSON struct {
	Key     string `json:"Key"`
	Source  string `json:"Source,omitempty"`
	Version string `json:"Version,omitempty"`
	Dir     string `json:"Dir"`
	Led     string `json:"Led,omitempty"`
}

// plainPath reports whether a file of a module has a name that stays inside the archive, also when
// a tool unpacks it.
func plainPath(key, name string) bool {
	return !strings.Contains(key, "/") && name != "." && fs.ValidPath(name) &&
		!strings.ContainsAny(key+name, "\\:\x00")
}

// end ends the archive, and puts the seal in the place of its last bytes.
func (a *archive) end() error {
	if a.err == nil {
		a.err = a.zip.Close()
	}
	if a.err != nil {
		return a.err
	}
	return a.out.end()
}

// Contents is all that a saved plan holds.
type Contents struct {
	Plan    *plan.Plan
	Config  []ConfigModule           // in any order; kept
	Lock    []byte                   // the dependency lock file
	Version string                   // of the program that wrote it
	Schemas map[addr.Provider][]byte // see provider.Schemas.Part; some may be missing
	Own     bool                     // as read: it has not changed since it was sealed with the key
}

// ConfigModule is one module of the configuration, with its files by name. Source and Version are
// as modules.json has them; the key of the root is "".
type ConfigModule struct {
	Key, Source, Version, Dir string
	Led                       string // as in config.Node
	Files                     map[string][]byte
}

// Titles of what can be wrong with a saved plan.
const (
	badProgram   = "Unsupported plan file"
	stale        = "Saved plan is stale"
	wrongPlace   = "Saved plan is for another workspace"
	elsewhere    = "Saved plan is for another place"
	memberPlan   = "tfplan"
	memberValues = "values"
	memberState  = "tfstate"
	memberPrev   = "tfstate-prev"
	memberList   = "tfconfig/modules.json"
	memberLock   = ".terraform.lock.hcl"
	configDir    = "tfconfig/m-"
	schemaDir    = "schemas/"
)
